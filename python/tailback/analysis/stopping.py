"""Decides when a configuration has enough repetitions.

Chow and Robbins' sequential procedure [chow1965]: repeat until the half-width of the 95 % interval of the mean is at
most a given fraction of the mean. Stopping based on the data makes the interval cover the mean a little less often than
nominal; requiring at least `least` repetitions keeps that loss small [law2015 §9.4.1]. Identical repetitions suffice.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from tailback.analysis.intervals import half_width
from tailback.analysis.metric import Summary


class Stopping(Struct, frozen=True):
    """The rule that decides when a configuration has enough repetitions."""

    share: float
    """Highest half-width of an interval, as a fraction of the mean."""
    metrics: Mapping[str, Callable[[Summary], float | None]]
    """The quantities by name; one that no repetition has is ignored."""
    min: int
    max: int

    def narrow(self, summaries: Sequence[Summary]) -> bool:
        """Whether the interval of each quantity over these repetitions of one configuration is narrow enough."""
        return len(summaries) >= self.min and self._widest(summaries) <= 1

    def next_count(self, summaries: Sequence[Summary]) -> int:
        """The number of repetitions to run before the next check; the current number if these suffice.

        The width decreases as 1/√n, so n · (width/target)² should suffice. The number at most doubles, because early
        estimates are inaccurate. It depends on the repetitions only, so the same seeds stop at the same number.
        """
        n = len(summaries)
        if n < self.min:
            return self.min
        factor = self._widest(summaries)
        if factor <= 1 or n >= self.max:
            return n
        return min(self.max, max(n + 1, math.ceil(n * min(2.0, factor * factor))))

    def _widest(self, summaries: Sequence[Summary]) -> float:
        return max((self._excess(summaries, read) for read in self.metrics.values()), default=0.0)

    def _excess(self, summaries: Sequence[Summary], read: Callable[[Summary], float | None]) -> float:
        """The half-width in units of the target."""
        values = np.array([value for value in map(read, summaries) if value is not None], dtype=np.float64)
        if not len(values):
            return 0.0
        half, wanted = half_width(values), self.share * abs(float(np.mean(values)))
        if half == 0:
            return 0.0
        return half / wanted if wanted and not math.isnan(half) else math.inf
