"""Whether two sides are equal within a tolerance, judged by the spread of their repetitions.

A single run of a kernel is one sample: with another seed it would differ from itself, often by more than a tolerance.
So the means of two samples are compared, by two one-sided tests [schuirmann1987] at 5 % each. This is the same as
asking where the 90 % interval of the difference of the means lies: inside the tolerance (`within`), outside (`off`), or
across its edge (`undecided`: more repetitions are needed). The interval is Welch's [welch1947], which allows different
variances. The sides are treated as independent, although repetitions with the same number have the same start times:
this can only widen the interval. One repetition has no interval, so it decides nothing, unless both sides are equal.

The yardstick of a share of runs within tolerance is the reference itself. `alike` is the share of pairs of single runs,
one of each side, whose difference is within tolerance; `ceiling` is the same share for pairs of runs of the reference.
Even a perfect simulator is not alike more often than the reference is like itself. Pairs have different repetition
numbers, hence different seeds, in both shares.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis import student
from tailback.analysis.rows import records, sides
from tailback.analysis.table import frame

if TYPE_CHECKING:
    import pandas as pd

Decision = Literal["within", "off", "undecided"]

LEVEL = 0.05
"""Level of each of the two one-sided tests."""

NAN = float("nan")

Values = npt.NDArray[np.float64]


class Allowing(Protocol):
    """A tolerance."""

    def allowed(self, reference: float, candidate: float) -> float | None:
        """The largest difference that is within tolerance; `None` if this pair is not judged."""

    def allowed_each(self, references: Values, candidates: Values) -> Values:
        """The same of each reference (a row) with each candidate (a column); NaN if a pair is not judged."""


class Likeness(Struct, frozen=True):
    """Shares of pairs of single runs within tolerance; NaN if there are no such pairs, or if they are not judged."""

    alike: float
    """Pairs of one run of each side."""
    ceiling: float
    """Pairs of two runs of the reference."""


def interval_of_means(reference: Values, candidate: Values, level: float = LEVEL) -> tuple[float, float]:
    """Ends of the interval of the difference of the means, candidate − reference, which leaves out `level` on each side
    (by default, the 90 % interval); NaN if a side has fewer than two values, unless all values are equal.
    """
    if not len(reference) or not len(candidate):
        return NAN, NAN
    difference = float(np.mean(candidate) - np.mean(reference))
    few = min(len(reference), len(candidate)) < 2
    if np.ptp(reference) == 0 and np.ptp(candidate) == 0 and (difference == 0 or not few):
        return difference, difference
    if few:
        return NAN, NAN
    parts = [(float(np.var(side, ddof=1)) / len(side), len(side) - 1) for side in (reference, candidate)]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    half = student.quantile(freedom, level) * math.sqrt(variance)
    return difference - half, difference + half


def decision(interval: tuple[float, float], allowed: float) -> Decision:
    """Whether a difference with this interval is within `allowed`."""
    low, high = interval
    if -allowed <= low and high <= allowed:
        return "within"
    return "off" if low > allowed or high < -allowed else "undecided"


def likeness(reference: Values, candidate: Values, by: Allowing) -> Likeness:
    """How often single runs agree, with the same index in both arrays for the same repetition."""
    return Likeness(_share(reference, candidate, by), _share(reference, reference, by))


def _share(theirs: Values, ours: Values, by: Allowing) -> float:
    """The share of pairs with different indices that are within tolerance, of those that are judged."""
    apart = ~np.eye(len(theirs), len(ours), dtype=bool) & ~np.isnan(theirs)[:, None] & ~np.isnan(ours)[None, :]
    allowed = by.allowed_each(theirs, ours)
    judged = apart & ~np.isnan(allowed)
    within = np.abs(ours[None, :] - theirs[:, None]) <= allowed
    return float(within[judged].mean()) if judged.any() else NAN


def likenesses(paired: "pd.DataFrame", by: Mapping[str, Allowing]) -> "pd.DataFrame":
    """One row per configuration and metric of `differences.paired_metrics`: `alike` and `ceiling`. `by` has the
    tolerance of each metric.
    """
    rows = [
        (place, metric, found.alike, found.ceiling)
        for (place, metric), values in sides(paired).items()
        for found in (likeness(*values, by[metric]),)
    ]
    return frame(rows, columns=["configuration", "metric", "alike", "ceiling"])


def undecided(judged: "pd.DataFrame") -> set[int]:
    """The configurations with a cell that more repetitions could decide."""
    return {int(row["configuration"]) for row in records(judged) if row["outcome"] == "undecided"}
