"""Runs side by side on this machine: a pool of threads, for a backend does its work outside Python.

Each run is one thread from start to end, so that results do not depend on how many run at once. A run that fails is
noted and the others go on. A disk that cannot be written ends the sweep: the others would fail alike.

Where repetitions go on until intervals are narrow, they are run in rounds: each configuration asks for more by what its
own repetitions have shown, so how many it gets does not depend on how many run at once either.
"""

import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from tailback.analysis import Measure, Stopping, Window, summarise
from tailback.backends import Backend, Progress, RunCancelled, RunFailed, RunInvalid, RunResult, backend_for
from tailback.results import RunPlan, Store
from tailback.results.provenance import utc_now
from tailback.results.store import Finished, Status
from tailback.results.tables import plain_text

REFRESH_S = 0.1
"""Between two looks at the progress of the runs."""


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    run: RunPlan
    status: Status
    folder: Path | None
    summary: Mapping[str, Any] | None = None
    error: str | None = None
    reused: bool = False


class Watch(Protocol):
    """Someone who looks on, called in the thread of `run_all`."""

    def update(self, done: int, total: int, fraction: float) -> None:
        """`done` of `total` runs have ended; `fraction` of the whole is done, runs under way included."""


@dataclass(frozen=True)
class Sweep:
    """What carries out a plan: where results go, what runs them, how many at once."""

    store: Store
    backend: Backend
    jobs: int
    stopping: Stopping | None = None
    """When a configuration has been repeated often enough; without it after all repetitions of the plan."""


def run_all(sweep: Sweep, watch: Watch) -> list[Outcome]:
    """Runs what is missing of the plan; the outcomes in the order of the plan, reused ones included, without the
    repetitions that were not needed.

    On an error of the disk or a KeyboardInterrupt the runs under way are cancelled, complete ones stay, and the
    error is raised.
    """
    found: dict[str, Outcome] = {}
    with _pool(sweep.jobs) as (pool, under_way):
        ended = 0
        while wanted := _wanted(sweep, found):
            found |= {run.name: outcome for run in wanted if (outcome := _reuse(sweep.store, run)) is not None}
            missing = [run for run in wanted if run.name not in found]
            futures = {pool.submit(_run_one, sweep, run, under_way): run for run in missing}
            _wait(list(futures), under_way, _Later(watch, ended))
            ended += len(missing)
            found |= {run.name: future.result() for future, run in futures.items()}
    return [found[run.name] for run in sweep.store.plan.runs if run.name in found]


def _wanted(sweep: Sweep, found: Mapping[str, Outcome]) -> list[RunPlan]:
    """The runs of the next round."""
    if sweep.stopping is None:
        return [run for run in sweep.store.plan.runs if run.name not in found]
    configurations: dict[tuple[tuple[str, str], ...], list[RunPlan]] = {}
    for run in sweep.store.plan.runs:
        configurations.setdefault(tuple(run.axes.items()), []).append(run)
    return [run for runs in configurations.values() for run in _more(runs, found, sweep.stopping)]


def _more(runs: Sequence[RunPlan], found: Mapping[str, Outcome], stopping: Stopping) -> Sequence[RunPlan]:
    """The repetitions that one configuration still needs. One that fails fails again: it is not gone on with."""
    outcomes = [found[run.name] for run in runs if run.name in found]
    summaries = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    if len(summaries) < len(outcomes):
        return []
    return runs[len(outcomes) : stopping.next_count(summaries)]


@dataclass(frozen=True)
class _Later:
    """A watch of a round that comes after `ended` runs."""

    watch: Watch
    ended: int

    def update(self, done: int, total: int, fraction: float) -> None:
        whole = self.ended + total
        self.watch.update(self.ended + done, whole, (self.ended + fraction * total) / whole)


class _UnderWay:
    """The progress of the runs that have started and not ended; shared by the threads of the pool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Progress] = {}
        self._stopped = False

    @contextlib.contextmanager
    def run(self, name: str, progress: Progress) -> Iterator[None]:
        with self._lock:
            if self._stopped:
                raise RunCancelled(name)
            self._running[name] = progress
        try:
            yield
        finally:
            with self._lock:
                del self._running[name]

    def fractions(self) -> float:
        with self._lock:
            return sum(progress.fraction for progress in self._running.values())

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for progress in self._running.values():
                progress.cancel()


_Pool = tuple[concurrent.futures.ThreadPoolExecutor, _UnderWay]


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[_Pool]:
    """A pool whose runs are cancelled when the block is left by an error."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs, thread_name_prefix="run")
    under_way = _UnderWay()
    try:
        yield pool, under_way
    except BaseException:
        under_way.stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _wait(futures: list[concurrent.futures.Future[Outcome]], under_way: _UnderWay, watch: Watch) -> None:
    """Until all have ended or one has raised."""
    total = len(futures)
    pending = set(futures)
    while pending:
        ended, pending = concurrent.futures.wait(
            pending, timeout=REFRESH_S, return_when=concurrent.futures.FIRST_EXCEPTION
        )
        for future in ended:
            future.result()
        done = total - len(pending)
        watch.update(done, total, (done + under_way.fractions()) / total)


def _reuse(store: Store, run: RunPlan) -> Outcome | None:
    summary = store.complete(run)
    return None if summary is None else Outcome(run, "ok", store.folder(run), summary, reused=True)


def _run_one(sweep: Sweep, run: RunPlan, under_way: _UnderWay) -> Outcome:
    backend = backend_for(sweep.backend, run.scenario)
    progress = backend.new_progress()
    with under_way.run(run.name, progress):
        try:
            finished = _finish(backend, run, progress)
        except RunFailed as failure:
            status: Status = "invalid" if isinstance(failure, RunInvalid) else "failed"
            sweep.store.write_failure(run, status, str(failure))
            return Outcome(run, status, None, error=str(failure))
        return Outcome(run, "ok", sweep.store.write(run, finished), finished.summary)


def _finish(backend: Backend, run: RunPlan, progress: Progress) -> Finished:
    started, clock = utc_now(), time.monotonic()
    result = backend.run(run.scenario, progress)
    frames = {name: plain_text(table.to_pandas()) for name, table in result.tables.items()}
    summary = summarise(frames, result.cost, measure_of(run))
    duration = time.monotonic() - clock
    return Finished(_sorted(result), summary, result.cost, started, duration, result.captures, result.qdiscs)


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
        for here, there in (link["ends"], link["ends"][::-1]):
            rate = shaped.get((here, number), {}).get("rate") or link["rate_bps"]
            if rate:
                found[f"{hosts[here]} -> {hosts[there]}"] = int(rate)
    return found


def _sorted(result: RunResult) -> Mapping[str, pa.Table]:
    return dict(sorted(result.tables.items()))
