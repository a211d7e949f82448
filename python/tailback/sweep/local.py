"""Parallel runs in a pool of threads, which suffices because a backend works outside Python or on another machine.

Each run is one thread from start to end, so that results do not depend on how many run at once. A run that fails is
noted and the others go on. A disk that cannot be written ends the sweep: the others would fail alike.

Where repetitions go on until intervals are narrow, they are run in rounds: each configuration asks for more by what its
own repetitions have shown, so how many it gets does not depend on how many run at once either.
"""

import concurrent.futures
import contextlib
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tailback.analysis import Stopping
from tailback.backends import Backend, Progress, RunCancelled, RunFailed, RunInvalid
from tailback.results import RunPlan, Shelf, Store
from tailback.results.store import Status
from tailback.sweep.work import Here, SweepEnded, Worker

OUT_OF_MEMORY = "the recorded data do not fit into memory\n  hint: run fewer at a time: --jobs 1, or record less"

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
    """An observer, called in the thread of `run_all`."""

    def update(self, done: int, total: int, fraction: float) -> None:
        """`done` of `total` runs have ended; `fraction` of the whole is done, runs under way included."""


@runtime_checkable
class Audience(Watch, Protocol):
    """An observer that is also told how each run ended."""

    def begun(self, runs: Sequence[RunPlan]) -> None:
        """These are all runs there may be."""

    def ended(self, outcome: Outcome) -> None:
        """A run has ended, or was there already."""


@dataclass(frozen=True)
class Sweep:
    """What carries out a plan: where results go, what runs them, how many at once."""

    store: Store
    backend: Backend
    jobs: int
    stopping: Stopping | None = None
    """When a configuration has been repeated often enough; without it after all repetitions of the plan."""
    shelf: Shelf | None = None
    """Complete runs of other folders, taken over instead of done again."""
    elsewhere: Worker | None = None
    """Who does the runs; without it this process."""

    @property
    def worker(self) -> Worker:
        """Who does the runs."""
        return self.elsewhere or Here(self.backend)


def run_all(sweep: Sweep, watch: Watch) -> list[Outcome]:
    """Runs what is missing of the plan; returns the outcomes in the order of the plan, including reused ones, without
    the repetitions that were not needed.

    On an error of the disk or a KeyboardInterrupt the runs under way are cancelled, complete ones stay, and the
    error is raised.
    """
    found: dict[str, Outcome] = {}
    audience: Audience = watch if isinstance(watch, Audience) else _Deaf(watch)
    audience.begun(sweep.store.plan.runs)
    with _pool(sweep.jobs) as (pool, under_way):
        ended = 0
        while wanted := _wanted(sweep, found):
            found |= {run.name: outcome for run in wanted if (outcome := _reuse(sweep, run)) is not None}
            missing = [run for run in wanted if run.name not in found]
            for run in wanted:
                if run.name in found:
                    audience.ended(found[run.name])
            futures = {pool.submit(_run_one, sweep, run, under_way): run for run in missing}
            _wait(list(futures), under_way, _Later(audience, ended))
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
class _Deaf:
    """An audience made of a watch."""

    watch: Watch

    def begun(self, runs: Sequence[RunPlan]) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        pass

    def update(self, done: int, total: int, fraction: float) -> None:
        self.watch.update(done, total, fraction)


@dataclass(frozen=True)
class _Later:
    """The audience of a round that comes after `before` runs."""

    audience: Audience
    before: int

    def update(self, done: int, total: int, fraction: float) -> None:
        whole = self.before + total
        self.audience.update(self.before + done, whole, (self.before + fraction * total) / whole)


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


def _wait(futures: list[concurrent.futures.Future[Outcome]], under_way: _UnderWay, watch: _Later) -> None:
    """Until all have ended or one has raised."""
    total = len(futures)
    pending = set(futures)
    while pending:
        ended, pending = concurrent.futures.wait(
            pending, timeout=REFRESH_S, return_when=concurrent.futures.FIRST_EXCEPTION
        )
        for future in ended:
            watch.audience.ended(future.result())
        done = total - len(pending)
        watch.update(done, total, (done + under_way.fractions()) / total)


def _reuse(sweep: Sweep, run: RunPlan) -> Outcome | None:
    """The run if it is there already, or lies in another folder from where it can be taken over."""
    store, summary = sweep.store, sweep.store.complete(run)
    there = sweep.shelf.find(run, store.plan.backend) if summary is None and sweep.shelf is not None else None
    if there is not None:
        summary = store.take_over(run, there)
    return None if summary is None else Outcome(run, "ok", store.folder(run), summary, reused=True)


def _run_one(sweep: Sweep, run: RunPlan, under_way: _UnderWay) -> Outcome:
    progress = sweep.worker.new_progress(run)
    with under_way.run(run.name, progress):
        try:
            finished = sweep.worker.finish(run, progress)
        except (RunCancelled, SweepEnded):
            raise
        except RunFailed as failure:
            status: Status = "invalid" if isinstance(failure, RunInvalid) else "failed"
            return _noted(sweep.store, run, status, str(failure))
        except MemoryError:
            return _noted(sweep.store, run, "failed", OUT_OF_MEMORY)
        except Exception as defect:  # of ours: it costs this run, not the others
            return _noted(sweep.store, run, "failed", _told(defect), "".join(traceback.format_exception(defect)))
        return Outcome(run, "ok", sweep.store.write(run, finished), finished.summary)


def _noted(store: Store, run: RunPlan, status: Status, error: str, trace: str | None = None) -> Outcome:
    store.write_failure(run, status, error, trace)
    return Outcome(run, status, None, error=error)


def _told(defect: Exception) -> str:
    hint = "this is a defect of Tailback: please report it with the note in `failures`"
    return f"{type(defect).__name__}: {defect}\n  hint: {hint}"
