"""Previews a sweep: its runs, which of them are complete, and the estimated time of the others.

The estimated time of a run is the mean time of earlier runs of its configuration, in this folder or in folders to
reuse; else the mean time per simulated second of other runs; else, on the simulator, extrapolated from trials of a few
configurations, which are cancelled after a fraction of a second. On backends in real time it is the duration of the
run. The time of the sweep is the total divided by the number of parallel runs.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field

from tailback.backends import Backend, Clock, Progress, RunCancelled, RunFailed, backend_for
from tailback.resolved import Scenario
from tailback.results import ExperimentPlan, ReusableRuns, RunPlan, Store
from tailback.results.layout import MANIFEST, read_json

State = Literal["complete", "elsewhere", "missing"]
Basis = Literal["measured", "trial", "duration"]

TRIAL_S = 0.4
"""Duration of a trial."""

LONGEST_TRIAL_S = 20.0
"""Maximum duration of a trial without progress (large scenario, busy machine)."""

TRIALS = 6
"""Number of configurations to try, evenly spread over the grid."""

NANOSECONDS = 1e9


class Planned(Struct, frozen=True):
    """One run of the plan."""

    run: RunPlan
    state: State
    seconds: float | None
    """Estimated or measured time; `None` if unknown."""


class Preview(Struct, frozen=True):
    """The preview of a sweep."""

    folder: Path
    plan: ExperimentPlan
    runs: Sequence[Planned]
    jobs: int
    basis: Basis | None
    """The source of the estimates; `None` if there are none."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """The damage of runs that do not count as complete, by name."""

    def count(self, state: State) -> int:
        """The number of runs in this state."""
        return sum(planned.state == state for planned in self.runs)

    @property
    def seconds(self) -> float | None:
        """Estimated time of the missing runs, `jobs` in parallel, in s; at least that of the longest run."""
        missing = [planned.seconds for planned in self.runs if planned.state == "missing"]
        known = [seconds for seconds in missing if seconds is not None]
        if len(known) < len(missing):
            return None
        return max(sum(known) / self.jobs, *known) if known else 0.0


class Costs(Struct, frozen=True):
    """Times of runs in s."""

    by_place: Mapping[tuple[tuple[str, str], ...], float]
    """Mean by configuration."""
    per_second: float | None
    """Mean per simulated second over all runs."""

    def of(self, run: RunPlan) -> float | None:
        """The estimated time of `run`."""
        known = self.by_place.get(tuple(run.axes.items()))
        if known is not None or self.per_second is None:
            return known
        return self.per_second * _simulated(run.scenario)


def preview(store: Store, backend: Backend, reusable: ReusableRuns, jobs: int) -> Preview:
    """Previews the plan of `store`, which need not be locked."""
    plan = store.plan
    places = {run.name: _place(run, store, reusable) for run in plan.runs}
    taken = {name: place for name, place in places.items() if place is not None}
    basis: Basis | None = None
    costs = _measured((run, taken[run.name]) for run in plan.runs if run.name in taken)
    missing = [run for run in plan.runs if run.name not in taken]
    if backend.clock is Clock.REAL:
        costs, basis = Costs({}, 1.0), "duration"
    elif costs.per_second is not None:
        basis = "measured"
    elif backend.name == "sim" and missing:
        costs, basis = _tried(missing, backend), "trial"
    runs = [Planned(run, _state(places[run.name], store), costs.of(run)) for run in plan.runs]
    return Preview(store.path, plan, runs, jobs, basis, store.damaged)


def document(found: Preview) -> dict[str, Any]:
    """The JSON document of `--dry-run --json`; unknown values are absent."""
    estimate = {"wall_s": found.seconds, "jobs": found.jobs, "basis": found.basis}
    return {
        "dir": str(found.folder.resolve()),
        "counts": {state: found.count(state) for state in ("complete", "elsewhere", "missing")},
        "estimate": {key: value for key, value in estimate.items() if value is not None},
        "runs": [_entry(planned) for planned in found.runs],
    }


def _entry(planned: Planned) -> dict[str, Any]:
    run = planned.run
    entry = {
        "name": run.name, "axes": dict(run.axes), "repetition": run.repetition, "seed": run.seed,
        "state": planned.state, "wall_s": planned.seconds,
    }  # fmt: skip
    return {key: value for key, value in entry.items() if value is not None}


def _place(run: RunPlan, store: Store, reusable: ReusableRuns) -> Path | None:
    return store.folder(run) if store.complete(run) is not None else reusable.find(run, store.plan.backend)


def _state(place: Path | None, store: Store) -> State:
    if place is None:
        return "missing"
    return "complete" if place.is_relative_to(store.path) else "elsewhere"


def _measured(complete: Iterable[tuple[RunPlan, Path]]) -> Costs:
    groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
    spent = simulated = 0.0
    for run, place in complete:
        seconds = float((read_json(place / MANIFEST) or {}).get("duration_s", 0.0))
        groups.setdefault(tuple(run.axes.items()), []).append(seconds)
        spent += seconds
        simulated += _simulated(run.scenario)
    means = {axes: float(np.mean(each)) for axes, each in groups.items()}
    return Costs(means, spent / simulated if simulated else None)


def _tried(missing: Sequence[RunPlan], backend: Backend) -> Costs:
    """Estimates by trials, one after the other."""
    firsts = list({tuple(run.axes.items()): run for run in reversed(missing)}.values())[::-1]
    chosen = [firsts[int(place)] for place in np.linspace(0, len(firsts) - 1, min(TRIALS, len(firsts)))]
    found = {tuple(run.axes.items()): _trial(run, backend) for run in chosen}
    known = {axes: seconds for axes, seconds in found.items() if seconds is not None}
    simulated = sum(_simulated(run.scenario) for run in chosen if tuple(run.axes.items()) in known)
    return Costs(known, sum(known.values()) / simulated if simulated else None)


def _trial(run: RunPlan, backend: Backend) -> float | None:
    """The extrapolated time of `run`; `None` if it fails."""
    one = backend_for(backend, run.scenario)
    progress, reached, over = one.new_progress(), 0.0, threading.Event()
    stop = threading.Thread(target=_stop, args=(progress, over), daemon=True)
    begun = time.monotonic()
    stop.start()
    try:
        one.run(run.scenario, progress)
        reached = 1.0
    except RunCancelled:
        reached = progress.fraction
    except RunFailed:
        return None
    finally:
        over.set()
    return (time.monotonic() - begun) / reached if reached > 0 else None


def _stop(progress: Progress, over: threading.Event) -> None:
    """Ends a trial when its time is up, but not before it has made some progress."""
    begun = time.monotonic()
    while not over.wait(TRIAL_S):
        if progress.fraction > 0 or time.monotonic() - begun > LONGEST_TRIAL_S:
            progress.cancel()
            return


def _simulated(scenario: Scenario) -> float:
    return scenario.duration_ns / NANOSECONDS
