"""Differences between two results, metric by metric, over paired repetitions.

Per pair of runs (same configuration, same repetition) d = candidate − reference; what is reported is the mean of d
with its 95 % interval: percentiles of 9999 bootstrap means, expanded for a small number n of pairs. They are taken
at Φ(−√(n/(n−1)) · t) instead of 2.5 %, t = 97.5 % of Student's t with n − 1 degrees of freedom [hesterberg2015 §5.3];
without that, five pairs would cover the true mean in 82 of 100 cases. A bootstrap mean never leaves the range of what
was seen, so the interval of fewer than five pairs covers less than it says: at most 1 − 2^(1−n), 50, 75, 87 % for two
to four pairs. One pair gives no interval.

Effect = difference of the means in units of the pooled standard deviation over repetitions, √((s₁² + s₂²)/2)
[cohen1988 §2.2]; not a number where repetitions do not differ.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis.repetitions import Summary, at, drops_in_all

CONFIDENCE = 0.95
RESAMPLES = 9999
SEED = 1
"""Of the resampling: the same results have the same interval."""

NAN = float("nan")

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """One number of a summary that results are compared by."""

    key: str
    """Its path in `summary.json`, or a name of its own if it is made of several numbers there."""
    title: str
    unit: str
    tolerance: str
    """The name of the tolerance it is judged by."""
    read: Callable[[Summary], float | None]


def _cwnd_mean(summary: Summary) -> float | None:
    """Mean over the flows of each flow's mean window."""
    flows = summary.get("cwnd_segments")
    return float(np.mean([flow["mean"] for flow in flows.values()])) if flows else None


METRICS: Mapping[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("goodput_mbps.total", "goodput", "Mbit/s", "goodput", at("goodput_mbps", "total")),
        Metric("ping_ms.p50", "ping p50", "ms", "ping", at("ping_ms", "p50")),
        Metric("ping_ms.p90", "ping p90", "ms", "ping", at("ping_ms", "p90")),
        Metric("tcp_rtt_ms.p50", "TCP RTT p50", "ms", "rtt", at("tcp_rtt_ms", "p50")),
        Metric("tcp_rtt_ms.p90", "TCP RTT p90", "ms", "rtt", at("tcp_rtt_ms", "p90")),
        Metric("cwnd_segments.mean", "cwnd mean", "segments", "cwnd", _cwnd_mean),
        Metric("retransmits", "retransmits", "segments", "retransmits", at("retransmits")),
        Metric("drops", "drops", "packets", "drops", drops_in_all),
        Metric("marks", "marks", "packets", "marks", at("marks")),
    )
}
"""What results are compared by, in the order it is shown."""


@dataclass(frozen=True)
class SummaryPair:
    """The summaries of the same run on both sides."""

    configuration: int
    """Number of its place in the grid."""
    reference: Summary
    candidate: Summary


@dataclass(frozen=True)
class Difference:
    """One metric of one configuration; what is not known is not a number."""

    pairs: int
    reference: float
    candidate: float
    difference: float
    low: float
    high: float
    relative: float
    """Difference as a share of the reference."""
    effect: float


def paired_metrics(pairs: Iterable[SummaryPair]) -> pd.DataFrame:
    """One row per pair of runs and metric: `configuration`, `metric`, `reference`, `candidate`.

    A metric neither side knows has no row; one that only one side knows is not a number on the other.
    """
    rows = [
        (pair.configuration, metric.key, metric.read(pair.reference), metric.read(pair.candidate))
        for pair in pairs
        for metric in METRICS.values()
    ]
    columns = ["configuration", "metric", "reference", "candidate"]
    table = pd.DataFrame(rows, columns=columns).astype({"reference": np.float64, "candidate": np.float64})
    return table.dropna(subset=["reference", "candidate"], how="all").reset_index(drop=True)


def differences(paired: pd.DataFrame) -> pd.DataFrame:
    """One row per configuration and metric of `paired_metrics`: `title`, `unit` and the fields of `Difference`."""
    rows = [_row(group) for _, group in paired.groupby(["configuration", "metric"], sort=False)]
    columns = ["configuration", "metric", "title", "unit", *Difference.__dataclass_fields__]
    return pd.DataFrame(rows, columns=columns)


def difference(reference: Values, candidate: Values) -> Difference:
    """The difference of paired values; pairs with an unknown value do not count."""
    known = ~(np.isnan(reference) | np.isnan(candidate))
    if not known.any():
        return Difference(0, _mean(reference), _mean(candidate), NAN, NAN, NAN, NAN, NAN)
    ours, theirs = candidate[known], reference[known]
    mean, low, high = float(np.mean(ours - theirs)), *interval(ours - theirs)
    base = _mean(theirs)
    relative = mean / abs(base) if base else NAN
    return Difference(int(known.sum()), base, _mean(ours), mean, low, high, relative, effect(theirs, ours))


def interval(values: Values) -> tuple[float, float]:
    """Ends of the 95 % interval of the mean of `values`; not numbers if there is but one."""
    if len(values) < 2:
        return NAN, NAN
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    return _bootstrap(values)


def effect(reference: Values, candidate: Values) -> float:
    """Difference of the means in pooled standard deviations."""
    if len(reference) < 2:
        return NAN
    pooled = float(np.sqrt((np.var(reference, ddof=1) + np.var(candidate, ddof=1)) / 2))
    return float(np.mean(candidate) - np.mean(reference)) / pooled if pooled else NAN


def _bootstrap(values: Values) -> tuple[float, float]:
    # On demand: a command that compares nothing should not wait for it.
    from scipy import stats

    n = len(values)
    tail = stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.ppf((1 + CONFIDENCE) / 2, n - 1))
    found = stats.bootstrap(
        (values,), np.mean, confidence_level=1 - 2 * tail, n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(SEED),
    )  # fmt: skip
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _mean(values: Values) -> float:
    known = values[~np.isnan(values)]
    return float(np.mean(known)) if len(known) else NAN


def _row(group: pd.DataFrame) -> dict[str, Any]:
    metric = METRICS[str(group["metric"].iloc[0])]
    found = difference(group["reference"].to_numpy(np.float64), group["candidate"].to_numpy(np.float64))
    head = {"configuration": int(group["configuration"].iloc[0]), "metric": metric.key}
    return {**head, "title": metric.title, "unit": metric.unit, **asdict(found)}
