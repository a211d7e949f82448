"""Tests and intervals by drawing the values again, with numpy alone: each comparison needs them, and scipy takes longer
to load than most of them take, and more room than all else that a comparison needs.

The random numbers are those of numpy's generator with a fixed seed, so the same values give the same numbers.
"""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tailback.analysis import student

Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

RESAMPLES = 9999
SEED = 1
"""Seed of the resampling, so that the same results have the same interval."""

BATCH = 200
"""Permutations at once: of fifty tests with ten values on each side, they need 2 MB."""

KEPT = 4
"""Draws that are kept, by their number of values: those of a comparison have few different numbers."""

ROUNDING = 100 * float(np.finfo(np.float64).eps)
"""By how much, relative to the observed difference, two equal differences may differ for the order of their sums."""


def chances(reference: Values, candidate: Values) -> Values:
    """Two-sided p of the difference of means along the last axis: over all ways to share the values out to the two
    sides, or over `RESAMPLES` random ones if there are more [ernst2004].
    """
    ours, theirs = candidate.shape[-1], reference.shape[-1]
    ways = math.comb(ours + theirs, ours)
    is_exact = ways <= RESAMPLES
    pooled = np.concatenate([candidate, reference], axis=-1)
    observed = np.asarray(np.mean(candidate, axis=-1) - np.mean(reference, axis=-1))
    slack = np.abs(ROUNDING * observed)
    # Of random permutations, that of the observation is one more.
    below = np.full(observed.shape, int(not is_exact))
    above = below.copy()
    drawn = _all(ours + theirs, ours) if is_exact else _random(ours + theirs)
    for places in drawn:
        values = pooled[..., places]
        apart = np.mean(values[..., :ours], axis=-1) - np.mean(values[..., ours:], axis=-1)
        below += np.count_nonzero(apart <= (observed + slack)[..., np.newaxis], axis=-1)
        above += np.count_nonzero(apart >= (observed - slack)[..., np.newaxis], axis=-1)
    total = ways if is_exact else RESAMPLES + 1
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above) / total), dtype=np.float64)


@functools.lru_cache(KEPT)
def _all(count: int, ours: int) -> list[Places]:
    """All ways to choose `ours` of `count` places, each followed by the places that are left; in batches."""
    everything = frozenset(range(count))
    ways = ((*chosen, *sorted(everything - frozenset(chosen))) for chosen in itertools.combinations(range(count), ours))
    return list(_batches(ways))


@functools.lru_cache(KEPT)
def _random(count: int) -> list[Places]:
    random = np.random.default_rng(SEED)
    return list(_batches(random.permutation(count) for _ in range(RESAMPLES)))


def _batches(rows: Iterable[Any]) -> Iterator[Places]:
    rows = iter(rows)
    while batch := list(itertools.islice(rows, BATCH)):
        yield np.array(batch, dtype=np.intp)


@functools.lru_cache(KEPT)
def _with_replacement(count: int) -> Places:
    """The places of the values of each sample that is drawn of so many."""
    return np.random.default_rng(SEED).integers(0, count, (RESAMPLES, count))


def bootstrap_interval(values: Values, confidence: float) -> tuple[float, float]:
    """Percentiles of the means of samples drawn from `values`, expanded for their small number
    [hesterberg2015 §5.3].
    """
    n = len(values)
    t = student.quantile(n - 1, (1 - confidence) / 2)
    tail = math.erfc(math.sqrt(n / (n - 1)) * t / math.sqrt(2)) / 2
    low, high = np.quantile(np.mean(np.take(values, _with_replacement(n)), axis=-1), [tail, 1 - tail]).tolist()
    return low, high


def ranks(values: Values) -> Values:
    """The place of each value in ascending order, from 1; equal values share the mean of theirs."""
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[groups], dtype=np.float64)


def discovery_rates(p: Values) -> Values:
    """q of each p: the least rate of false discoveries at which it is one [benjamini1995]."""
    order = np.argsort(p)
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    found = np.empty(len(p))
    found[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.asarray(np.minimum(found, 1.0))
