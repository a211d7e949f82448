"""Runs an experiment into a folder: opens the backend, locks the folder, runs what is missing."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.analysis import Stopping
from tailback.backends import Backend, open_backend
from tailback.fitting import check_all, runs_at_once, within
from tailback.results import ExperimentPlan, Shelf, Store, beside, claim, default_folder, shelf
from tailback.results.provenance import tailback_version
from tailback.scenario import Experiment
from tailback.sweep.cluster import IN_FLIGHT, connected
from tailback.sweep.local import Outcome, Sweep, Watch, run_all
from tailback.sweep.plan import plan_of, stopping_of
from tailback.sweep.preview import Preview, preview
from tailback.sweep.work import Worker


@dataclass(frozen=True)
class Request:
    """How an experiment is to be run."""

    backend: str = "sim"
    jobs: int | None = None
    """Runs at the same time; without it one per core, or one if they pass in real time."""
    out: Path | None = None
    """Folder of the results; without it `results/STEM` beside the others."""
    settings: Sequence[str] = ()
    """What was changed in the file, for the record."""
    cluster: str | None = None
    """Address of a Dask scheduler whose workers do the runs; without it this machine does."""
    reuse: Sequence[Path] = ()
    """Folders of results from which complete runs are taken over."""


@dataclass(frozen=True)
class SweepResult:
    """A finished experiment."""

    folder: Path
    backend: str
    outcomes: Sequence[Outcome]
    wide: Sequence[Mapping[str, str]] = ()
    """Configurations whose intervals are still too wide after as many repetitions as there may be."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """What was wrong with runs that were there and did not count as complete, by name."""

    @property
    def failed(self) -> list[Outcome]:
        """Runs without a result: they failed, or their result is not valid."""
        return [outcome for outcome in self.outcomes if outcome.status != "ok"]

    @property
    def reused(self) -> int:
        """Runs that were complete already."""
        return sum(outcome.reused for outcome in self.outcomes)


def run_experiment(experiment: Experiment, request: Request, watch: Watch) -> SweepResult:
    """Runs `experiment`; complete runs that are in its folder already are not run again, nor are those of other
    experiments in `results` if its own is there.
    """
    backend = open_backend(request.backend)
    jobs = _jobs(experiment, request, backend)
    backend = within(backend, jobs)
    plan = plan_of(experiment, backend, request.settings)
    check_all(plan.runs, backend)
    folder, there = _places(experiment, request, plan)
    stopping = stopping_of(experiment)
    with _worker(request, backend) as worker, claim(folder, plan) as store:
        sweep = Sweep(store, backend, jobs, stopping, there, worker)
        outcomes = run_all(sweep, watch)
    return SweepResult(folder, backend.name, outcomes, _wide(outcomes, stopping), store.damaged)


def look_ahead(experiment: Experiment, request: Request) -> Preview:
    """What `run_experiment` would do; nothing is written."""
    backend = open_backend(request.backend)
    jobs = _jobs(experiment, request, backend)
    backend = within(backend, jobs)
    plan = plan_of(experiment, backend, request.settings)
    check_all(plan.runs, backend)
    folder, there = _places(experiment, request, plan)
    return preview(Store(folder, plan, plan.identities()), backend, there, jobs)


def _places(experiment: Experiment, request: Request, plan: ExperimentPlan) -> tuple[Path, Shelf]:
    """The folder of the results, and the runs that may be taken over."""
    if request.out is not None:
        return request.out, shelf(request.reuse)
    folder = default_folder(Path(experiment.path).stem, plan)
    return folder, shelf([*request.reuse, *beside(folder)])


def _jobs(experiment: Experiment, request: Request, backend: Backend) -> int:
    """How many runs go at the same time; raises `ScenarioError` if this machine has no memory for them."""
    if request.cluster is not None:
        # Its workers have memory of their own.
        return request.jobs or IN_FLIGHT
    return runs_at_once(experiment, backend, request.jobs)


@contextlib.contextmanager
def _worker(request: Request, backend: Backend) -> Iterator[Worker | None]:
    if request.cluster is None:
        yield None
        return
    with connected(request.cluster, request.backend, backend) as elsewhere:
        yield elsewhere


def _wide(outcomes: Sequence[Outcome], stopping: Stopping | None) -> list[Mapping[str, str]]:
    """The axes of the configurations that were given up."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for outcome in outcomes:
        if outcome.summary is not None:
            groups.setdefault(tuple(outcome.run.axes.items()), []).append(outcome.summary)
    return [dict(axes) for axes, group in groups.items() if stopping is not None and not stopping.narrow(group)]


def report(carried: SweepResult) -> dict[str, Any]:
    """The document of `--json` (design §4): one entry per run, in the order of the plan."""
    return report_of([carried])


def report_of(done: Sequence[SweepResult]) -> dict[str, Any]:
    """The same of several experiments, one after the other."""
    runs = [_entry(outcome, carried) for carried in done for outcome in carried.outcomes]
    return {"tailback": tailback_version(), "runs": runs}


def _entry(outcome: Outcome, carried: SweepResult) -> dict[str, Any]:
    """What is not known of a run, as the folder of one that failed, is absent."""
    run = outcome.run
    entry = {
        "axes": dict(run.axes),
        "seed": run.seed,
        "backend": carried.backend,
        # Absolute, for a script may read it from another working directory.
        "dir": None if outcome.folder is None else str(outcome.folder.resolve()),
        "status": outcome.status,
        "error": outcome.error,
        "summary": outcome.summary,
    }
    return {key: value for key, value in entry.items() if value is not None}
