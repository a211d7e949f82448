"""Runs on a Dask cluster: each run is one task, whose result is written here, as for a local run.

If a worker is lost, the scheduler assigns its run to another one. If it is lost between the end of its run and the
transfer of the result, Dask may wait for the result for ever; then the run is submitted again. After
`distributed.scheduler.allowed-failures` losses (default: 3) the run is recorded as failed. Workers must have the same
build of Tailback and of the backend as this machine, so that a run has the same bytes everywhere. All workers are
checked at the beginning, and each task checks again, because workers may join later. Tables come back as Arrow and
are written as Parquet here.
"""

import asyncio
import concurrent.futures
import contextlib
import platform
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tailback.analysis import Measure
from tailback.backends import Backend, Progress, RunCancelled, RunFailed, backend_for, fingerprint_of, open_backend
from tailback.resolved import Scenario, to_json
from tailback.results import RunPlan, digest
from tailback.results.provenance import package_digest
from tailback.results.store import Finished
from tailback.sweep.work import SweepEnded, finish, measure_of

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_S = 30
"""Time limit for the answer of a scheduler."""

WORKER_S = 60
"""Time limit for the first worker."""

LOOK_S = 5
"""Interval of checks whether the scheduler is still there."""

RESULT_S = 60
"""Time limit for the transfer of a result; then its run is submitted again."""

IN_FLIGHT = 256
"""Default number of runs submitted at a time; should exceed the number of threads of the cluster."""

SHOWN = 12
"""Digits of a digest in a message."""


class ClusterUnfit(SweepEnded):
    """The cluster cannot be reached, has no workers, or its workers have another build; the message says what to do."""


class Build(Struct, frozen=True):
    """The build of an installation, which must be the same everywhere."""

    package: str
    """Digest of the Python package, which computes the summaries."""
    engine: str
    """`fingerprint` of the backend."""


class Task(Struct, frozen=True):
    """One run for a worker."""

    backend: str
    scenario: Scenario
    measure: Measure
    build: Build


class _Waiting:
    """The progress of a run on a worker; only its end is known."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.cancelled = False
        self.over = threading.Event()

    def cancel(self) -> None:
        self.cancelled = True
        self.over.set()


class ClusterExecutor(Struct, frozen=True):
    """Executes runs on a cluster."""

    client: "Client"
    words: str
    """The name of the backend, as for `--backend`."""
    backend: Backend

    def new_progress(self, run: RunPlan) -> Progress:
        """A progress object for one call of `finish`."""
        del run
        return _Waiting()

    def finish(self, run: RunPlan, progress: Progress) -> Finished:
        """Submits `run` to the scheduler and waits for it."""
        if not isinstance(progress, _Waiting):
            raise TypeError("a cluster needs a progress object from its own `new_progress()`")
        task = Task(self.words, run.scenario, measure_of(run), Build(package_digest(), run.fingerprint))
        # The key depends on the content, so that the scheduler executes equal tasks of several clients once.
        key = "tailback-" + digest(
            [task.backend, to_json(run.scenario), run.measure, task.build.package, task.build.engine]
        )
        while True:
            future = self.client.submit(run_task, task, key=key)
            future.add_done_callback(lambda _: progress.over.set())
            while not progress.over.wait(LOOK_S):
                if self.client.status != "running":
                    raise _scheduler_lost()
            try:
                return _result(future, progress)
            except TimeoutError:
                progress.over.clear()
            finally:
                future.release()


class Place(Struct, frozen=True):
    """Where a scheduler is."""

    address: str
    security: Any = None
    """`distributed.Security`: the certificates of a `tls://` address; default: what the configuration of dask says."""


@contextlib.contextmanager
def connected(place: Place, words: str, backend: Backend) -> Iterator[ClusterExecutor]:
    """Connects to the cluster at `place` and checks the builds of its workers; raises `ClusterUnfit`."""
    address = place.address
    secured = {} if place.security is None else {"security": place.security}
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterUnfit("dask.distributed is not installed\n  hint: pip install 'tailback[cluster]'") from error
    try:
        client = Client(address, timeout=ANSWER_S, set_as_default=False, name="tailback", **secured)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        hint = "start one with `dask scheduler --host 127.0.0.1`, and give the address it prints (docs/cluster.md)"
        raise ClusterUnfit(f"no scheduler answers at `{address}`: {error}\n  hint: {hint}") from error
    with client:
        _agree(client, address, words, Build(package_digest(), backend.fingerprint))
        yield ClusterExecutor(client, words, backend)


def run_task(task: Task) -> Finished:
    """Executes a task; runs on a worker."""
    backend = backend_for(open_backend(task.backend), task.scenario)
    build = Build(package_digest(), fingerprint_of(backend, task.scenario))
    _compare(task.build, build, platform.node())
    return finish(backend, task.scenario, task.measure, backend.new_progress())


def build_of(words: str) -> Build:
    """The build of this installation; runs on a worker."""
    return Build(package_digest(), open_backend(words).fingerprint)


def _agree(client: "Client", address: str, words: str, here: Build) -> None:
    """Checks the builds of all workers; raises `ClusterUnfit`."""
    try:
        client.wait_for_workers(1, timeout=WORKER_S)
        found: Mapping[str, Build] = client.run(build_of, words)
    except TimeoutError as error:
        hint = f"start some with `dask worker {address}`"
        raise ClusterUnfit(f"the scheduler `{address}` has no workers\n  hint: {hint}") from error
    except Exception as error:  # any exception of a worker
        hint = "install the same build of Tailback on it, and what its backend needs"
        raise ClusterUnfit(f"a worker of `{address}` cannot do runs of `{words}`: {error}\n  hint: {hint}") from error
    for worker, there in found.items():
        _compare(here, there, worker)


def _compare(here: Build, there: Build, worker: str) -> None:
    """Raises `ClusterUnfit` if a worker has another build."""
    if here == there:
        return
    part = "engine" if here.engine != there.engine else "package"
    ours, theirs = (getattr(build, part)[:SHOWN] for build in (here, there))
    hint = "install the same build on both: a wheel, or the same sources"
    raise ClusterUnfit(
        f"the worker {worker} has another {part} of Tailback, {theirs}, and this machine {ours}\n  hint: {hint}"
    )


def _result(future: "Future[Finished]", progress: _Waiting) -> Finished:
    """The result of a task; raises the exceptions of `Worker.finish`, and `TimeoutError` if it does not arrive."""
    from distributed import KilledWorker

    if progress.cancelled:
        future.cancel()
        raise RunCancelled("cancelled")
    try:
        # A worker may be lost with the result of a run that was over: then another one does it, while this waits.
        return future.result(RESULT_S)
    except KilledWorker as lost:
        hint = "look at the memory limit of the workers and at their logs"
        raise RunFailed(f"{lost.last_worker.address} was lost, and other workers before it\n  hint: {hint}") from lost
    except (asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise _scheduler_lost() from error


def _scheduler_lost() -> ClusterUnfit:
    hint = "complete runs are kept; start it again, and the same command continues from there"
    return ClusterUnfit(f"the scheduler is lost\n  hint: {hint}")
