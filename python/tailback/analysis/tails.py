"""Which quantiles a number of samples can tell.

A quantile near the end of a distribution depends on the few samples beyond it: with one of them, the value is that of
the last sample but one, and says more about chance than about the tail. Ten beyond it place the quantile between
neighbours that are close; by the binomial distribution, its 95 % interval then covers about 4 to 16 samples beyond.
"""

import math

BEYOND = 10
"""Samples that must lie beyond a quantile: p90 needs 100 samples, p95 200, p99 1000."""


def enough(n: int, quantile: float) -> bool:
    """Whether `n` samples tell this quantile, a share between 0 and 1: at least ten of them lie beyond it, on its
    nearer side.
    """
    beyond = min(quantile, 1 - quantile) * n
    # A share such as 1 - 0.99 is not exact in binary.
    return beyond >= BEYOND or math.isclose(beyond, BEYOND)


def needed(quantile: float) -> int:
    """The smallest number of samples that tell this quantile."""
    return math.ceil(round(BEYOND / min(quantile, 1 - quantile), 6))
