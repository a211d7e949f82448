"""Distances between two distributions, in addition to percentiles, which may agree by chance.

Wasserstein (earth mover's) distance: mean distance by which samples have to be moved, in their unit [villani2009 §6];
Kolmogorov–Smirnov: largest difference between the two distribution functions, 0 to 1 [massey1951]. No p-value is
computed, because it needs independent samples, and samples of RTT and cwnd are strongly correlated.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from msgspec import Struct

from tailback.analysis.metrics import Samples

COLUMNS = ("configuration", "quantity", "unit", "n_reference", "n_candidate", "wasserstein", "relative", "ks")


class SamplePair(Struct, frozen=True):
    """Samples of one quantity of one configuration on both sides."""

    configuration: int
    quantity: str
    unit: str
    reference: Samples
    candidate: Samples


def distances(pairs: Iterable[SamplePair]) -> pd.DataFrame:
    """One row per pair that has samples on both sides; `relative` is `wasserstein` over the reference's mean."""
    rows = [_row(pair) for pair in pairs if len(pair.reference) and len(pair.candidate)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(pair: SamplePair) -> tuple[int, str, str, int, int, float, float, float]:
    moved = wasserstein(pair.reference, pair.candidate)
    mean = float(np.mean(pair.reference))
    relative = moved / mean if mean else float("nan")
    counts = len(pair.reference), len(pair.candidate)
    return pair.configuration, pair.quantity, pair.unit, *counts, moved, relative, ks(pair.reference, pair.candidate)


def wasserstein(reference: Samples, candidate: Samples) -> float:
    """The Wasserstein distance, in the unit of the samples: the area between the two distribution functions."""
    values = np.sort(np.concatenate([reference, candidate]))
    return float(np.sum(_apart(reference, candidate, values[:-1]) * np.diff(values)))


def ks(reference: Samples, candidate: Samples) -> float:
    """The Kolmogorov–Smirnov statistic."""
    return float(np.max(_apart(reference, candidate, np.concatenate([reference, candidate]))))


def _apart(reference: Samples, candidate: Samples, at: Samples) -> Samples:
    """By how much the two distribution functions differ at these values."""
    ours, theirs = (np.searchsorted(np.sort(side), at, side="right") / len(side) for side in (candidate, reference))
    return np.asarray(np.abs(ours - theirs))
