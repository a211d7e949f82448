"""Judges results by what their file expects (`expect:`): one verdict per configuration and condition.

A condition holds if the mean over the repetitions meets it. The verdict also says whether the 95 % interval of that
mean crosses the bound: then other repetitions may decide otherwise. A number that no repetition has does not hold.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from tailback.analysis.bounds import Bound, WrongBound, bounds
from tailback.analysis.intervals import t_interval
from tailback.analysis.metric import Summary
from tailback.scenario import Experiment
from tailback.sweep.local import Outcome

Place = tuple[tuple[str, str], ...]
Expected = Mapping[Place, Sequence[Bound]]
"""The conditions of each configuration, by its axes."""


class Verdict(Struct, frozen=True):
    """Whether one configuration meets one condition; unknown numbers are NaN."""

    axes: Mapping[str, str]
    bound: Bound
    mean: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the mean meets the condition."""
        return not math.isnan(self.mean) and self.bound.holds(self.mean)

    @property
    def crosses(self) -> bool:
        """Whether the interval of the mean crosses the bound."""
        return not math.isnan(self.low) and self.bound.holds(self.low) != self.bound.holds(self.high)


Judgement = Literal["good", "bad", "cannot tell"]


def judgement(found: Sequence[Verdict]) -> tuple[Judgement, str]:
    """Whether all conditions hold, with the reason: bad if one does not hold for certain, undecided if the interval of
    one crosses its bound. Without an interval (one repetition), the mean decides.
    """
    if not found:
        return "cannot tell", "the file has no `expect`"
    certain = [each for each in found if not each.crosses and not math.isnan(each.mean)]
    failing = next((each for each in certain if not each.holds), None)
    if failing is not None:
        return "bad", f"{failing.bound} does not hold{_where(failing)}"
    unknown = next((each for each in found if math.isnan(each.mean)), None)
    if unknown is not None:
        return "cannot tell", f"no run has {unknown.bound.column.title}{_where(unknown)}"
    crossing = next((each for each in found if each.crosses), None)
    if crossing is not None:
        return "cannot tell", f"the 95 % interval crosses {crossing.bound}{_where(crossing)}: add repetitions"
    return "good", f"{len(found)} conditions hold" if len(found) > 1 else f"{found[0].bound} holds"


def _where(verdict: Verdict) -> str:
    return f" with {', '.join(verdict.axes.values())}" if verdict.axes else ""


def expected(experiment: Experiment) -> Expected:
    """The conditions of an experiment; raises `WrongBound` if a metric or a unit is unknown."""
    return {
        tuple(configuration.labels.items()): [
            _bound(f"{metric} {condition}", experiment.path) for metric, condition in configuration.keys.expect.items()
        ]
        for configuration in experiment.configurations
    }


def verdicts(wanted: Expected, outcomes: Sequence[Outcome]) -> list[Verdict]:
    """The verdicts on the complete runs."""
    if not any(wanted.values()):
        return []
    groups: dict[Place, list[Summary]] = {place: [] for place in wanted}
    for outcome in outcomes:
        if outcome.summary is not None:
            groups.setdefault(tuple(outcome.run.axes.items()), []).append(outcome.summary)
    return [
        _verdict(dict(place), _absolute(bound, groups), groups[place])
        for place, conditions in wanted.items()
        for bound in conditions
    ]


def entry(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a JSON document; unknown values are absent."""
    numbers = {"mean": verdict.mean, "low": verdict.low, "high": verdict.high}
    return {
        "axes": dict(verdict.axes),
        "metric": verdict.bound.column.title,
        "condition": str(verdict.bound),
        "unit": verdict.bound.column.unit,
        **{name: value for name, value in numbers.items() if not math.isnan(value)},
        "holds": verdict.holds,
    }


def _bound(text: str, file: str) -> Bound:
    try:
        [bound] = bounds(text)
    except WrongBound as error:
        raise WrongBound(f"{file}: expect: {error}") from None
    return bound


def _absolute(bound: Bound, groups: Mapping[Place, Sequence[Summary]]) -> Bound:
    """The bound with a share of the best mean over all configurations as a value."""
    if not bound.of_best:
        return bound
    means = [float(values.mean()) for group in groups.values() if len(values := _values(bound, group))]
    return bound.against((min if bound.from_above else max)(means, default=math.nan))


def _values(bound: Bound, group: Sequence[Summary]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([value for value in map(bound.column.read, group) if value is not None], dtype=np.float64)


def _verdict(axes: Mapping[str, str], bound: Bound, group: Sequence[Summary]) -> Verdict:
    values = _values(bound, group)
    if not len(values):
        return Verdict(axes, bound, math.nan, math.nan, math.nan)
    return Verdict(axes, bound, float(values.mean()), *t_interval(values, bound.column.least, bound.column.most))
