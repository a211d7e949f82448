"""Confidence intervals over repetitions.

A repetition is one independent value of a metric. The 95 % interval of their mean is Student's: mean ± t · s/√n, with
s the standard deviation over the n repetitions and t the 97.5 % quantile with n − 1 degrees of freedom
[law2015 §9.4.1]. A bootstrap would not do because n is small: its interval of two repetitions never leaves their range.

An interval ends where the possible values of the metric end (no fewer than 0 drops, a Jain's index of at most 1): the
true mean cannot lie beyond, so the interval covers it as often.
"""

import math

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95

_QUANTILES = (
    12.706204736174694,
    4.302652729749462,
    3.1824463052837078,
    2.7764451051977934,
    2.5705818356363146,
    2.4469118511449786,
    2.364624251592784,
    2.306004135204166,
    2.262157162798205,
    2.228138851986274,
    2.200985160091639,
    2.1788128296672284,
    2.1603686564627913,
    2.144786687917804,
    2.131449545559776,
    2.1199052992212546,
    2.1098155778333156,
    2.1009220402410382,
    2.0930240544083087,
    2.085963447265864,
    2.0796138447276795,
    2.0738730679040254,
    2.0686576104190486,
    2.0638985616280245,
    2.0595385527532972,
    2.0555294386428735,
    2.0518305164802846,
    2.0484071417952454,
    2.045229642132703,
    2.0422724563012378,
)
"""Student's t: the 97.5 % quantile with 1, 2, ... degrees of freedom, as scipy computes it. Few sweeps have more
repetitions, and to load scipy takes longer than to summarise a run.
"""

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
    if freedom <= len(_QUANTILES):
        return _QUANTILES[freedom - 1]
    # Imported here, and not from `scipy.stats`, because that takes a second to load.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def t_interval(values: Values, least: float | None = None, most: float | None = None) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of `values`, within the possible values of the metric; NaN if there is only
    one value.
    """
    mean, half = float(np.mean(values)), half_width(values)
    low, high = mean - half, mean + half
    if math.isnan(half):
        return low, high
    return low if least is None else max(low, least), high if most is None else min(high, most)


def spread_in_words(mean: float, ends: tuple[float, float], digits: str = ".2g") -> str:
    """`±0.3`, or `[0.41, 1]` if the interval is not symmetric, because it ends where the possible values end."""
    below, above = mean - ends[0], ends[1] - mean
    if abs(above - below) <= ROUNDING * max(abs(mean), above, below):
        # The interval of identical repetitions is not exactly 0 because of rounding.
        half = above if above > ROUNDING * abs(mean) else 0.0
        return f"±{half:{digits}}"
    if f"{ends[0]:{digits}}" == f"{ends[1]:{digits}}":
        return f"±{above:{digits}}"
    return f"[{ends[0]:{digits}}, {ends[1]:{digits}}]"
