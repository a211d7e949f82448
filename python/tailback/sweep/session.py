"""One call from an experiment to its folder: open the backend, claim the folder, run what is missing."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.analysis import Stopping
from tailback.backends import Backend, Clock, backend_for, open_backend
from tailback.results import RunPlan, claim, default_folder
from tailback.results.provenance import tailback_version
from tailback.scenario import Experiment
from tailback.sweep.local import Outcome, Sweep, Watch, run_all
from tailback.sweep.plan import plan_of, stopping_of


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


@dataclass(frozen=True)
class Carried:
    """An experiment carried out."""

    folder: Path
    backend: str
    outcomes: Sequence[Outcome]
    wide: Sequence[Mapping[str, str]] = ()
    """Configurations whose intervals are still too wide after as many repetitions as there may be."""

    @property
    def failed(self) -> list[Outcome]:
        """Runs that gave no result: they ended badly, or what they gave is not valid."""
        return [outcome for outcome in self.outcomes if outcome.status != "ok"]

    @property
    def reused(self) -> int:
        """Runs that were complete already."""
        return sum(outcome.reused for outcome in self.outcomes)


def carry_out(experiment: Experiment, request: Request, watch: Watch) -> Carried:
    """Runs `experiment`; complete runs that are in its folder already are not run again."""
    backend = open_backend(request.backend)
    plan = plan_of(experiment, backend, request.settings)
    check_all(plan.runs, backend)
    folder = request.out if request.out is not None else default_folder(Path(experiment.path).stem, plan)
    stopping = stopping_of(experiment)
    with claim(folder, plan) as store:
        outcomes = run_all(Sweep(store, backend, request.jobs or side_by_side(backend), stopping), watch)
    return Carried(folder, backend.name, outcomes, _wide(outcomes, stopping))


def _wide(outcomes: Sequence[Outcome], stopping: Stopping | None) -> list[Mapping[str, str]]:
    """The axes of the configurations that were given up."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for outcome in outcomes:
        if outcome.summary is not None:
            groups.setdefault(tuple(outcome.run.axes.items()), []).append(outcome.summary)
    return [dict(axes) for axes, group in groups.items() if stopping is not None and not stopping.narrow(group)]


def check(experiment: Experiment, backend: str = "sim") -> int:
    """Raises `Unsuitable` if the backend cannot run `experiment`; the number of runs if it can."""
    opened = open_backend(backend)
    runs = plan_of(experiment, opened).runs
    check_all(runs, opened)
    return len(runs)


def check_all(runs: Sequence[RunPlan], backend: Backend) -> None:
    """Raises `Unsuitable` for the first configuration that `backend` cannot run; repetitions differ in seeds only."""
    for run in runs:
        if run.repetition == 1:
            backend_for(backend, run.scenario).check(run.scenario)


def report(carried: Carried) -> dict[str, Any]:
    """The document of `--json` (design §4): one entry per run, in the order of the plan."""
    return {"tailback": tailback_version(), "runs": [_entry(outcome, carried) for outcome in carried.outcomes]}


def side_by_side(backend: Backend) -> int:
    """Runs of `backend` at the same time unless somebody wants otherwise."""
    return cores() if backend.clock is Clock.VIRTUAL else 1


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _entry(outcome: Outcome, carried: Carried) -> dict[str, Any]:
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
