"""The verdict on a criterion: *meets*, *fails* or *undecided*, by the 95 % interval over the repetitions.

A control meets a bound if its whole interval does, and fails if its whole interval does not. The bound is that of the
source; where the source gives none, it is the end of the interval of other controls on the same paths, on the side that
is worse, and of several controls the worst. A row is about all places of its experiment: it fails if one of them fails,
and meets if all of them meet.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tailback.analysis.intervals import quantile, t_interval
from tailback.assess.suite import Criterion

Outcome = Literal["meets", "fails", "undecided", "ended", "absent"]

OUTCOMES: Mapping[Outcome, str] = {
    "meets": "the whole interval is on the better side of the bound",
    "fails": "the whole interval is on the worse side of the bound",
    "undecided": "the interval crosses the bound, or there is none: more repetitions may decide",
    "ended": "the control crashed, stopped or never sent",
    "absent": "there is no verdict, for the reason that is given",
}

MOST_REPETITIONS = 1000
"""More than these decide nothing that anybody waits for."""

NAN = math.nan


class Estimate(Struct, frozen=True):
    """A mean over n repetitions with its 95 % interval; NaN if unknown."""

    n: int
    mean: float
    low: float
    high: float
    deviation: float = NAN
    """The standard deviation of one repetition."""


class Place(Struct, frozen=True):
    """One configuration of the axes but the control: what each control reaches, and the verdict."""

    axes: Mapping[str, str]
    found: Mapping[str, Estimate]
    """By control; those without a number are absent."""
    bound: float
    outcome: Outcome
    enough: int | None = None
    """How many repetitions would decide, if they are undecided and it can be said."""


class Row(Struct, frozen=True):
    """A criterion with its verdict."""

    criterion: Criterion
    outcome: Outcome
    places: Sequence[Place] = ()
    reason: str = ""
    """Why there is no verdict, or what the control did that ended its runs."""

    @property
    def worst(self) -> Place | None:
        """The place that the row is about: the first with its outcome that is farthest from its bound."""
        alike = [each for each in self.places if each.outcome == self.outcome] or list(self.places)
        return max(alike, key=lambda each: _excess(self.criterion, each), default=None)


def estimate(values: Sequence[float], least: float | None = None) -> Estimate:
    """The mean of the values of repetitions, none of which is below `least`, with its interval."""
    array = np.array(values, dtype=np.float64)
    low, high = t_interval(array, least)
    return Estimate(len(array), float(array.mean()), low, high, float(array.std(ddof=1)) if len(array) > 1 else NAN)


def bound_of(criterion: Criterion, found: Mapping[str, Estimate]) -> float:
    """What has to be reached; NaN if no baseline of the criterion has a number."""
    if criterion.bound is not None:
        return criterion.bound
    known = [found[name] for name in criterion.against if name in found]
    if not known:
        return NAN
    if criterion.better == "low":
        end = max(each.mean if math.isnan(each.high) else each.high for each in known)
        return end + criterion.allow * abs(end)
    end = min(each.mean if math.isnan(each.low) else each.low for each in known)
    return end - criterion.allow * abs(end)


def judged(criterion: Criterion, axes: Mapping[str, str], control: str, found: Mapping[str, Estimate]) -> Place:
    """The verdict on a control at one place."""
    bound, own = bound_of(criterion, found), found.get(control)
    if own is None or math.isnan(bound):
        return Place(axes, found, bound, "absent")
    if math.isnan(own.low):
        return Place(axes, found, bound, "undecided")
    worse, better = (own.high, own.low) if criterion.better == "low" else (-own.low, -own.high)
    edge = bound if criterion.better == "low" else -bound
    slack = 1e-9 * max(abs(edge), abs(own.mean))
    if worse <= edge + slack:
        return Place(axes, found, bound, "meets")
    if better > edge + slack:
        return Place(axes, found, bound, "fails")
    return Place(axes, found, bound, "undecided", enough(own, bound))


def enough(own: Estimate, bound: float) -> int | None:
    """How many repetitions have an interval that ends before the bound, if mean and deviation stay as they are; `None`
    if more than anybody waits for.
    """
    distance = abs(own.mean - bound)
    counts = range(own.n + 1, MOST_REPETITIONS + 1)
    return next((n for n in counts if quantile(n - 1) * own.deviation / math.sqrt(n) < distance), None)


def row(criterion: Criterion, places: Sequence[Place], reason: str = "") -> Row:
    """The verdict on a criterion, from those on its places."""
    if reason:
        return Row(criterion, "ended", places, reason)
    outcomes = {each.outcome for each in places}
    for outcome in ("fails", "undecided", "absent", "meets"):
        if outcome in outcomes:
            lacking = "no run has this number" if outcome == "absent" else ""
            return Row(criterion, outcome, places, lacking)
    return Row(criterion, "absent", places, "there are no runs")


def _excess(criterion: Criterion, place: Place) -> float:
    """How far on the worse side of the bound the control is, as a share of the bound."""
    own = next(iter(place.found.values()), None)
    if own is None or math.isnan(place.bound):
        return -math.inf
    gap = own.mean - place.bound if criterion.better == "low" else place.bound - own.mean
    return gap / abs(place.bound) if place.bound else gap
