"""Checks whether a backend can run an experiment, without running it."""

from collections.abc import Iterable
from typing import Protocol

from tailback.backends import Backend, backend_for, open_backend
from tailback.fitting.jobs import runs_at_once
from tailback.resolved import Scenario
from tailback.scenario import Experiment


class Planned(Protocol):
    """A planned run: `scenario.Run` or `results.RunPlan`."""

    @property
    def repetition(self) -> int:
        """Starts at 1."""

    @property
    def scenario(self) -> Scenario:
        """The scenario that a backend runs."""


def check(experiment: Experiment, backend: str = "sim") -> int:
    """Returns the number of runs of `experiment`; raises `Unsuitable` if the backend cannot run it."""
    opened = open_backend(backend)
    runs_at_once(experiment, opened)
    runs = experiment.runs()
    check_all(runs, opened)
    return len(runs)


def check_all(runs: Iterable[Planned], backend: Backend) -> None:
    """Raises `Unsuitable` for the first configuration that `backend` cannot run."""
    for run in runs:
        # Repetitions differ only in their seeds.
        if run.repetition == 1:
            backend_for(backend, run.scenario).check(run.scenario)
