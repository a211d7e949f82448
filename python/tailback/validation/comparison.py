"""Computes the tables of a comparison from paired runs."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from tailback.analysis import Window, cwnd_samples, tcp_rtt_samples
from tailback.analysis.differences import METRICS, Compared, SummaryPair, of_runs, paired_metrics
from tailback.analysis.distances import SamplePair, distances
from tailback.analysis.divergence import (
    CONTEXT,
    EVENTS,
    JUDGED,
    TIME,
    Threshold,
    Traces,
    default_threshold,
    events_between,
    firsts,
    surroundings,
)
from tailback.analysis.effects import FOLDERS, Finding, Run, findings
from tailback.analysis.equivalence import undecided
from tailback.analysis.matrix import deviations
from tailback.analysis.metric import Summary
from tailback.analysis.metrics import Samples, by_reason, counted, counted_at_radios, drops_by_counters
from tailback.analysis.rows import by_configuration, records, with_axes
from tailback.analysis.table import Columns
from tailback.analysis.tolerances import NONE, Tolerance, judged, share_within
from tailback.analysis.wording import overall
from tailback.results import Pairing, RunPair, RunResult
from tailback.results.pairing import CANDIDATE, REFERENCE, Side
from tailback.results.sampled import over_time
from tailback.results.tables import frame

DIVERGENCES = ("configuration", "repetition", "flow", "column", "place", "t", "reference", "candidate")

EVENTS_SHOWN = 30
"""Maximum number of events per side at a divergence."""


OfEach = Mapping[int, Sequence[Mapping[str, Any]]]
"""Rows by configuration."""

SHOWN = (TIME, "flow", *JUDGED, *CONTEXT)
"""The columns of the samples around a divergence."""


@dataclass(frozen=True)
class Criteria:
    """The criteria of a comparison."""

    tolerances: Mapping[str, Tolerance] = field(default_factory=lambda: NONE)
    threshold: Threshold | None = None
    """Threshold above which samples differ; by default it depends on the sampling (`analysis.divergence`)."""
    metrics: Mapping[str, Compared] | None = field(default_factory=lambda: METRICS)
    """The numbers that are compared, by key; `None`: with all results in the table of the runs."""

    def of(self, summaries: Iterable[Summary]) -> Mapping[str, Compared]:
        """The numbers that are compared of these runs."""
        return of_runs(summaries) if self.metrics is None else self.metrics


@dataclass(frozen=True)
class Comparison:
    """The comparison of two results. `configuration` in a table is an index into `pairing.configurations`."""

    pairing: Pairing
    criteria: Criteria
    metrics: Mapping[str, Compared]
    """The numbers that are compared, by key."""
    judged: pd.DataFrame
    """A row per configuration and metric (`analysis.tolerances.judged`)."""
    distances: pd.DataFrame
    """A row per configuration and quantity (`analysis.distances`)."""
    divergences: pd.DataFrame
    """A row per pair of runs, flow and column that differs (`analysis.divergence`)."""
    alike: frozenset[int]
    """The configurations of which a side has one run repeated: all its repetitions have the same numbers. They count as
    one repetition, because equal runs say nothing about chance.
    """

    @functools.cached_property
    def rows(self) -> "Rows":
        """The rows of the tables, by configuration."""
        return Rows(*map(by_configuration, (self.judged, self.distances, self.divergences)))

    @functools.cached_property
    def deviations(self) -> pd.DataFrame:
        """The conformance matrix (`analysis.matrix`)."""
        return deviations(self.judged, self.pairing.configurations)

    @functools.cached_property
    def instant(self) -> frozenset[int]:
        """The configurations with a cell off and a link without a rate, over which a burst arrives at one instant. Each
        backend has an order of its own in it.
        """
        off = set(self.judged.loc[self.judged["outcome"] == "off", "configuration"])
        links = {place: self.pairing.of(place)[0].reference.scenario.links for place in off}
        return frozenset(place for place in off if any(link.is_instant for link in links[place]))

    @functools.cached_property
    def share_within(self) -> pd.DataFrame:
        """Numbers of cells within tolerance, by tolerance."""
        return share_within(self.judged, self.metrics)

    @property
    def differences(self) -> pd.DataFrame:
        """`judged`, with the axes as first columns."""
        return with_axes(self.judged, self.pairing.configurations)

    @property
    def off(self) -> int:
        """Number of cells out of tolerance."""
        return int((self.judged["outcome"] == "off").sum())

    @property
    def differ(self) -> bool:
        """Whether any metric differs in any repetition."""
        return bool((self.judged[["low", "high"]].fillna(0) != 0).any(axis=None))

    @property
    def undecided(self) -> set[int]:
        """The configurations with a cell that further repetitions could decide."""
        return undecided(self.judged) - self.alike

    @functools.cached_property
    def findings(self) -> list[Finding]:
        """What changes from the reference to the candidate, by the rules of `tailback run`."""
        (axis, (there, here)), *more = self.pairing.apart.items() or [(FOLDERS, ("", ""))]
        if more or not there or not here:
            names = self.names()
            axis, there, here = FOLDERS, names[REFERENCE], names[CANDIDATE]
        runs = [
            Run({**self.pairing.configurations[each.configuration], axis: name}, each.repetition, summary)
            for each in self.pairing.pairs
            if each.configuration not in self.alike
            for name, summary in zip((there, here), _counted_alike(each), strict=True)
        ]
        return findings(sorted(runs, key=lambda run: run.axes[axis] != there), of=(axis,))

    @property
    def overall(self) -> str:
        """How many numbers differ, as one sentence."""
        return overall(records(self.judged))

    def names(self) -> dict[Side, str]:
        """Names of the two sides: their backends, their folders if the backends are the same, or the values that tell
        them apart if the folder is the same.
        """
        sides = {REFERENCE: self.pairing.reference, CANDIDATE: self.pairing.candidate}
        backends = {side: ", ".join(dict.fromkeys(run.backend for run in found.runs)) for side, found in sides.items()}
        if backends[REFERENCE] != backends[CANDIDATE]:
            return backends
        if self.pairing.apart and sides[REFERENCE].path == sides[CANDIDATE].path:
            there, here = (", ".join(values) for values in zip(*self.pairing.apart.values(), strict=True))
            return {REFERENCE: there, CANDIDATE: here}
        return {side: str(found.path) for side, found in sides.items()}


class Rows(Struct, frozen=True):
    """The rows of the tables of a comparison, by configuration; one without rows is absent."""

    judged: OfEach
    distances: OfEach
    divergences: OfEach


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
    sampled = [_sampled(pair, criteria) for pair in pairing.pairs if _has_samples(pair)]
    alike = _alike(pairs)
    metrics = criteria.of(summary for each in pairs for summary in (each.reference, each.candidate))
    return Comparison(
        pairing,
        criteria,
        metrics,
        judged=judged(paired_metrics(_once(pairs, alike), metrics), criteria.tolerances, metrics),
        distances=distances(_pooled(sampled)),
        divergences=pd.DataFrame([row for each in sampled for row in each.divergences], columns=list(DIVERGENCES)),
        alike=alike,
    )


def _alike(pairs: Sequence[SummaryPair]) -> frozenset[int]:
    """The configurations of which a side has several repetitions, all with the same numbers."""
    sides: dict[tuple[int, Side], list[Summary]] = {}
    for each in pairs:
        sides.setdefault((each.configuration, REFERENCE), []).append(_numbers(each.reference))
        sides.setdefault((each.configuration, CANDIDATE), []).append(_numbers(each.candidate))
    return frozenset(
        place for (place, _), runs in sides.items() if len(runs) > 1 and all(run == runs[0] for run in runs)
    )


def _numbers(summary: Summary) -> Summary:
    """A summary without what the run cost, which is never the same twice, and without words about the run."""
    return {name: value for name, value in summary.items() if name not in ("cost", "warnings")}


def _once(pairs: Sequence[SummaryPair], alike: frozenset[int]) -> Iterator[SummaryPair]:
    """The first pair of a configuration whose repetitions are alike, and all pairs of the others."""
    seen: set[int] = set()
    for each in pairs:
        if each.configuration not in seen or each.configuration not in alike:
            yield each
        seen.add(each.configuration)


class _Sampled(Struct, frozen=True):
    """What a comparison needs of the samples of the sockets of two runs."""

    configuration: int
    samples: Mapping[str, tuple[Samples, Samples]]
    """RTT and cwnd in the window, of all flows."""
    divergences: Sequence[tuple[Any, ...]]
    """Rows of `DIVERGENCES`."""


def _sampled(pair: RunPair, criteria: Criteria) -> _Sampled:
    """Reads the samples of a pair. No table is kept, because a comparison may have thousands of pairs."""
    found = _traces(pair, None if _at_each_ack(pair) else (TIME, "flow", "rtt", *JUDGED))
    windows = [Window(*run.window_ns) for run in _runs(pair)]
    tables = map(_over_time, _runs(pair), (found.reference, found.candidate))
    reference, candidate = ((tcp_rtt_samples(*side), _cwnd(*side)) for side in zip(tables, windows, strict=True))
    rows = firsts(found, criteria.threshold or default_threshold(found.sampling))
    return _Sampled(
        pair.configuration,
        {"tcp_rtt_ms": (reference[0], candidate[0]), "cwnd_segments": (reference[1], candidate[1])},
        [(pair.configuration, pair.repetition, *row) for row in rows],
    )


def _over_time(run: RunResult, traced: Columns) -> Columns:
    """The samples at the ends of intervals: distributions are over time, whatever else was sampled at ACKs."""
    return over_time(run) if run.scenario.record.tcp_info == "ack" else traced


def _cwnd(tcp_info: Columns, window: Window) -> Samples:
    return np.concatenate([np.empty(0), *cwnd_samples(tcp_info, window).values()])


def _pooled(sampled: Sequence[_Sampled]) -> Iterator[SamplePair]:
    """RTT and cwnd of all flows and repetitions of each configuration."""
    by_configuration: dict[int, list[_Sampled]] = {}
    for each in sampled:
        by_configuration.setdefault(each.configuration, []).append(each)
    for configuration, group in sorted(by_configuration.items()):
        for quantity, unit in (("tcp_rtt_ms", "ms"), ("cwnd_segments", "segments")):
            sides = zip(*(each.samples[quantity] for each in group), strict=True)
            yield SamplePair(configuration, quantity, unit, *map(np.concatenate, sides))


def _counted_alike(pair: RunPair) -> tuple[Summary, Summary]:
    """The summaries of both runs. If a side has no `events` (a kernel does not report single drops), drops and marks of
    both sides are those that a kernel counts.
    """
    sides = _runs(pair)
    if all(run.has("events") for run in sides) or not all(run.has("qdisc") for run in sides):
        return pair.reference.summary, pair.candidate.summary
    return summary_by_counters(pair.reference), summary_by_counters(pair.candidate)


def summary_by_counters(run: RunResult) -> dict[str, Any]:
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


def _at_radios(run: RunResult, what: str, window: Window) -> dict[str, dict[str, int]]:
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
    rows = comparison.rows.divergences.get(configuration, ())
    found = [row for row in rows if row["repetition"] == pair.repetition]
    if not found:
        return None
    first = min(found, key=lambda row: float(row["t"]))
    flow, place = str(first["flow"]), int(first["place"])
    near = surroundings(_traces(pair, None if _at_each_ack(pair) else SHOWN), flow, place)
    sides = {REFERENCE: pair.reference, CANDIDATE: pair.candidate}
    return Divergence(
        pair,
        flow,
        str(first["column"]),
        place,
        float(first["t"]),
        near.between,
        near.rows,
        events={side: _events(run, flow, near.between) for side, run in sides.items()},
    )


def _runs(pair: RunPair) -> tuple[RunResult, RunResult]:
    return pair.reference, pair.candidate


def _has_samples(pair: RunPair) -> bool:
    return all(run.has("tcp_info") for run in _runs(pair))


def _traces(pair: RunPair, columns: Sequence[str] | None = None) -> Traces:
    """The traces of both runs: these columns, or frames with all of them."""
    reference, candidate = (
        run.tcp_info if columns is None else run.columns("tcp_info", columns) for run in _runs(pair)
    )
    interval_ns = max(run.scenario.record.interval_ns for run in _runs(pair))
    return Traces(reference, candidate, "ack" if _at_each_ack(pair) else "interval", interval_ns)


def _at_each_ack(pair: RunPair) -> bool:
    return all(run.scenario.record.tcp_info == "ack" for run in _runs(pair))


def _events(run: RunResult, flow: str, between: tuple[float, float]) -> pd.DataFrame:
    if not run.has("events"):
        return pd.DataFrame()
    return events_between(frame(run.columns("events", EVENTS)), flow, between).head(EVENTS_SHOWN)
