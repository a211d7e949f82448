"""Whether a machine was fast enough for a run, judged by counters."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tailback.backends.netns.emulation import LIMITS, PERIOD_NS, Reading, Shares, read, shares, verdict

STAT = """\
cpu  300 0 60 700 0 4 30 6 0 0
cpu0 100 0 20 300 0 1 10 2 0 0
cpu1 200 0 40 400 0 3 20 4 0 0
intr 12345 0 0
ctxt 99
"""
IDLE = Shares(running=0.1, waiting=0.0, softirq=0.1, stolen=0.0, late=0.0)


def readings(*, running: Sequence[float], waiting: float = 0.0, softirq: float = 0.0) -> list[Reading]:
    """Readings one period apart with these shares, of two processors of which the second is busy."""
    found = [Reading(0, {"7": (0, 0)}, {"cpu0": [0] * 8, "cpu1": [0] * 8})]
    for number, share in enumerate(running, 1):
        ran, waited = found[-1].threads["7"]
        threads = {"7": (ran + int(share * PERIOD_NS), waited + int(waiting * PERIOD_NS))}
        busy, ticks = round(50 * softirq), list(found[-1].processors["cpu1"])
        ticks[6] += busy
        ticks[3] += 50 - busy
        idle = [0, 0, 0, 50 * number, 0, 0, 0, 0]
        found.append(Reading(number * PERIOD_NS, threads, {"cpu0": idle, "cpu1": ticks}))
    return found


def test_counters_are_read_as_the_kernel_shows_them(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT)
    for thread, text in (("42", "1000 20 3\n"), ("43", "0 0 0\n")):
        (tmp_path / "42" / "task" / thread).mkdir(parents=True)
        (tmp_path / "42" / "task" / thread / "schedstat").write_text(text)
    found = read(42, 5, tmp_path)
    assert found.threads == {"42": (1000, 20), "43": (0, 0)}
    assert found.processors == {"cpu0": [100, 0, 20, 300, 0, 1, 10, 2], "cpu1": [200, 0, 40, 400, 0, 3, 20, 4]}


def test_shares_are_those_of_the_busiest_thread_and_processor() -> None:
    found = shares(readings(running=[0.4] * 4, waiting=0.02, softirq=0.5), [0] * 99 + [2_000_000])
    assert (found.running, found.waiting, found.softirq, found.stolen, found.late) == pytest.approx(
        (0.4, 0.02, 0.5, 0.0, 0.01)
    )


def test_a_tenth_of_the_samples_may_exceed_a_limit() -> None:
    assert shares(readings(running=[0.3] * 9 + [1.0]), []).running == pytest.approx(0.3)
    assert shares(readings(running=[0.3] * 18 + [1.0] * 2), []).running == pytest.approx(0.3)
    assert shares(readings(running=[0.3] * 17 + [1.0] * 3), []).running == pytest.approx(1.0)


def test_samples_without_traffic_do_not_count() -> None:
    assert shares(readings(running=[0.001] * 96 + [1.0] * 4), []).running == pytest.approx(1.0)


def test_a_run_without_samples_is_judged_by_its_timers() -> None:
    assert shares([], [2_000_000]) == Shares(0.0, 0.0, 0.0, 0.0, late=1.0)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (replace(IDLE, running=0.99), "a thread of the traffic was busy 99.0% of the time (limit 90%)"),
        (replace(IDLE, waiting=0.2), "a thread of the traffic waited for a processor 20.0% of the time (limit 5%)"),
        (replace(IDLE, softirq=1.0), "a processor spent 100.0% of its time on packets and interrupts (limit 90%)"),
        (replace(IDLE, stolen=0.08), "the hypervisor took 8.0% of a processor's time away (limit 5%)"),
        (replace(IDLE, late=0.5), "50.0% of the timers were late by more than 1 ms (limit 1%)"),
    ],
)
def test_a_limit_that_is_exceeded_is_reported(found: Shares, said: str) -> None:
    assert verdict(found) == said


def test_a_run_within_all_limits_is_valid() -> None:
    assert verdict(IDLE) is None
    assert verdict(LIMITS) is None
