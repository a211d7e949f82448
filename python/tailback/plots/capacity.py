"""What is possible bounds what is drawn: no interval of a goodput reaches beyond what the links carry."""

from collections.abc import Sequence

import numpy as np

from tailback.analysis import capacity
from tailback.analysis.table import Values
from tailback.results import RunResult


def most_mbps(runs: Sequence[RunResult], way: str | None = None) -> float | None:
    """The largest goodput in Mbit/s of all flows of a run, or of those in one direction; `None` if it is not known
    (`analysis.capacity`)."""
    found = [capacity.most_mbps(run.scenario, run.manifest["measure"]["directions"], way) for run in runs]
    known = [most for most in found if most is not None]
    return max(known) if known and len(known) == len(found) else None


def bounded(ends: tuple[float, float], mean: float, most: float | None) -> tuple[float, float]:
    """An interval that ends at the largest possible value. What a link carries in one bin may be read in the next, so
    the mean of a bin may lie beyond; the interval contains it."""
    return ends if most is None else (ends[0], min(ends[1], max(most, mean)))


def bounded_each(high: Values, means: Values, most: float | None) -> Values:
    """The upper ends of many such intervals."""
    return high if most is None else np.minimum(high, np.maximum(most, means))
