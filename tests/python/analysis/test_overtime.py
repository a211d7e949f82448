"""Numbers from samples of sockets: when, how long, how much, among which."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tailback.analysis import overtime
from tailback.resolved import Change, Link, Policer
from tailback.scenario.expect import EXPLAINED

LINK = Link(
    ends=(0, 1), rate_bps=(10_000_000, None), delay_ns=(0, 0), mtu=1500, ring=(1, 1), bql=(True, True),
    schedule=(Change(at_ns=4 * 10**9, end=0, rate_bps=5_000_000),),
)  # fmt: skip
GAINS = {"startup": (2.885, 2.885), "drain": (0.347, 2.885), "up": (1.25, 2.0), "down": (0.75, 2.0), "cruise": (1.0,
2.0),
         "probe_rtt": (1.0, 0.5)}  # fmt: skip
PHASES = ("startup", "drain", "up", "down", "cruise", "probe_rtt", "cruise", "startup")


def table() -> dict[str, list[Any]]:
    """A flow `bulk.1` from 0 s with a sample each second, and `other` from 2 s on with two."""
    pacing, cwnd = zip(*(GAINS[phase] for phase in PHASES), strict=True)
    nothing = [None, None]
    return {
        "t": [*range(8), 2, 3],
        "flow": ["bulk.1"] * 8 + ["other"] * 2,
        "rtt": [10_000 * n for n in range(1, 9)] + [50_000, None],
        "bbr_bw": [1_250_000] * 8 + nothing,
        "bbr_pacing_gain": [*pacing, *nothing],
        "bbr_cwnd_gain": [*cwnd, *nothing],
    }


def value(text: str, links: tuple[Link, ...] = (LINK,)) -> float | None:
    return overtime.number(text, overtime.Samples(table(), links))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("highest(rtt)", 80),
        ("highest(rise(rtt))", 10),
        ('highest(rise(t), flow("other"))', 1),
        ("times(rise(rtt) > 9)", 1),
        ('lowest(rise(rtt), flow("other"))', None),
        ("longest(rise(bbr_bw) < 1)", 6),
        ('longest(rtt > 0, cruise and flow("bulk"))', 1),
        ("lowest(rtt, t > 2.5)", 40),
        ("middle(rtt, flow('other'))", 50),
        ("mean(rtt, flow('bulk') and t < 2)", 15),
        ("highest(bbr_bw / rate)", 2),
        ("highest(bbr_bw / rate, t < 4)", 1),
        ("first(startup)", 0),
        ("last(startup)", 7),
        ("last(startup, age < 5)", 0),
        ("times(startup)", 2),
        ("times(cruise)", 2),
        ("total(cruise or probe_rtt)", 3),
        ("longest(cruise or probe_rtt)", 3),
        ("longest(up)", 1),
        ("longest(rtt > 1000)", 0),
        ("first(rtt > 1000)", None),
        ("share(drain, flow('bulk'))", 1 / 8),
        ("share(not cruise, flow('bulk'))", 6 / 8),
        ("share(rtt > 20 and rtt < 50)", 2 / 10),
        ("share(20 <= rtt <= 50, flow('bulk'))", 4 / 8),
        ("first(flow('other'))", 2),
        ("share(rtt > 1, flow('nobody'))", None),
        ("highest(rtt) - lowest(rtt) + 1", 71),
        ("highest(snd_cwnd)", None),
        ("share(snd_cwnd > 1)", None),
        ("total(startup, flow('other'))", 0),
    ],
)
def test_a_number_is_that_of_the_samples_that_meet_the_condition(text: str, expected: float | None) -> None:
    assert value(text) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("phase", sorted(overtime.PHASES))
def test_each_phase_is_one_of_the_gains_and_no_other(phase: str) -> None:
    assert value(f"share({phase}, flow('bulk'))") == PHASES.count(phase) / 8
    others = [other for other in overtime.PHASES if other != phase]
    assert value(f"share({phase} and ({' or '.join(others)}))") == 0


def test_a_run_without_bbr_has_no_phases() -> None:
    found = overtime.Samples({"t": [0, 1], "flow": ["a", "a"], "rtt": [1000, 2000]}, ())
    for text in ("total(startup)", "share(not startup)", "longest(startup and up)", "first(startup or up)"):
        assert overtime.number(text, found) is None, text
    assert overtime.number("total(startup or rtt < 5)", found) == 1


def test_the_rate_is_that_of_a_policer_if_it_is_less() -> None:
    policed = Link(
        ends=(0, 1), rate_bps=(10_000_000, None), delay_ns=(0, 0), mtu=1500, ring=(1, 1), bql=(True, True),
        police=(Policer(rate_bps=2_000_000, burst=20_000), None),
    )  # fmt: skip
    assert value("highest(rate)", (policed,)) == 2
    assert value("highest(rate)", ()) is None


@pytest.mark.parametrize(
    "text",
    ["rtt", "rtt > 5", "highest(jain)", "highest()", "highest(rtt, t > 1, 2)", "open('x')", "highest(rtt ** 2)", "[1]",
     "highest(x for x in rtt)", "'5'", "True", "highest(rtt", "highest(rtt if 1 else 2)", "rtt.real",
     "highest(rtt == 5)"],
)  # fmt: skip
def test_what_is_no_number_over_time_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(overtime.WrongExpression, match="hint: "):
        value(text)


def test_only_calls_of_its_functions_are_over_time() -> None:
    assert overtime.is_over_time("1 + highest(rtt)")
    assert not any(map(overtime.is_over_time, ("ping p99", "jain", "rtt", 'goodput("a")', "tcp rtt p90 (")))


def test_what_explain_says_names_all_samples_and_functions() -> None:
    words = set(re.findall(r"[a-z_]+", EXPLAINED))
    assert {*overtime.NAMES, *overtime.FUNCTIONS, overtime.FLOW, overtime.RISE} <= words
