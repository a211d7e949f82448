"""Executes runs in parallel in a pool of threads; backends release the GIL or use other machines.

Each run uses one thread, so that results do not depend on the number of parallel runs. If a run fails, the failure is
recorded and the others continue. An error of the disk ends the sweep, because all other runs would fail, too.

With `repeat: until`, repetitions are executed in rounds: the number of further repetitions of a configuration depends
only on its own results, so it does not depend on the number of parallel runs, either.
"""

import concurrent.futures
import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis import Stopping
from tailback.backends import Backend, Progress, RunCancelled, RunFailed, RunInvalid
from tailback.results import ExperimentPlan, ReusableRuns, RunDamaged, RunPlan, Store
from tailback.results.provenance import analysis_digest
from tailback.results.store import Finished, Status
from tailback.sweep.work import LocalExecutor, SweepEnded, Worker, summary_of_tables, warned

OUT_OF_MEMORY = "the recorded data do not fit into memory\n  hint: run fewer at a time: --jobs 1, or record less"

REFRESH_S = 0.1
"""Interval of updates of the progress."""


class Outcome(Struct, frozen=True):
    """How one run ended."""

    run: RunPlan
    status: Status
    folder: Path | None
    summary: Mapping[str, Any] | None = None
    error: str | None = None
    reused: bool = False
    analysed_again: bool = False
    """Whether the summary of a reused run was of another version of the analysis and has been made again."""
    seconds: float | None = None
    """What the run took, when it ran."""


class Watch(Protocol):
    """An observer, called in the thread of `run_all`."""

    def update(self, done: int, total: int, fraction: float) -> None:
        """Called when `done` of `total` runs have ended; `fraction` includes the progress of running ones."""


@runtime_checkable
class Audience(Watch, Protocol):
    """An observer that is also notified of the end of each run."""

    def begun(self, runs: Sequence[RunPlan]) -> None:
        """Called with all possible runs."""

    def ended(self, outcome: Outcome) -> None:
        """Called when a run has ended, or was complete before."""


@runtime_checkable
class Listener(Audience, Protocol):
    """An observer that is also told what a backend says of a run while it goes on."""

    def said(self, run: str, notice: str) -> None:
        """Called with the name of a run and what is to be known of it."""


@runtime_checkable
class Telling(Progress, Protocol):
    """The progress of a run whose backend may have something to say meanwhile."""

    def take_notices(self) -> Sequence[str]:
        """What it has said since the last call."""


class Silent(Audience):
    """An observer that does nothing."""

    def begun(self, runs: Sequence[RunPlan]) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        pass

    def update(self, done: int, total: int, fraction: float) -> None:
        pass


def _nothing(run: RunPlan) -> Sequence[Mapping[str, Any]]:
    del run
    return ()


class Keeper(Protocol):
    """Where the runs of a sweep go: a results folder, or memory."""

    @property
    def plan(self) -> ExperimentPlan:
        """All runs."""

    def write(self, run: RunPlan, finished: Finished) -> Path | None:
        """Keeps a finished run; returns its folder, if it has one."""

    def write_failure(self, run: RunPlan, status: Status, error: str, trace: str | None = None) -> None:
        """Notes that a run failed."""


class Sweep(Struct, frozen=True):
    """How a plan is executed: where its runs go, backend, number of parallel runs."""

    store: Keeper
    backend: Backend
    jobs: int
    stopping: Stopping | None = None
    """The rule that ends repetitions; without it, all repetitions of the plan are executed."""
    reusable: ReusableRuns | None = None
    """Complete runs of other folders to reuse."""
    about_file: Callable[[RunPlan], Sequence[Mapping[str, Any]]] = _nothing
    """The warnings about the file that are to stand in the summary of a run."""
    elsewhere: Worker | None = None
    """The worker that executes runs; by default this process."""

    @property
    def worker(self) -> Worker:
        """The worker that executes runs."""
        return self.elsewhere or LocalExecutor(self.backend)


def run_all(sweep: Sweep, watch: Watch) -> list[Outcome]:
    """Executes the missing runs of the plan; returns the outcomes in the order of the plan, including reused runs,
    without repetitions that were not needed.

    On an error of the disk or a KeyboardInterrupt, running runs are cancelled, complete ones are kept, and the error is
    raised.
    """
    found: dict[str, Outcome] = {}
    audience: Audience = watch if isinstance(watch, Audience) else _WithoutEvents(watch)
    audience.begun(sweep.store.plan.runs)
    with _pool(sweep.jobs) as (pool, under_way):
        while wanted := _runs_of_next_round(sweep, found):
            found |= {run.name: outcome for run in wanted if (outcome := _reuse(sweep, run)) is not None}
            missing = [run for run in wanted if run.name not in found]
            for run in wanted:
                if run.name in found:
                    audience.ended(found[run.name])
            later = _Later(audience, len(found))
            later.update(0, len(missing), 0.0)
            futures = {pool.submit(_run_one, sweep, run, under_way): run for run in missing}
            _wait(list(futures), under_way, later)
            found |= {run.name: future.result() for future, run in futures.items()}
    return [found[run.name] for run in sweep.store.plan.runs if run.name in found]


def _runs_of_next_round(sweep: Sweep, found: Mapping[str, Outcome]) -> list[RunPlan]:
    """The runs of the next round."""
    if sweep.stopping is None:
        return [run for run in sweep.store.plan.runs if run.name not in found]
    configurations: dict[tuple[tuple[str, str], ...], list[RunPlan]] = {}
    for run in sweep.store.plan.runs:
        configurations.setdefault(tuple(run.axes.items()), []).append(run)
    return [run for runs in configurations.values() for run in _more(runs, found, sweep.stopping)]


def _more(runs: Sequence[RunPlan], found: Mapping[str, Outcome], stopping: Stopping) -> Sequence[RunPlan]:
    """The further repetitions that one configuration needs; none if one of them has failed."""
    outcomes = [found[run.name] for run in runs if run.name in found]
    summaries = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    if len(summaries) < len(outcomes):
        return []
    return runs[len(outcomes) : stopping.next_count(summaries)]


class _WithoutEvents(Struct, frozen=True):
    """Adapts a `Watch` to an `Audience`."""

    watch: Watch

    def begun(self, runs: Sequence[RunPlan]) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        pass

    def update(self, done: int, total: int, fraction: float) -> None:
        self.watch.update(done, total, fraction)


class _Later(Struct, frozen=True):
    """Reports the progress of a round to the audience; `before` runs have ended before, or were complete."""

    audience: Audience
    before: int

    def update(self, done: int, total: int, fraction: float) -> None:
        whole = self.before + total
        self.audience.update(self.before + done, whole, (self.before + fraction * total) / whole if whole else 1.0)


class _UnderWay:
    """The progress of the running runs; shared by the threads of the pool."""

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

    def notices(self) -> list[tuple[str, str]]:
        """What the backend has said since the last call, with the names of the runs."""
        with self._lock:
            telling = [(name, each) for name, each in self._running.items() if isinstance(each, Telling)]
        return [(name, notice) for name, each in telling for notice in each.take_notices()]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for progress in self._running.values():
                progress.cancel()


_Pool = tuple[concurrent.futures.ThreadPoolExecutor, _UnderWay]


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[_Pool]:
    """A pool whose runs are cancelled if the block raises an exception."""
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
    """Waits until all runs have ended or one has raised an exception."""
    total = len(futures)
    pending, place = set(futures), {future: place for place, future in enumerate(futures)}
    while pending:
        ended, pending = concurrent.futures.wait(
            pending, timeout=REFRESH_S, return_when=concurrent.futures.FIRST_EXCEPTION
        )
        # Of those that ended since the last look the order is that in which they began.
        for future in sorted(ended, key=place.__getitem__):
            watch.audience.ended(future.result())
        done = total - len(pending)
        for name, notice in under_way.notices():
            if isinstance(watch.audience, Listener):
                watch.audience.said(name, notice)
        watch.update(done, total, (done + under_way.fractions()) / total)


def _reuse(sweep: Sweep, run: RunPlan) -> Outcome | None:
    """The outcome of a run that is complete in this folder or can be copied from another one; else None."""
    store = sweep.store
    if not isinstance(store, Store):
        return None
    found = store.complete(run)
    source = sweep.reusable.find(run, store.plan.backend) if found is None and sweep.reusable is not None else None
    if source is not None:
        found = store.take_over(run, source)
    if found is None:
        return None
    folder, seconds = store.folder(run), found.manifest.get("duration_s")
    if found.manifest.get("analysis") == analysis_digest():
        summary = dict(found.summary)
        if source is not None:
            # The other experiment may have been another file.
            summary = warned(summary, sweep.about_file(run))
            if summary != found.summary:
                store.replace_summary(run, found.manifest, summary)
        return Outcome(run, "ok", folder, summary, reused=True, seconds=seconds)
    try:
        summary = warned(summary_of_tables(run, folder, found.manifest), sweep.about_file(run))
    except RunDamaged as damaged:
        store.damaged[run.name] = damaged.what
        return None
    store.replace_summary(run, found.manifest, summary)
    return Outcome(run, "ok", folder, summary, reused=True, analysed_again=True, seconds=seconds)


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
        except Exception as defect:  # a defect of Tailback; the other runs continue
            return _noted(sweep.store, run, "failed", _defect_text(defect), "".join(traceback.format_exception(defect)))
        finished = replace(finished, summary=warned(finished.summary, sweep.about_file(run)))
        folder = sweep.store.write(run, finished)
        return Outcome(run, "ok", folder, finished.summary, seconds=finished.duration_s)


def _noted(store: Keeper, run: RunPlan, status: Status, error: str, trace: str | None = None) -> Outcome:
    store.write_failure(run, status, error, trace)
    return Outcome(run, status, None, error=error)


def _defect_text(defect: Exception) -> str:
    hint = "this is a defect of Tailback: please report it with the file in `failures`"
    return f"{type(defect).__name__}: {defect}\n  hint: {hint}"
