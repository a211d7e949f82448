"""Previews a sweep: its runs, which of them are complete, and the estimated time of the others.

The estimated time of a run is the median time of earlier runs of its configuration, in this folder or in folders to
reuse; else that of other runs per simulated second, of the fastest of them to the slowest (`pace`); else, on the
simulator, extrapolated from trials of a few configurations, as many at a time as there will be runs, which end after a
fraction of a second: at the mean pace of the trial, and at that of its second half, with a summary. On backends
in real time it is the duration of the run. The time of the sweep is the total divided by the number of parallel runs;
where it is uncertain, it is a range.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct, field

from tailback.backends import Backend, Clock, Progress, RunCancelled, RunFailed, backend_for
from tailback.fitting import code_in
from tailback.limits.trust import Code
from tailback.results import ExperimentPlan, ReusableRuns, RunPlan, Store
from tailback.results.layout import MANIFEST, read_json
from tailback.sweep.pace import Costs, Span, place_of, simulated_s
from tailback.sweep.work import finish, measure_of

State = Literal["complete", "elsewhere", "missing"]
Basis = Literal["measured", "trial", "duration"]

TRIAL_S = 0.4
"""Duration of a trial."""

LONGEST_TRIAL_S = 20.0
"""Maximum duration of a trial without progress (large scenario, busy machine)."""

WITH_SUMMARY = 2.0
"""What a run may take, relative to its simulation: a trial that is cancelled has no summary and no files."""

TRIALS = 6
"""Number of configurations to try, evenly spread over the grid."""


class Planned(Struct, frozen=True):
    """One run of the plan."""

    run: RunPlan
    state: State
    seconds: float | None
    """Estimated or measured time; `None` if unknown."""
    span: Span | None = None
    """Its range."""


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
    not_executed: Sequence[str] = ()
    """The files whose code was neither checked nor tried."""

    def count(self, state: State) -> int:
        """The number of runs in this state."""
        return sum(planned.state == state for planned in self.runs)

    @property
    def seconds(self) -> float | None:
        """Estimated time of the missing runs, `jobs` in parallel, in s; at least that of the longest run."""
        return self._together([planned.seconds for planned in self.runs if planned.state == "missing"])

    @property
    def span(self) -> Span | None:
        """The range of `seconds`."""
        spans = [planned.span for planned in self.runs if planned.state == "missing"]
        low = self._together([None if span is None else span.low for span in spans])
        high = self._together([None if span is None else span.high for span in spans])
        return None if low is None or high is None else Span(low, high)

    def _together(self, missing: Sequence[float | None]) -> float | None:
        known = [seconds for seconds in missing if seconds is not None]
        if len(known) < len(missing):
            return None
        return max(sum(known) / self.jobs, *known) if known else 0.0


class Look(Struct, frozen=True):
    """How to look ahead."""

    jobs: int
    code: Code = "executed"


def preview(store: Store, backend: Backend, reusable: ReusableRuns, look: Look) -> Preview:
    """Previews the plan of `store`, which need not be locked."""
    plan, jobs = store.plan, look.jobs
    untouched = code_in(plan.runs) if look.code == "untouched" else []
    places = {run.name: _place(run, store, reusable) for run in plan.runs}
    taken = {name: place for name, place in places.items() if place is not None}
    basis: Basis | None = None
    costs = _measured((run, taken[run.name]) for run in plan.runs if run.name in taken)
    missing = [run for run in plan.runs if run.name not in taken]
    spans: Sequence[Span | None] = [None] * len(plan.runs)
    if backend.clock is Clock.REAL:
        spans, basis = [Span(simulated_s(run), simulated_s(run)) for run in plan.runs], "duration"
    elif costs.known:
        spans, basis = costs.of(plan.runs), "measured"
    elif backend.name == "sim" and missing and not untouched:
        ends, basis = _tried(missing, backend, jobs), "trial"
        if all(each.known for each in ends):
            spans = [_joined(*pair) for pair in zip(*(each.of(plan.runs) for each in ends), strict=True)]
    runs = [
        Planned(run, _state(places[run.name], store), None if span is None else (span.low + span.high) / 2, span)
        for run, span in zip(plan.runs, spans, strict=True)
    ]
    return Preview(store.path, plan, runs, jobs, basis, store.damaged, untouched)


def document(found: Preview) -> dict[str, Any]:
    """The JSON document of `--dry-run --json`; unknown values are absent."""
    span = found.span
    ends = {} if span is None else {"wall_low_s": span.low, "wall_high_s": span.high}
    estimate = {"wall_s": found.seconds, **ends, "jobs": found.jobs, "basis": found.basis}
    return {
        "dir": str(found.folder.resolve()),
        "counts": {state: found.count(state) for state in ("complete", "elsewhere", "missing")},
        "estimate": {key: value for key, value in estimate.items() if value is not None},
        "runs": [_entry(planned) for planned in found.runs],
        **({"warnings": [not_executed(name) for name in found.not_executed]} if found.not_executed else {}),
    }


def not_executed(file: str) -> dict[str, Any]:
    """That the code of a file was not executed, as an entry of `warnings` and `findings`."""
    text, hint = f"the code of `{file}` was not executed", "add --trust to check it, too"
    return {"code": "code-not-executed", "severity": "info", "text": text, "hint": hint, "file": file}


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
    costs = Costs()
    for run, place in complete:
        seconds = (read_json(place / MANIFEST) or {}).get("duration_s")
        if seconds is not None:
            costs.add(run, float(seconds))
    return costs


def _joined(first: Span, second: Span) -> Span:
    return Span(min(first.low, second.low), max(first.high, second.high))


def _tried(missing: Sequence[RunPlan], backend: Backend, jobs: int) -> tuple[Costs, Costs]:
    """Estimates by trials, `jobs` at a time: at the mean pace of each, and at that of its second half."""
    firsts = list({place_of(run): run for run in reversed(missing)}.values())[::-1]
    chosen = [firsts[int(place)] for place in np.linspace(0, len(firsts) - 1, min(TRIALS, len(firsts)))]
    whole, late = Costs(), Costs()
    with ThreadPoolExecutor(jobs, thread_name_prefix="trial") as pool:
        found = list(pool.map(lambda run: _trial(run, backend), chosen))
    for run, seconds in zip(chosen, found, strict=True):
        if seconds is not None:
            whole.add(run, seconds[0])
            late.add(run, seconds[1])
    return whole, late


def _trial(run: RunPlan, backend: Backend) -> tuple[float, float] | None:
    """The time of `run`, extrapolated from the whole of a trial and from its second half; `None` if it fails."""
    one = backend_for(backend, run.scenario)
    progress, over = one.new_progress(), threading.Event()
    marks: list[Mark] = []
    begun = time.monotonic()
    stop = threading.Thread(target=_stop, args=(progress, over, marks), daemon=True)
    stop.start()
    try:
        # With its summary, which may take as long as the simulation.
        finish(one, run.scenario, measure_of(run), progress)
    except RunCancelled:
        pass
    except RunFailed:
        return None
    else:
        seconds = time.monotonic() - begun
        return seconds, seconds
    finally:
        over.set()
    stop.join()
    return _extrapolated(begun, marks)


Mark = tuple[float, float]
"""A time in s, and the progress of a run then."""


def _extrapolated(begun: float, marks: Sequence[Mark]) -> tuple[float, float] | None:
    (early_s, early), (late_s, late) = marks[0], marks[-1]
    if late <= 0:
        return None
    whole = (late_s - begun) / late
    rest = (1 - late) * (late_s - early_s) / (late - early) if late > early else 0.0
    # What comes after the simulation was not tried.
    return whole, WITH_SUMMARY * max(whole, late_s - begun + rest)


def _stop(progress: Progress, over: threading.Event, marks: list[Mark]) -> None:
    """Notes the progress of a trial at half of its time, and ends it when its time is up, but not before it has made
    some progress.
    """
    begun = time.monotonic()
    while not over.wait(TRIAL_S / 2):
        passed = time.monotonic()
        marks.append((passed, progress.fraction))
        if len(marks) > 1 and (progress.fraction > 0 or passed - begun > LONGEST_TRIAL_S):
            progress.cancel()
            return
