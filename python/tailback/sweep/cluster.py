"""Runs on a Dask cluster: each run is one task, whose result is written here, as for a local run.

The scheduler gives the run of a worker that is lost to another one; after `distributed.scheduler.allowed-failures`
such losses (3 unless configured) the run is taken for what kills workers, and recorded as failed. A worker must have
the same build of Tailback and the same engine as this machine: that is asked of all workers at first, and by each task
again, for workers may join later. Then a run is the same bytes wherever it is done: tables come back as Arrow and are
written as Parquet here.
"""

import asyncio
import concurrent.futures
import contextlib
import platform
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailback.analysis import Measure
from tailback.backends import Backend, Progress, RunCancelled, RunFailed, backend_for, open_backend
from tailback.resolved import Scenario, to_json
from tailback.results import RunPlan, digest
from tailback.results.provenance import package_digest
from tailback.results.store import Finished
from tailback.sweep.work import SweepEnded, finish, measure_of

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_S = 30
"""How long a scheduler may take to answer."""

WORKER_S = 60
"""How long its first worker may take to come."""

LOOK_S = 5
"""Between two looks whether the scheduler is still there."""

IN_FLIGHT = 256
"""Runs handed to a cluster at a time unless `--jobs` says otherwise: more than it has threads, so that none waits."""

SHOWN = 12
"""Digits of a digest in a message."""


class ClusterUnfit(SweepEnded):
    """The cluster cannot be reached, has no workers, or its workers have another build; the message says what to do."""


@dataclass(frozen=True)
class Build:
    """What must be the same at both ends."""

    package: str
    """Digest of the Python package: its analysis makes the summaries."""
    engine: str
    """`fingerprint` of the backend."""


@dataclass(frozen=True)
class Task:
    """One run as it travels to a worker."""

    backend: str
    scenario: Scenario
    measure: Measure
    build: Build


class _Waiting:
    """The progress of a run elsewhere: how far it is is not known, only whether it has ended."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.cancelled = False
        self.over = threading.Event()

    def cancel(self) -> None:
        self.cancelled = True
        self.over.set()


@dataclass(frozen=True)
class Elsewhere:
    """Does runs on the cluster of a client."""

    client: "Client"
    words: str
    """The backend as after `--backend`."""
    backend: Backend

    def new_progress(self, run: RunPlan) -> Progress:
        """One that knows only the end."""
        del run
        return _Waiting()

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Hands `run` to the scheduler and waits."""
        if not isinstance(progress, _Waiting):
            raise TypeError("a cluster needs a progress object from its own `new_progress()`")
        task = Task(self.words, run.scenario, measure_of(run), Build(package_digest(), run.fingerprint))
        # The key is what it is made of: the scheduler does the same task of two clients once.
        key = "tailback-" + digest(
            [task.backend, to_json(run.scenario), run.measure, task.build.package, task.build.engine]
        )
        future = self.client.submit(run_task, task, key=key)
        future.add_done_callback(lambda _: progress.over.set())
        while not progress.over.wait(LOOK_S) and self.client.status == "running":
            pass
        try:
            return _result(future, progress)
        finally:
            future.release()


@contextlib.contextmanager
def connected(address: str, words: str, backend: Backend) -> Iterator[Elsewhere]:
    """The cluster at `address`, after all its workers have reported their builds; raises `ClusterUnfit`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterUnfit("dask.distributed is not installed\n  hint: pip install 'tailback[cluster]'") from error
    try:
        client = Client(address, timeout=ANSWER_S, set_as_default=False, name="tailback")
    except (OSError, ValueError, TimeoutError) as error:
        hint = "start one with `dask scheduler`, and give the address it prints"
        raise ClusterUnfit(f"no scheduler answers at `{address}`: {error}\n  hint: {hint}") from error
    with client:
        _agree(client, address, words, Build(package_digest(), backend.fingerprint))
        yield Elsewhere(client, words, backend)


def run_task(task: Task) -> Finished:
    """The task of a worker."""
    backend = backend_for(open_backend(task.backend), task.scenario)
    _compare(task.build, Build(package_digest(), backend.fingerprint), platform.node())
    return finish(backend, task.scenario, task.measure, backend.new_progress())


def build_of(words: str) -> Build:
    """The build of a worker."""
    return Build(package_digest(), open_backend(words).fingerprint)


def _agree(client: "Client", address: str, words: str, here: Build) -> None:
    """Asks all workers what they are."""
    try:
        client.wait_for_workers(1, timeout=WORKER_S)
        found: Mapping[str, Build] = client.run(build_of, words)
    except TimeoutError as error:
        hint = f"start some with `dask worker {address}`"
        raise ClusterUnfit(f"the scheduler `{address}` has no workers\n  hint: {hint}") from error
    except Exception as error:  # whatever a worker raised when it was asked
        hint = "install the same build of Tailback on it, and what its backend needs"
        raise ClusterUnfit(f"a worker of `{address}` cannot do runs of `{words}`: {error}\n  hint: {hint}") from error
    for worker, there in found.items():
        _compare(here, there, worker)


def _compare(here: Build, there: Build, worker: str) -> None:
    """Raises `ClusterUnfit` if a worker is of another build."""
    if here == there:
        return
    part = "engine" if here.engine != there.engine else "package"
    ours, theirs = (getattr(build, part)[:SHOWN] for build in (here, there))
    hint = "install the same build on both: a wheel, or the same sources"
    raise ClusterUnfit(
        f"the worker {worker} has another {part} of Tailback, {theirs}, and this machine {ours}\n  hint: {hint}"
    )


def _result(future: "Future[Finished]", progress: _Waiting) -> Finished:
    """What came of a task; raises as `Worker.finish` says."""
    from distributed import KilledWorker

    if progress.cancelled:
        future.cancel()
        raise RunCancelled("cancelled")
    if not future.done():
        raise _scheduler_lost()
    try:
        return future.result()
    except KilledWorker as lost:
        hint = "look at the memory limit of the workers and at their logs"
        raise RunFailed(f"{lost.last_worker.address} was lost, and other workers before it\n  hint: {hint}") from lost
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise _scheduler_lost() from error


def _scheduler_lost() -> ClusterUnfit:
    hint = "complete runs are kept; start it again, and the same command continues from there"
    return ClusterUnfit(f"the scheduler is lost\n  hint: {hint}")
