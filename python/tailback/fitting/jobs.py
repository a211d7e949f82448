"""The number of parallel runs, by the cores and the memory of this machine."""

import os

from tailback import _core
from tailback.backends import Backend, Clock
from tailback.fitting.memory import room
from tailback.resolved import Scenario
from tailback.scenario import Experiment, refuse_larger, size_of
from tailback.scenario.size import FLOW_BYTES, memory_word


def runs_at_once(experiment: Experiment, backend: Backend, wanted: int | None = None) -> int:
    """The number of parallel runs of `experiment` on this machine: as requested, else as backend and memory allow.
    Raises `ScenarioError` if the runs do not fit into memory.
    """
    row_bytes = _core.row_bytes()
    jobs = wanted
    if jobs is None:
        largest = max(size_of(each.keys, row_bytes).size for each in experiment.configurations)
        jobs = max(1, min(side_by_side(backend), room(1) // max(largest, 1)))
    refuse_larger(experiment, room(jobs), row_bytes)
    return jobs


def too_many_flows(scenario: Scenario, jobs: int) -> str | None:
    """Why the flows of a scenario that no experiment file made do not fit into memory; None if they do."""
    count, limit = len(scenario.traffic), room(jobs)
    if FLOW_BYTES * count <= limit:
        return None
    needed = f"{count:,} flows need {memory_word(FLOW_BYTES * count)} of memory"
    return f"{needed}, but a run may use {memory_word(limit)} here\n  hint: run fewer at a time: --jobs 1"


def side_by_side(backend: Backend) -> int:
    """The default number of parallel runs on `backend`."""
    return cores() if backend.clock is Clock.VIRTUAL else 1


def cores() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
