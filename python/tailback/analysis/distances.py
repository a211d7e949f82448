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
    """The Wasserstein distance, in the unit of the samples."""
    from scipy import stats

    return float(stats.wasserstein_distance(reference, candidate))


def ks(reference: Samples, candidate: Samples) -> float:
    """The Kolmogorov–Smirnov statistic."""
    from scipy import stats

    return float(stats.ks_2samp(reference, candidate, method="asymp").statistic)
