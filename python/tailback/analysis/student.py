"""Quantiles of Student's t distribution, without scipy, which takes longer to load than to summarise ten runs.

    P(T > t) = I_x(ν/2, 1/2) / 2,   x = ν / (ν + t²)

with ν degrees of freedom, which need not be whole, and the incomplete beta function I as its continued fraction
[dlmf 8.17.22], evaluated from the front. For x above its mean, I_x(a, b) = 1 − I_(1−x)(b, a) converges faster. The
quantile is found by Newton's method from 0: the tail is convex for t > 0, so that the steps approach it from below.
"""

import functools
import math

STEPS = 200
"""Maximum number of Newton steps and of terms; far fewer are needed."""

PRECISION = 1e-15
"""The relative size of the last term or step."""

TINY = 1e-300
"""Replaces a denominator of 0."""


@functools.cache
def quantile(freedom: float, tail: float) -> float:
    """The t that a variable with `freedom` degrees of freedom exceeds with the probability `tail`, at most one half."""
    t = 0.0
    for _ in range(STEPS):
        step = (exceeded(freedom, t) - tail) / density(freedom, t)
        t += step
        if step <= PRECISION * t:
            break
    return t


def exceeded(freedom: float, t: float) -> float:
    """The probability that a variable with `freedom` degrees of freedom exceeds `t`, which is not negative."""
    return _incomplete_beta(freedom / (freedom + t * t), t * t / (freedom + t * t), freedom / 2, 0.5) / 2


def density(freedom: float, t: float) -> float:
    """The density at `t`."""
    return math.exp(-(freedom + 1) / 2 * math.log1p(t * t / freedom)) / (math.sqrt(freedom) * _beta(freedom / 2, 0.5))


def _beta(a: float, b: float) -> float:
    if a + b < 170:
        # Exact to a few units in the last place; differences of large logarithms are not.
        return math.gamma(a) * math.gamma(b) / math.gamma(a + b)
    return math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b); `rest` is 1 − x without its rounding error."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(rest, x, b, a)
    front = math.exp(a * math.log(x) + b * math.log(rest)) / (a * _beta(a, b))
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d₁/(1 + d₂/(1 + …)), by Lentz's method as modified by Thompson and Barnett."""
    value, c, d = 1.0, 1.0, 0.0
    for term in range(1, STEPS):
        m = term // 2
        if term % 2:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + numerator * d) or TINY)
        c = (1 + numerator / c) or TINY
        value *= c * d
        if abs(c * d - 1) < PRECISION:
            break
    return value
