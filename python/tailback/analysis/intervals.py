"""Confidence intervals over repetitions.

A repetition is one independent value of a metric. The 95 % interval of their mean is Student's: mean ± t · s/√n, with
s the standard deviation over the n repetitions and t the 97.5 % quantile with n − 1 degrees of freedom
[law2015 §9.4.1]. A bootstrap would not do because n is small: its interval of two repetitions never leaves their range.
The interval may include impossible values (fewer than 0 drops).
"""

import math

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95

NAN = float("nan")

Values = npt.NDArray[np.float64]


def half_width(values: Values) -> float:
    """Half the length of the 95 % interval of the mean of `values`; NaN if there is only one value."""
    if len(values) < 2:
        return NAN
    # Imported here, and not from `scipy.stats`, because that takes a second to load.
    from scipy.special import stdtrit

    n = len(values)
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(n)


def t_interval(values: Values) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of `values`; NaN if there is only one value."""
    mean, half = float(np.mean(values)), half_width(values)
    return mean - half, mean + half
