"""The remaining time of a sweep: what runs of each configuration take, and how sure that is."""

import pytest

from fake_backend import grid
from tailback.results import RunPlan
from tailback.sweep import Outcome
from tailback.sweep.pace import Pace

SLOW = 9.0
FAST = 1.0


def cost(run: RunPlan) -> float:
    """A run of one control takes nine times as long as one of the other."""
    return SLOW if "bbr" in run.axes.values() else FAST


def ended(run: RunPlan, *, seconds: float | None = None, reused: bool = False) -> Outcome:
    return Outcome(run, "ok", None, {}, reused=reused, seconds=cost(run) if seconds is None else seconds)


def test_configurations_count_by_what_they_take_and_not_by_their_number() -> None:
    runs = list(grid(repetitions=3).runs)
    first = {tuple(run.axes.items()): run for run in runs}.values()
    pace = Pace(runs)
    for run in first:
        pace.ended(ended(run))
    passed = sum(map(cost, first))
    left = sum(map(cost, runs)) - passed
    span = pace.left(passed, 0.0)
    assert span is not None
    assert span.low == span.high == pytest.approx(left)


def test_configurations_that_none_has_ended_of_make_the_time_a_range() -> None:
    runs = list(grid(repetitions=1).runs)
    seen = [next(run for run in runs if cost(run) == each) for each in (SLOW, FAST)]
    pace = Pace(runs)
    for run in seen:
        pace.ended(ended(run))
    span = pace.left(SLOW + FAST, 0.0)
    assert span is not None
    rest = len(runs) - 2
    assert (span.low, span.high) == pytest.approx((rest * FAST, rest * SLOW))
    assert span.low <= sum(cost(run) for run in runs if run not in seen) <= span.high


def test_runs_beside_each_other_take_less_time_than_their_sum() -> None:
    runs = list(grid(repetitions=4).runs)
    pace = Pace(runs)
    for run in runs[: len(runs) // 2]:
        pace.ended(ended(run, seconds=4.0))
    span = pace.left(4.0 * len(runs) / 2 / 2, 0.0)
    assert span is not None
    assert span.low <= 4.0 * len(runs) / 2 / 2 <= span.high


def test_runs_that_were_complete_before_tell_what_others_take_and_cost_no_time() -> None:
    runs = list(grid(repetitions=2).runs)
    pace = Pace(runs)
    for run in runs[:-1]:
        pace.ended(ended(run, reused=True))
    span = pace.left(cost(runs[-1]) / 2, 0.5)
    assert span is not None
    assert span.low == span.high == pytest.approx(cost(runs[-1]) / 2)


def test_a_slow_first_run_does_not_count_for_the_others() -> None:
    runs = [run for run in grid(repetitions=10).runs if cost(run) == FAST][:10]
    pace = Pace(runs)
    for place, run in enumerate(runs[:5]):
        pace.ended(ended(run, seconds=20.0 if place == 0 else 1.0))
    span = pace.left(24.0, 0.0)
    assert span is not None
    assert span.high <= 24.0


def test_before_any_run_has_ended_several_may_be_unlike_and_one_goes_on_as_it_began() -> None:
    runs = list(grid(repetitions=1).runs)
    several, one = Pace(runs).left(10.0, 0.5), Pace(runs[:1]).left(10.0, 0.5)
    assert several is not None
    assert one is not None
    assert several.high == 4 * several.low
    assert one.low == one.high == 10.0
    assert Pace(runs).left(10.0, 0.0) is None
    assert Pace([]).left(10.0, 0.0) is not None
