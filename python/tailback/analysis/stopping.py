"""Decides when a configuration has enough repetitions.

Chow and Robbins' sequential procedure [chow1965]: repeat until half the 95 % interval of the mean is at most the wanted
share of the mean. Stopping by what was seen makes the interval cover a little less often than it says; never stopping
before `least` repetitions keeps that loss small [law2015 §9.4.1]. Repetitions that do not differ at all are enough.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tailback.analysis.intervals import half_width
from tailback.analysis.metric import Summary


@dataclass(frozen=True)
class Stopping:
    """When a configuration has been repeated often enough."""

    share: float
    """The half width of every interval is at most this share of its mean."""
    metrics: Mapping[str, Callable[[Summary], float | None]]
    """By name; one that no repetition has does not count."""
    least: int
    most: int

    def narrow(self, summaries: Sequence[Summary]) -> bool:
        """Whether the interval of each quantity over these repetitions of one configuration is narrow enough."""
        return len(summaries) >= self.least and self._widest(summaries) <= 1

    def next_count(self, summaries: Sequence[Summary]) -> int:
        """The number of repetitions to run before the next check; the present number if these suffice.

        The width shrinks as 1/√n, so n · (width/wanted)² are likely to do; at most twice as many as there are, for an
        early guess is a bad one. It depends on the repetitions alone, so the same seeds stop at the same number.
        """
        n = len(summaries)
        if n < self.least:
            return self.least
        factor = self._widest(summaries)
        if factor <= 1 or n >= self.most:
            return n
        return min(self.most, max(n + 1, math.ceil(n * min(2.0, factor * factor))))

    def _widest(self, summaries: Sequence[Summary]) -> float:
        return max((self._excess(summaries, read) for read in self.metrics.values()), default=0.0)

    def _excess(self, summaries: Sequence[Summary], read: Callable[[Summary], float | None]) -> float:
        """Half width in units of what is wanted."""
        values = np.array([value for value in map(read, summaries) if value is not None], dtype=np.float64)
        if not len(values):
            return 0.0
        half, wanted = half_width(values), self.share * abs(float(np.mean(values)))
        if half == 0:
            return 0.0
        return half / wanted if wanted and not math.isnan(half) else math.inf
