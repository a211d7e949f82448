"""Executes one run: the backend produces the tables, from which the summary is computed."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from tailback.analysis import Measure, Window, cautions, summarise
from tailback.analysis.media import Stream
from tailback.analysis.responsiveness import Probes
from tailback.analysis.watching import Playback
from tailback.analysis.window import NANOSECONDS
from tailback.backends import KERNEL_WARNINGS, Backend, Progress, backend_for
from tailback.resolved import (
    Flow,
    Paths,
    Request,
    Scenario,
    Udp,
    Video,
    capacity_bps,
    changes,
    competing,
    lasting,
    mean_rate,
)
from tailback.results import RunPlan, tables
from tailback.results.provenance import utc_now
from tailback.results.store import Finished
from tailback.scenario import traffic
from tailback.sweep import programs


class SweepEnded(Exception):
    """An error that ends the whole sweep, because all other runs would fail, too."""


class Worker(Protocol):
    """Executes runs. `finish` is called from several threads at once."""

    def new_progress(self, run: RunPlan) -> Progress:
        """A progress object for one call of `finish`."""

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Executes `run`; raises `RunFailed`, `RunInvalid` or `RunCancelled` for this run, or `SweepEnded` for all."""


class LocalExecutor(Struct, frozen=True):
    """Executes runs in the calling thread."""

    backend: Backend

    def new_progress(self, run: RunPlan) -> Progress:
        """The progress object of the backend."""
        return backend_for(self.backend, run.scenario).new_progress()

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Executes `run`; raises `RunFailed`, `RunInvalid` or `RunCancelled` for this run, or `SweepEnded` for all."""
        return finish(backend_for(self.backend, run.scenario), run.scenario, measure_of(run), progress)


def finish(backend: Backend, scenario: Scenario, measure: Measure, progress: Progress) -> Finished:
    """Executes a scenario and summarises it; raises the exceptions of `Backend.run`."""
    started, clock = utc_now(), time.monotonic()
    result = backend.run(scenario, progress)
    measure = programs.with_connections(measure, result.notes)
    summary = with_notes(summarise(result.tables, result.cost, measure), result.notes)
    duration = time.monotonic() - clock
    in_order = dict(sorted(result.tables.items()))
    return Finished(
        in_order, summary, result.cost, started, duration, result.captures, result.notes, result.qdiscs, result.files
    )


def summary_of_tables(run: RunPlan, folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a complete run from the tables in its folder; raises `RunDamaged` if they are no such tables."""
    found = {name: tables.of_run(folder, name) for name in manifest["tables"]}
    return with_notes(
        summarise(found, manifest["cost"], programs.with_connections(measure_of(run), manifest)), manifest
    )


def with_notes(summary: dict[str, Any], notes: Mapping[str, Any]) -> dict[str, Any]:
    """The summary with the warnings that follow from what a backend notes of a run, before those of the analysis."""
    of_programs = programs.summary_of(notes)
    summary = {**summary, "programs": of_programs} if of_programs else summary
    said = notes.get(KERNEL_WARNINGS)
    told = cautions.of_kernel([str(each) for each in said] if isinstance(said, list) else [])
    return {**summary, "warnings": [*told, *summary.get("warnings", ())]} if told else summary


def warned(summary: Mapping[str, Any], about_file: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of a run with the warnings about the file before those about the run."""
    about_run = [each for each in summary.get("warnings", ()) if "key" not in each]
    warnings = [*map(dict, about_file), *about_run]
    rest = {name: value for name, value in summary.items() if name != "warnings"}
    return {**rest, "warnings": warnings} if warnings else rest


def measure_of(run: RunPlan) -> Measure:
    """The input of the summary of `run`."""
    scenario = run.scenario
    names = scenario.host_names
    tcp = tuple(flow.name for flow in scenario.tcp)
    of_tcp = frozenset(tcp)
    data = (flow.name for flow in scenario.flows if traffic.of(flow.kind).carries == "data")
    return Measure(
        window=Window(*run.window_ns),
        bin_ns=scenario.record.interval_ns,
        tcp_flows=tcp,
        other_flows=tuple(name for name in data if name not in of_tcp),
        directions=run.directions,
        competing=competing(scenario, run.window_ns),
        sized_flows=tuple(flow.name for flow in scenario.tcp if flow.bytes is not None),
        sizes_bytes={flow.name: flow.bytes for flow in scenario.tcp if flow.bytes is not None},
        writes={flow.name: flow.writes for flow in scenario.tcp if flow.writes is not None},
        streams={flow.name: stream for flow in scenario.flows if (stream := _stream(flow)) is not None},
        least_s=_least_s(scenario),
        probes=_probes(scenario),
        videos={flow.name: _playback(flow) for flow in scenario.flows if isinstance(flow, Video)},
        rates_bps=_rates(run),
        tcp_info=scenario.record.tcp_info,
        radios=tuple((names[access_point], names[station]) for access_point, station in scenario.radios),
        changes=changes(scenario, run.window_ns),
        lasting=lasting(scenario, run.window_ns),
        capacity_bps=capacity_bps(scenario, run.window_ns),
    )


def _least_s(scenario: Scenario) -> dict[str, float]:
    """The shortest completion time of each flow with `bytes`, if its path is wired."""
    paths, found = Paths(scenario), {}
    for flow in scenario.tcp:
        path = None if flow.bytes is None else paths.between(flow.source, flow.target)
        if path is not None and flow.bytes is not None:
            found[flow.name] = path.least_ns(flow.bytes) / NANOSECONDS
    return found


def _probes(scenario: Scenario) -> Probes | None:
    """The connections that ask once, and when the first flow of bulk data begins."""
    began = {flow.name: flow.start_ns for flow in scenario.flows if isinstance(flow, Request) and flow.count == 1}
    load_ns = min((flow.start_ns for flow in scenario.tcp), default=None)
    return Probes(began, load_ns) if began else None


def _playback(flow: Video) -> Playback:
    return Playback(flow.start_ns, flow.segment_ns, flow.startup_ns, max(flow.ladder_bps))


def _stream(flow: Flow) -> Stream | None:
    """The direction of a call or a game that a flow is; `None` for other flows."""
    if not isinstance(flow, Udp) or flow.media is None:
        return None
    return Stream(flow.media.codec, flow.media.buffer_ns, flow.gap_ns, flow.start_ns, flow.stop_ns)


def _rates(run: RunPlan) -> dict[str, float]:
    """The mean rate over the window in bit/s, of each device that has one."""
    found = {device.name: mean_rate(device, *run.window_ns) for device in run.scenario.devices}
    return {name: rate for name, rate in found.items() if rate}
