"""Confidence intervals over repetitions.

A repetition is one independent value of a metric. The 95 % interval of their mean is Student's: mean ± t · s/√n, with
s the standard deviation over the n repetitions and t the 97.5 % quantile with n − 1 degrees of freedom
[law2015 §9.4.1]. A bootstrap would not do because n is small: its interval of two repetitions never leaves their range.

An interval ends where the possible values of the metric end (no fewer than 0 drops, a Jain's index of at most 1): the
true mean cannot lie beyond, so the interval covers it as often.
"""

import math
from collections.abc import Iterable
from itertools import starmap
from typing import Literal

import numpy as np
import numpy.typing as npt

from tailback.analysis import student
from tailback.analysis.digits import decimals, fixed, significant

CONFIDENCE = 0.95

NAN = float("nan")

ROUNDING = 1e-9
"""Relative differences below this are due to rounding."""

Values = npt.NDArray[np.float64]


def half_width(values: Values) -> float:
    """Half the length of the 95 % interval of the mean of `values`; NaN if there is only one value."""
    if len(values) < 2:
        return NAN
    n = len(values)
    return quantile(n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)


def quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t with `freedom` degrees of freedom, at least one."""
    return student.quantile(freedom, (1 - CONFIDENCE) / 2)


def t_interval(values: Values, least: float | None = None, most: float | None = None) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of `values`, within the possible values of the metric; NaN if there is only
    one value.
    """
    mean, half = float(np.mean(values)), half_width(values)
    low, high = mean - half, mean + half
    if math.isnan(half):
        return low, high
    return low if least is None else max(low, least), high if most is None else min(high, most)


def t_intervals(values: Values, least: float) -> list[tuple[float, float]]:
    """`t_interval` of each column of many, of which none is below `least`."""
    n, means = len(values), values.mean(axis=0)
    if n < 2:
        return [(NAN, NAN)] * len(means)
    halves = quantile(n - 1) * np.std(values, axis=0, ddof=1) / math.sqrt(n)
    return list(zip(np.maximum(means - halves, least).tolist(), (means + halves).tolist(), strict=True))


Form = Literal["±", "[]"]
"""How an interval is written: half its length, or both ends."""

Written = tuple[float, tuple[float, float], str]
"""A mean, the ends of its interval, and the format of its digits."""

DIGITS = ".2g"

ALL_ALIKE = 4
"""Significant digits of the ends of an interval without a length."""


def form_of(intervals: Iterable[Written]) -> Form:
    """The one form of intervals that are read beside each other: both ends, if one of them is not symmetric, because it
    ends where the possible values end.
    """
    return "±" if all(starmap(_is_even, intervals)) else "[]"


def _is_even(mean: float, ends: tuple[float, float], digits: str) -> bool:
    """Whether an interval is symmetric as it is written; one that is not known is no reason for another form."""
    below, above = mean - ends[0], ends[1] - mean
    if math.isnan(above) or abs(above - below) <= ROUNDING * max(abs(mean), above, below):
        return True
    return _text(below, digits) == _text(above, digits)


def spread_in_words(mean: float, ends: tuple[float, float], digits: str = DIGITS, form: Form | None = None) -> str:
    """`±0.3`, or `[0.41, 1]`, in this form; by default as the interval itself needs."""
    if (form or form_of([(mean, ends, digits)])) == "±":
        above = ends[1] - mean
        # The interval of identical repetitions is not exactly 0 because of rounding.
        return f"±{_text(above if above > ROUNDING * abs(mean) else 0.0, digits)}"
    if digits.endswith("f"):
        return f"[{ends[0]:{digits}}, {ends[1]:{digits}}]"
    # As many places as tell the two ends apart: [19.85, 19.89], and not [20, 20] beside 19.87.
    half = (ends[1] - ends[0]) / 2
    places = decimals(half, int(digits[1:-1])) if half > ROUNDING * abs(mean) else decimals(mean, ALL_ALIKE)
    return f"[{fixed(ends[0], places)}, {fixed(ends[1], places)}]"


def _text(value: float, digits: str) -> str:
    """In fixed notation: `0.00002`, and not `2e-05`."""
    text = f"{value:{digits}}"
    return text if "e" not in text else significant(value, int(digits[1:-1]))
