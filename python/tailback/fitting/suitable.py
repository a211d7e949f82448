"""Checks whether a backend can run an experiment, without running it."""

from collections.abc import Iterable
from typing import Protocol

from tailback.backends import SIM, Backend, backend_for, check_for_kernels, open_backend
from tailback.fitting.jobs import runs_at_once
from tailback.limits.trust import Code
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


def check(experiment: Experiment, backend: str | None = None, code: Code = "untouched") -> int:
    """Returns the number of runs of `experiment`; raises `Unsuitable` if the backend cannot run it. Without one it is
    the simulator, and runs with programs are checked for what every kernel needs, which alone run them.
    """
    opened = open_backend(backend or SIM)
    runs_at_once(experiment, opened)
    runs = experiment.runs()
    with_programs = [run for run in runs if backend is None and run.scenario.programs]
    for run in with_programs:
        if run.repetition == 1:
            check_for_kernels(run.scenario)
    check_all([run for run in runs if run not in with_programs] if with_programs else runs, opened, code)
    return len(runs)


def check_all(runs: Iterable[Planned], backend: Backend, code: Code = "executed") -> None:
    """Raises `Unsuitable` for the first configuration that `backend` cannot run. `code` says what becomes of the code
    that scenarios contain: who runs them executes it, who only looks at them does not.
    """
    for run in runs:
        # Repetitions differ only in their seeds.
        if run.repetition == 1:
            found = backend_for(backend, run.scenario)
            if code == "executed" or not run.scenario.code:
                found.check(run.scenario)
            else:
                found.check_without_code(run.scenario)


def code_in(runs: Iterable[Planned]) -> list[str]:
    """The names of the files whose code the runs execute."""
    return list(dict.fromkeys(name for run in runs for name in run.scenario.code))


def programs_in(runs: Iterable[Planned]) -> list[str]:
    """The programs that the runs execute."""
    return list(dict.fromkeys(program.argv[0] for run in runs for program in run.scenario.programs))
