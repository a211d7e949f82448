"""What is done with one run wherever it is done: the backend makes its tables, the summary is taken over them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from tailback.analysis import Measure, Window, summarise
from tailback.backends import Backend, Progress, RunResult, backend_for
from tailback.results import RunPlan
from tailback.results.provenance import utc_now
from tailback.results.store import Finished
from tailback.results.tables import plain_text


class SweepEnded(Exception):
    """What ends a whole sweep and not one run: the others would end alike."""


class Worker(Protocol):
    """Who does runs. `finish` is called from several threads at once."""

    def new_progress(self, run: RunPlan) -> Progress:
        """A progress object for one call of `finish`."""

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Does `run`; raises `RunFailed`, `RunInvalid`, `RunCancelled` for it, or `SweepEnded` for all."""


@dataclass(frozen=True)
class Here:
    """Does runs in the thread it is called from."""

    backend: Backend

    def new_progress(self, run: RunPlan) -> Progress:
        """That of the backend."""
        return backend_for(self.backend, run.scenario).new_progress()

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Has the backend do `run`."""
        return finish(backend_for(self.backend, run.scenario), run.scenario, measure_of(run), progress)


def finish(backend: Backend, scenario: Mapping[str, Any], measure: Measure, progress: Progress) -> Finished:
    """Tables and summary of one run."""
    started, clock = utc_now(), time.monotonic()
    result = backend.run(scenario, progress)
    frames = {name: plain_text(table.to_pandas()) for name, table in result.tables.items()}
    summary = summarise(frames, result.cost, measure)
    duration = time.monotonic() - clock
    return Finished(
        _sorted(result), summary, result.cost, started, duration, result.captures, result.notes, result.qdiscs
    )


def measure_of(run: RunPlan) -> Measure:
    """What the summary of `run` is taken over."""
    traffic = run.scenario["traffic"]
    return Measure(
        window=Window(*run.window_ns),
        bin_ns=run.scenario["record"]["interval_ns"],
        tcp_flows=tuple(flow["name"] for flow in traffic if flow["kind"] == "tcp"),
        other_flows=tuple(flow["name"] for flow in traffic if flow["kind"] not in ("tcp", "ping")),
        directions=run.directions,
        sized_flows=tuple(flow["name"] for flow in traffic if flow.get("bytes") is not None),
        rates_bps=_rates(run.scenario),
        radios=_radios(run.scenario),
    )


def _radios(scenario: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Each station of a cell, with its access point before it."""
    hosts = [host["name"] for host in scenario.get("hosts", ())]
    return tuple(
        (hosts[cell["access_point"]], hosts[station["host"]])
        for cell in scenario.get("cells", ())
        for station in cell["stations"]
    )


def _rates(scenario: Mapping[str, Any]) -> dict[str, int]:
    """The rate of each device that has one: of its shaper, else of its link."""
    hosts = [host["name"] for host in scenario.get("hosts", ())]
    shaped = {(entry["host"], entry["link"]): entry["root"]["options"] for entry in scenario.get("qdiscs", ())}
    found = {}
    for number, link in enumerate(scenario.get("links", ())):
        rates = link["rate_bps"] if isinstance(link["rate_bps"], list) else [link["rate_bps"]] * 2
        for (here, there), own in zip((link["ends"], link["ends"][::-1]), rates, strict=True):
            rate = shaped.get((here, number), {}).get("rate") or own
            if rate:
                found[f"{hosts[here]} -> {hosts[there]}"] = int(rate)
    return found


def _sorted(result: RunResult) -> Mapping[str, pa.Table]:
    return dict(sorted(result.tables.items()))
