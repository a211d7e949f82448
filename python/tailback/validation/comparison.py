"""Computes the tables of a comparison from paired runs."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis import Window, cwnd_samples, tcp_rtt_samples
from tailback.analysis.differences import SummaryPair, paired_metrics
from tailback.analysis.distances import SamplePair, distances
from tailback.analysis.divergence import (
    Threshold,
    Traces,
    aligned,
    around,
    default_threshold,
    events_between,
    first_divergences,
    interval_before,
)
from tailback.analysis.equivalence import undecided
from tailback.analysis.matrix import deviations
from tailback.analysis.metric import Summary
from tailback.analysis.metrics import Samples, by_reason, counted, counted_at_radios, drops_by_counters
from tailback.analysis.rows import with_axes
from tailback.analysis.tolerances import NONE, Tolerance, judged, share_within
from tailback.results import Pairing, RunFolder, RunPair
from tailback.results.pairing import CANDIDATE, REFERENCE, Side

DIVERGENCES = ("configuration", "repetition", "flow", "column", "place", "t", "reference", "candidate")

EVENTS_SHOWN = 30
"""Maximum number of events per side at a divergence."""


@dataclass(frozen=True)
class Criteria:
    """The criteria of a comparison."""

    tolerances: Mapping[str, Tolerance] = field(default_factory=lambda: NONE)
    threshold: Threshold | None = None
    """Threshold above which samples differ; by default it depends on the sampling (`analysis.divergence`)."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of two results. `configuration` in a table is an index into `pairing.configurations`."""

    pairing: Pairing
    criteria: Criteria
    judged: pd.DataFrame
    """A row per configuration and metric (`analysis.tolerances.judged`)."""
    distances: pd.DataFrame
    """A row per configuration and quantity (`analysis.distances`)."""
    divergences: pd.DataFrame
    """A row per pair of runs, flow and column that differs (`analysis.divergence`)."""

    @functools.cached_property
    def deviations(self) -> pd.DataFrame:
        """The conformance matrix (`analysis.matrix`)."""
        return deviations(self.judged, self.pairing.configurations)

    @functools.cached_property
    def share_within(self) -> pd.DataFrame:
        """Numbers of cells within tolerance, by tolerance."""
        return share_within(self.judged)

    @property
    def differences(self) -> pd.DataFrame:
        """`judged`, with the axes as first columns."""
        return with_axes(self.judged, self.pairing.configurations)

    @property
    def off(self) -> int:
        """Number of cells out of tolerance."""
        return int((self.judged["outcome"] == "off").sum())

    @property
    def undecided(self) -> set[int]:
        """The configurations with a cell that further repetitions could decide."""
        return undecided(self.judged)

    def names(self) -> dict[Side, str]:
        """Names of the two sides: their backends, or their folders if the backends are the same."""
        sides = {REFERENCE: self.pairing.reference, CANDIDATE: self.pairing.candidate}
        backends = {side: ", ".join(dict.fromkeys(run.backend for run in found.runs)) for side, found in sides.items()}
        if backends[REFERENCE] != backends[CANDIDATE]:
            return backends
        return {side: str(found.path) for side, found in sides.items()}


@dataclass(frozen=True)
class Divergence:
    """The first divergence of one pair of runs, with its surroundings."""

    pair: RunPair
    flow: str
    column: str
    place: int
    t: float
    between: tuple[float, float]
    """The interval (s) that contains its cause: from the sample before to this one."""
    rows: pd.DataFrame
    """The samples of both sides around it."""
    events: Mapping[Side, pd.DataFrame]
    """The events of this flow between the two samples, by side."""


def compare(pairing: Pairing, criteria: Criteria) -> Comparison:
    """Compares paired runs by the given criteria."""
    pairs = [SummaryPair(pair.configuration, *_counted_alike(pair)) for pair in pairing.pairs]
    return Comparison(
        pairing,
        criteria,
        judged=judged(paired_metrics(pairs), criteria.tolerances),
        distances=distances(_samples(pairing)),
        divergences=_divergences(pairing, criteria),
    )


def _counted_alike(pair: RunPair) -> tuple[Summary, Summary]:
    """The summaries of both runs. If a side has no `events` (a kernel does not report single drops), drops and marks of
    both sides are those that a kernel counts.
    """
    sides = _runs(pair)
    if all(run.has("events") for run in sides) or not all(run.has("qdisc") for run in sides):
        return pair.reference.summary, pair.candidate.summary
    return summary_by_counters(pair.reference), summary_by_counters(pair.candidate)


def summary_by_counters(run: RunFolder) -> dict[str, Any]:
    """The summary of `run`, with those drops and marks that a kernel counts: of the disciplines (`qdisc`), and above
    radios without one.
    """
    window = Window(*run.window_ns)
    marks = sum(counted(run.qdisc, "marked", window).values())
    at_radios = _at_radios(run, "mark", window)
    return {
        **run.summary,
        "drops": drops_by_counters(run.qdisc, window) | _at_radios(run, "drop", window),
        "marks": marks + sum(sum(reasons.values()) for reasons in at_radios.values()),
    }


def _at_radios(run: RunFolder, what: str, window: Window) -> dict[str, dict[str, int]]:
    """Drops or marks (`what`) above radios without a discipline, by device and reason."""
    if run.has("radios"):
        return counted_at_radios(run.table("radios"), what, window)
    if not run.has("events"):
        return {}
    found = by_reason(run.events, what, window)
    radios = (device.name for device in run.scenario.devices if device.wire is None and device.root is None)
    return {name: found[name] for name in radios if name in found}


def divergence(comparison: Comparison, configuration: int) -> Divergence | None:
    """The first divergence of the first repetition of a configuration; `None` if nothing diverges."""
    pair = comparison.pairing.of(configuration)[0]
    table = comparison.divergences
    found = table[(table["configuration"] == configuration) & (table["repetition"] == pair.repetition)]
    traces = _traces(pair)
    if found.empty or traces is None:
        return None
    first = found.sort_values("t", kind="stable").iloc[0]
    samples, flow, place = aligned(traces), str(first["flow"]), int(first["place"])
    between = interval_before(samples, flow, place)
    sides = {REFERENCE: pair.reference, CANDIDATE: pair.candidate}
    return Divergence(
        pair,
        flow,
        str(first["column"]),
        place,
        float(first["t"]),
        between,
        rows=around(samples, flow, place),
        events={side: _events(run, flow, between) for side, run in sides.items()},
    )


def _samples(pairing: Pairing) -> Iterator[SamplePair]:
    """RTT and cwnd of all flows and repetitions of each configuration."""
    for configuration in range(len(pairing.configurations)):
        pairs = [pair for pair in pairing.of(configuration) if _traces(pair) is not None]
        for quantity, unit, read in (("tcp_rtt_ms", "ms", _rtt), ("cwnd_segments", "segments", _cwnd)):
            sides = [_pooled(read(run) for run in runs) for runs in zip(*map(_runs, pairs), strict=True)]
            if sides:
                yield SamplePair(configuration, quantity, unit, *sides)


def _runs(pair: RunPair) -> tuple[RunFolder, RunFolder]:
    return pair.reference, pair.candidate


def _pooled(parts: Iterator[Samples]) -> Samples:
    return np.concatenate(list(parts))


def _rtt(run: RunFolder) -> Samples:
    return tcp_rtt_samples(run.tcp_info, Window(*run.window_ns))


def _cwnd(run: RunFolder) -> Samples:
    flows = cwnd_samples(run.tcp_info, Window(*run.window_ns)).values()
    return np.concatenate([np.empty(0), *flows])


def _divergences(pairing: Pairing, criteria: Criteria) -> pd.DataFrame:
    parts = [found for pair in pairing.pairs if (found := _of_pair(pair, criteria)) is not None]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(DIVERGENCES))


def _of_pair(pair: RunPair, criteria: Criteria) -> pd.DataFrame | None:
    traces = _traces(pair)
    if traces is None:
        return None
    threshold = criteria.threshold or default_threshold(traces.sampling)
    found = first_divergences(aligned(traces), threshold)
    found.insert(0, "configuration", pair.configuration)
    found.insert(1, "repetition", pair.repetition)
    return found if len(found) else None


def _traces(pair: RunPair) -> Traces | None:
    """The traces of both runs; `None` if a side has no `tcp_info`."""
    if not (pair.reference.has("tcp_info") and pair.candidate.has("tcp_info")):
        return None
    records = [run.scenario.record for run in _runs(pair)]
    return Traces(
        pair.reference.tcp_info,
        pair.candidate.tcp_info,
        sampling="ack" if all(record.tcp_info == "ack" for record in records) else "interval",
        interval_ns=max(record.interval_ns for record in records),
    )


def _events(run: RunFolder, flow: str, between: tuple[float, float]) -> pd.DataFrame:
    if not run.has("events"):
        return pd.DataFrame()
    return events_between(run.events, flow, between).head(EVENTS_SHOWN)
