"""Runs an experiment into a folder: opens the backend, locks the folder, runs what is missing."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from tailback.analysis import Stopping
from tailback.analysis.effects import Finding, Run, findings
from tailback.backends import Backend, open_backend
from tailback.fitting import check_all, runs_at_once, within
from tailback.limits.trust import Code
from tailback.results import ExperimentPlan, ReusableRuns, Store, claim, default_folder, neighbours, reusable_runs
from tailback.scenario import Experiment
from tailback.sweep.about_file import FileWarnings
from tailback.sweep.expectations import Verdict, expected, verdicts
from tailback.sweep.local import Outcome, Sweep, Watch, run_all
from tailback.sweep.plan import plan_of, stopping_of
from tailback.sweep.preview import Look, Preview, preview
from tailback.sweep.work import Worker

if TYPE_CHECKING:
    from tailback.results import Results


class Request(Struct, frozen=True):
    """How to run an experiment."""

    backend: str = "sim"
    jobs: int | None = None
    """Number of parallel runs; default: one per core, or one in real time."""
    out: Path | None = None
    """Results folder; default: `results/STEM`."""
    settings: Sequence[str] = ()
    """Changes of the file, which are recorded in the results."""
    cluster: str | None = None
    """Address of a Dask scheduler; default: run on this machine."""
    reuse: Sequence[Path] = ()
    """Results folders whose complete runs are reused."""
    security: Any = None
    """`distributed.Security` for the scheduler; default: what the configuration of dask says."""


class SweepResult(Struct, frozen=True):
    """A finished experiment."""

    folder: Path
    backend: str
    outcomes: Sequence[Outcome]
    wide: Sequence[Mapping[str, str]] = ()
    """Configurations whose intervals are still too wide after the maximum number of repetitions."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """The damage of runs that did not count as complete, by name."""
    verdicts: Sequence[Verdict] = ()
    """What the file expects, and whether the results meet it."""

    @property
    def failed(self) -> list[Outcome]:
        """Runs without a valid result."""
        return [outcome for outcome in self.outcomes if outcome.status != "ok"]

    @property
    def unmet(self) -> list[Verdict]:
        """The conditions of the file that do not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    @property
    def reused(self) -> int:
        """Number of runs that were complete before."""
        return sum(outcome.reused for outcome in self.outcomes)

    @property
    def results(self) -> "Results":
        """The complete runs of this experiment, read from its folder, which may hold more of a larger grid."""
        # Imported here, because a sweep only writes results.
        from tailback.results import open_results

        return open_results(self.folder).only({each.run.name for each in self.outcomes if each.status == "ok"})

    @property
    def findings(self) -> list[Finding]:
        """What the values of each axis change."""
        return findings(
            [
                Run(each.run.axes, each.run.repetition, each.summary)
                for each in self.outcomes
                if each.summary is not None
            ]
        )

    @property
    def analysed_again(self) -> int:
        """Number of runs that were complete before, whose summaries have been made again by the present analysis."""
        return sum(outcome.analysed_again for outcome in self.outcomes)


def run_experiment(experiment: Experiment, request: Request, watch: Watch) -> SweepResult:
    """Runs `experiment`. Complete runs in its folder are not repeated; without `out`, nor are those of other
    experiments in `results`.
    """
    conditions = expected(experiment)
    backend = open_backend(request.backend)
    jobs = _jobs(experiment, request, backend)
    backend = within(backend, jobs)
    plan = plan_of(experiment, backend, request.settings)
    check_all(plan.runs, backend)
    folder, reusable = _places(experiment, request, plan)
    stopping = stopping_of(experiment)
    with _worker(request, backend) as worker, claim(folder, plan) as store:
        sweep = Sweep(store, backend, jobs, stopping, reusable, FileWarnings(experiment), worker)
        outcomes = run_all(sweep, watch)
    return SweepResult(
        folder, backend.name, outcomes, _wide(outcomes, stopping), store.damaged, verdicts(conditions, outcomes)
    )


def simulate(experiment: Experiment, jobs: int | None, watch: Watch) -> "tuple[list[Outcome], Results]":
    """Runs `experiment` on the simulator, in memory: writes and reads no file. `jobs` is the number of parallel runs;
    default: one per core.
    """
    # Imported here, because a sweep into a folder reads no results.
    from tailback.results.memory import MemoryStore

    request = Request(jobs=jobs)
    backend = open_backend(request.backend)
    jobs = _jobs(experiment, request, backend)
    backend = within(backend, jobs)
    plan = plan_of(experiment, backend)
    check_all(plan.runs, backend)
    store = MemoryStore(plan)
    outcomes = run_all(Sweep(store, backend, jobs, stopping_of(experiment), None, FileWarnings(experiment)), watch)
    return outcomes, store.results()


def look_ahead(experiment: Experiment, request: Request, code: Code = "untouched") -> Preview:
    """Previews `run_experiment`; writes nothing, and executes the code that the file names only if `code` says so."""
    backend = open_backend(request.backend)
    jobs = _jobs(experiment, request, backend)
    backend = within(backend, jobs)
    plan = plan_of(experiment, backend, request.settings)
    check_all(plan.runs, backend, code)
    folder, reusable = _places(experiment, request, plan)
    return preview(Store(folder, plan, plan.identities()), backend, reusable, Look(jobs, code))


def folders_for(files: Sequence[Path], out: Path | None) -> list[Path | None]:
    """The results folder for the experiment of each file: `out`, or `out/STEM` if there are several files.

    None, the default folder of the experiment, if `out` is None.
    """
    if out is None or len(files) == 1:
        return [out] * len(files)
    return [out / file.stem for file in files]


def _places(experiment: Experiment, request: Request, plan: ExperimentPlan) -> tuple[Path, ReusableRuns]:
    """The results folder, and the runs that may be reused."""
    if request.out is not None:
        return request.out, reusable_runs(request.reuse)
    folder = default_folder(Path(experiment.path).stem, plan)
    return folder, reusable_runs([*request.reuse, *neighbours(folder)])


def _jobs(experiment: Experiment, request: Request, backend: Backend) -> int:
    """The number of parallel runs; raises `ScenarioError` if they do not fit into the memory."""
    if request.cluster is not None:
        from tailback.sweep.cluster import IN_FLIGHT

        # The memory of the workers is unknown.
        return request.jobs or IN_FLIGHT
    return runs_at_once(experiment, backend, request.jobs)


@contextlib.contextmanager
def _worker(request: Request, backend: Backend) -> Iterator[Worker | None]:
    if request.cluster is None:
        yield None
        return
    # Imported here, because most sweeps do without asyncio.
    from tailback.sweep.cluster import Place, connected

    with connected(Place(request.cluster, request.security), request.backend, backend) as elsewhere:
        yield elsewhere


def _wide(outcomes: Sequence[Outcome], stopping: Stopping | None) -> list[Mapping[str, str]]:
    """The configurations whose intervals are still too wide."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for outcome in outcomes:
        if outcome.summary is not None:
            groups.setdefault(tuple(outcome.run.axes.items()), []).append(outcome.summary)
    return [dict(axes) for axes, group in groups.items() if stopping is not None and not stopping.narrow(group)]
