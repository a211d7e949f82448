"""Pareto fronts, bounds in words, the best setting under a bound, and the axes that may be chosen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailback import scenario
from tailback.analysis.bounds import WrongBound, bounds, quantity
from tailback.analysis.conditions import conditions, reasons
from tailback.analysis.metric import Column, at
from tailback.analysis.quantities import names
from tailback.analysis.tradeoffs import Answer, best_under, front, undominated

PING, GOODPUT = Column("ping p99", "ms", at("ping_ms", "p99")), Column("goodput", "Mbit/s", at("goodput_mbps", "total"))

Runs = list[tuple[Mapping[str, str], dict[str, Any]]]


def runs(points: Mapping[str, Sequence[tuple[float, float]]]) -> Runs:
    """The (ping, goodput) of the repetitions of each setting."""
    return [
        ({"cc": name}, {"ping_ms": {"p99": ping}, "goodput_mbps": {"total": goodput}})
        for name, repetitions in points.items()
        for ping, goodput in repetitions
    ]


def answer(points: Mapping[str, Sequence[tuple[float, float]]], words: str = "ping p99 < 10ms") -> Answer:
    return best_under(runs(points), bounds(words), GOODPUT)


def test_a_front_holds_the_settings_that_no_other_beats() -> None:
    cost, gain = np.array([1.0, 2.0, 3.0, 3.0]), np.array([10.0, 30.0, 20.0, 30.0])
    assert list(undominated(cost, gain)) == [True, True, False, False]
    assert list(undominated(np.array([1.0, 1.0]), np.array([5.0, 5.0]))) == [True, True]


def test_a_front_has_the_probability_of_each_of_its_points() -> None:
    table = front(
        runs({"low": [(1, 10), (1.1, 10)], "high": [(9, 90), (9.1, 91)], "near": [(1.05, 10.5), (1.06, 9.4)],
              "bad": [(20, 5), (21, 5)]}), PING, GOODPUT,
    )  # fmt: skip
    shares = dict(zip(table["cc"], table["on front"], strict=True))
    assert shares["high"] == 1
    assert shares["bad"] == 0
    assert 0 < shares["near"] < 1
    assert list(shares)[-1] == "bad"


def test_with_one_repetition_a_front_has_no_probabilities() -> None:
    assert front(runs({"low": [(1, 10)]}), PING, GOODPUT)["on front"].isna().all()


def test_the_most_goodput_under_the_bound_wins() -> None:
    found = answer({"slow": [(2, 50), (2.1, 51)], "fast": [(5, 90), (5.1, 91)], "late": [(50, 99), (51, 99)]})
    assert found.best is not None
    assert (found.best.axes, found.best.met, found.alike) == ({"cc": "fast"}, "surely", [])
    assert found.counts == {"surely": 2, "likely": 0, "not": 1}


def test_one_that_surely_keeps_the_bound_is_better_than_one_that_likely_does() -> None:
    found = answer({"sure": [(2, 50), (2.1, 51)], "lucky": [(2, 90), (17, 91)]})
    assert found.best is not None
    assert (found.best.axes["cc"], found.counts["likely"]) == ("sure", 1)


def test_of_settings_that_give_alike_the_one_farthest_from_the_bound_is_named() -> None:
    found = answer({"late": [(8, 95.6), (8, 95.6)], "early": [(1, 95.5), (1, 95.5)], "noisy": [(2, 90), (2, 97)]})
    assert found.best is not None
    assert found.best.axes["cc"] == "early"
    assert [other.axes["cc"] for other in found.alike] == ["late", "noisy"]


def test_chance_does_not_name_a_worse_setting() -> None:
    points = {"worse": [(20, 99), (28, 99)], "better": [(18, 96), (25, 96)]}
    found = best_under(runs(points), bounds("goodput > 50mbit"), PING, "low")
    assert found.best is not None
    assert found.best.axes["cc"] == "better"
    assert [other.axes["cc"] for other in found.alike] == ["worse"]


def test_where_none_keeps_the_bound_the_nearest_is_reported() -> None:
    found = answer({"far": [(100, 95), (101, 95)], "near": [(11, 20), (12, 20)]})
    assert found.best is None
    assert found.nearest is not None
    assert found.nearest.axes["cc"] == "near"


def test_of_a_metric_that_is_better_when_low_the_least_is_best() -> None:
    points: Runs = runs({"slow": [(2, 50)], "fast": [(9, 90)], "late": [(50, 91)]})
    found = best_under(points, bounds("goodput >= 95% of best"), quantity("ping p99"), "low")
    assert found.best is not None
    assert (found.best.axes["cc"], found.counts["not"]) == ("fast", 1)
    assert [str(bound) for bound in found.bounds] == ["goodput >= 86.45 Mbit/s"]


def test_a_share_of_the_best_from_above_is_one_of_the_least() -> None:
    points: Runs = runs({"slow": [(2, 50)], "fast": [(9, 90)], "near": [(3, 91)]})
    found = best_under(points, bounds("ping p99 <= 150% of best"), GOODPUT)
    assert found.best is not None
    assert found.best.axes["cc"] == "near"


def test_one_repetition_is_never_sure() -> None:
    found = answer({"only": [(1, 95)]})
    assert found.best is not None
    assert found.best.met == "likely"


def test_several_bounds_hold_together() -> None:
    found = answer(
        {"one": [(1, 40), (1, 40)], "two": [(5, 60), (5, 60)], "three": [(20, 90), (20, 90)]},
        "ping p99 < 10ms and goodput > 50mbit",
    )
    assert found.best is not None
    assert found.best.axes["cc"] == "two"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("ping p99 < 10ms", "ping p99 < 10 ms"),
        ("tcp rtt p50 < 0.5s", "TCP RTT p50 < 500 ms"),
        ("RTT < 800us", "TCP RTT p50 < 0.8 ms"),
        ("goodput up > 1gbit", "goodput up > 1000 Mbit/s"),
        ("jain > 90%", "jain > 0.9"),
        ("drops < 10", "drops < 10 packets"),
        ("tcp_rtt_up_ms.p90 < 5ms", "TCP RTT up p90 < 5 ms"),
    ],
)
def test_bounds_are_read_with_their_units(words: str, told: str) -> None:
    assert [str(bound) for bound in bounds(words)] == [told]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("pong < 1ms", "`pong` is not a quantity\n  hint: did you mean `ping`\\? use one of ping"),
        ("latency p99 < 1ms", "`latency p99` is not a quantity\n  hint: did you mean `ping p99`\\? use one of ping"),
        ("ping p42 < 1ms", "`ping p42` is not a quantity"),
        ("ping p99 < 1 mbit", "`mbit` is not a unit of ping p99\n  hint: units: us"),
        ("ping p99 10ms", "is not a bound\n  hint: write a quantity"),
        ("", "is not a bound"),
    ],
)
def test_unknown_words_are_refused_with_a_list_of_the_known_ones(words: str, message: str) -> None:
    with pytest.raises(WrongBound, match=message):
        bounds(words)


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("goodput", "Goodput", "throughput", "goodput_mbps", "goodput_mbps.total"), "goodput"),
        (("ping p50", "ping", "Median ping", "ping_ms.p50"), "ping p50"),
        (("RTT p90", "TCP RTT p90", "tcp_rtt_ms.p90"), "TCP RTT p90"),
        (("jain", "Jain", "Jain's index"), "jain"),
        (("retransmits", "retrans"), "retransmits"),
        (("drops", "Drops"), "drops"),
        (("cwnd", "congestion window"), "cwnd"),
    ],
)
def test_a_number_has_one_title_under_all_of_its_names(names: Sequence[str], title: str) -> None:
    assert {quantity(name).title for name in names} == {title}


def test_metrics_know_which_values_are_better() -> None:
    known = {name: quantity(name).better for name in ("goodput", "jain", "ping p99", "rtt", "drops", "cwnd")}
    assert list(known.values()) == ["high", "high", "low", "low", "low", None]


def test_a_quantity_is_read_from_where_it_is() -> None:
    assert quantity("goodput down").read({"goodput_mbps": {"down": 3}}) == 3
    assert quantity("sojourn_ms.x.p50").unit == "ms"
    assert quantity("ping").title == "ping p50"


PATHS = """\
let: {qdisc: htb rate 10mbit | pfifo_fast, path: netem delay 1ms limit 1000, ratio: 120, n: 1}
hosts:
  client: {sysctl: {net.ipv4.tcp_pacing_ca_ratio: "${ratio}"}}
  router:
  server:
links:
  - {ends: [client, router], rate: 1gbit, delay: 250us}
  - {ends: [router, server], rate: 1gbit, delay: 250us}
qdiscs:
  client -> router: ${qdisc}
  router -> server: ${path}
traffic:
  - {tcp: client -> server, name: upload, flows: "${n}"}
duration: 2s
vary:
"""


@pytest.mark.parametrize(
    ("axis", "given"),
    [
        ("cc: [cubic, bbr]", False),
        ("tsq: [1ms, off]", False),
        ("ratio: [110, 130]", False),
        ("qdisc: [htb rate 10mbit | fq_codel, htb rate 10mbit | pfifo limit 9]", False),
        ("qdisc: [htb rate 10mbit | fq_codel, htb rate 20mbit | fq_codel]", True),
        ("qdisc: [cake bandwidth 10mbit, cake bandwidth 20mbit]", True),
        ("qdisc: [cake bandwidth 10mbit, cake bandwidth 10mbit besteffort]", False),
        ("qdisc: [cake bandwidth 10mbit, htb rate 10mbit | fq_codel]", False),
        ("path: [netem delay 1ms limit 1000, netem delay 9ms limit 1000]", True),
        ("path: [netem delay 1ms limit 1000, netem delay 1ms limit 99]", False),
        ("'links[0].delay': [1ms, 2ms]", True),
        ("n: [1, 2]", True),
    ],
)
def test_axes_of_the_path_are_given_and_the_others_can_be_chosen(axis: str, given: bool) -> None:
    experiment = scenario.loads(f"{PATHS}  {axis}\n  offloads: [off, gso]\n")
    varied = list(experiment.axes)
    found = conditions(varied, [(run.axes, run.scenario) for run in experiment.runs()])
    assert found == ([varied[0]] if given else [])


@pytest.mark.parametrize(
    ("axis", "reason"),
    [
        ("qdisc: [fq_codel, cake bandwidth 9.5mbit]", "it changes the rate of a shaper"),
        ("path: [netem delay 1ms limit 1000, netem delay 9ms limit 1000]", "it changes what netem emulates"),
        ("'links[0].delay': [1ms, 2ms]", "it changes the delay of a link"),
        ("'links[0].mtu': [1500, 9000]", "it changes the links"),
        ("n: [1, 2]", "it changes the traffic"),
        ("duration: [1s, 2s]", "it changes the traffic and the duration"),
    ],
)
def test_an_axis_that_is_given_says_why(axis: str, reason: str) -> None:
    experiment = scenario.loads(f"{PATHS}  {axis}\n")
    found = reasons(list(experiment.axes), [(run.axes, run.scenario) for run in experiment.runs()])
    assert list(found.values()) == [reason]


CONNECTIONS = {
    "request": "{request: a -> b, answer: 50kb}",
    "page": "{page: a -> b, shape: mobile}",
    "video": "{video: a -> b}",
}


@pytest.mark.parametrize("entry", CONNECTIONS.values(), ids=list(CONNECTIONS))
@pytest.mark.parametrize("axis", ["cc: [cubic, bbr]", "tsq: [1ms, off]"])
def test_the_control_and_the_small_queue_of_any_connection_can_be_chosen(entry: str, axis: str) -> None:
    experiment = scenario.loads(
        f"links:\n  - {{ends: [a, b], rate: 10mbit, delay: 1ms}}\ntraffic: [{entry}]\nduration: 1s\nvary: {{{axis}}}\n"
    )
    assert conditions(list(experiment.axes), [(run.axes, run.scenario) for run in experiment.runs()]) == []


CELL = """
links:
  - {wifi: {ap: router, stations: [a]}, standard: 802.11n, width: 40MHz, mcs: 15, driver: {name: ath10k}}
  - {ends: [router, b], rate: 1gbit, delay: 1ms}
traffic: [{tcp: a -> b}]
duration: 1s
vary:
"""


@pytest.mark.parametrize(
    ("axis", "given"),
    [
        ("links[0].driver: [ath10k, mt76]", True),
        ("links[0].mcs: [0, 15]", True),
        ("links[0].driver.amsdu: [1, 3]", False),
        ("links[0].driver: [ath10k, {name: ath10k, airtime: 5ms}]", False),
        ("links[0].rts: [false, true]", False),
        ("links[0].edca.ap: [hostapd, station]", False),
    ],
)
def test_the_radios_of_a_cell_are_given_and_what_its_owner_sets_can_be_chosen(axis: str, given: bool) -> None:
    experiment = scenario.loads(f"{CELL}  {axis}\n")
    varied = list(experiment.axes)
    found = conditions(varied, [(run.axes, run.scenario) for run in experiment.runs()])
    assert found == (varied if given else [])


def test_a_control_of_the_users_own_leaves_the_axis_one_that_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n")
    experiment = scenario.loads(f"{PATHS}  cc: [cubic, {{python: {tmp_path / 'mine.py'}}}]\n")
    assert conditions(list(experiment.axes), [(run.axes, run.scenario) for run in experiment.runs()]) == []


def test_gain_of_less_than_half_a_percent_does_not_put_a_costly_point_on_the_front() -> None:
    cost = np.array([26.0, 116.0, 130.0])
    assert list(undominated(cost, np.array([47.80, 47.81, 47.80]))) == [True, False, False]
    # Small steps add up: what is beaten by less than that does not beat others.
    assert list(undominated(cost, np.array([100.0, 100.4, 100.8]))) == [True, False, True]


@pytest.mark.parametrize("name", names())
def test_a_bound_on_a_time_or_a_rate_needs_its_unit(name: str) -> None:
    """Every quantity: those with a unit refuse a bound without it, and say what to write."""
    unit = quantity(name).unit
    if unit not in ("ms", "s", "Mbit/s"):
        assert len(bounds(f"{name} > 0.5")) == 1
        return
    with pytest.raises(WrongBound, match="has no unit") as refused:
        bounds(f"{name} < 110")
    hint = str(refused.value).partition("hint: write `")[2].partition("`")[0]
    (bound,) = bounds(hint)
    assert bound.value == 110
    assert len(bounds(f"{name} > 0 and {name} >= 95% of best")) == 2


@pytest.mark.parametrize("words", ["jain > 90", "udp loss < 5", "udp loss < 1", "mos > 5", "utilisation > 90"])
def test_a_bound_beyond_all_values_is_refused_and_of_a_share_meant_in_percent(words: str) -> None:
    with pytest.raises(WrongBound, match=r"is (at most|seldom above)") as refused:
        bounds(words)
    assert ("write a share in %" in str(refused.value)) is not words.startswith("mos")


@pytest.mark.parametrize("name", [name for name in names() if quantity(name).most is not None])
def test_a_bound_that_every_value_or_none_meets_is_refused(name: str) -> None:
    """A loss of less than 1 is meant to be 1 %."""
    most = quantity(name).most
    for sign in ("<", "<=", ">"):
        with pytest.raises(WrongBound, match="is at most"):
            bounds(f"{name} {sign} {most:g}")
    assert len(bounds(f"{name} >= {most:g} and {name} < {0.9 * most:g}")) == 2  # type: ignore[operator]


def test_every_share_has_a_largest_value() -> None:
    """Quantities without a unit that are no counts: a bound of 90 on one of them is meant in %."""
    counts = {"RPM", "RPM idle", "switches", "QoE", "unloaded", "unfinished", "events", "wall time in s", "rating"}
    free = {
        quantity(name).title
        for name in names()
        if quantity(name).unit == "" and quantity(name).most is None and quantity(name).most_meant is None
    }
    assert {title for title in free if not title.startswith(("slowdown", "recoveries"))} <= counts
