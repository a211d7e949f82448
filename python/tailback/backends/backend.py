"""The interface of a backend, and the form of its results.

A backend takes a resolved scenario and returns the tables that `docs/tables.md` lists. Values that a backend cannot
observe are absent from its tables.
"""

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field

from tailback import _core
from tailback.resolved import Scenario

PROGRAMS = "programs"
"""The entry of a manifest with how programs of the user ended (`backends/linux/programs.py`)."""

KERNEL_WARNINGS = "kernel_warnings"
"""The entry of a manifest with what the kernel of the run warned of, or the simulator that is one for a module."""

Tables: TypeAlias = Mapping[str, _core.Table]
Cost: TypeAlias = Mapping[str, float]


class RunFailed(Exception):
    """The run failed; the message says why."""


class RunInvalid(RunFailed):
    """The run completed, but its result is not valid; the message says why."""


class Unsuitable(Exception):
    """The backend cannot run this scenario; the message says why."""


class RunCancelled(Exception):
    """The run was cancelled."""


class Progress(Protocol):
    """The progress of a run in another thread."""

    @property
    def fraction(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""

    def cancel(self) -> None:
        """Cancels the run, which then raises `RunCancelled`."""


class RunResult(Struct, frozen=True):
    """The result of one run: its tables by name, and its cost (`docs/contracts.md`)."""

    tables: Tables
    cost: Cost
    captures: Mapping[str, bytes] = field(default_factory=dict)
    """Captures (pcapng) by host, if requested."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further entries for the manifest, such as facts about machines."""
    qdiscs: Sequence[Mapping[str, Any]] = ()
    """The disciplines at the end, as in `tc -s -j qdisc show` (`backends/qdisc_stats.py`)."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Further files of its folder, by name."""


class Clock(enum.Enum):
    """The clock of a run."""

    VIRTUAL = "virtual"
    """Virtual time: processing takes no time, so parallel runs do not affect each other."""
    REAL = "real"
    """Real time: parallel runs compete for processors and affect each other's results."""


class Backend(Protocol):
    """Runs scenarios. `run` may be called from several threads at once."""

    @property
    def name(self) -> str:
        """The name, as for `--backend`."""

    @property
    def clock(self) -> Clock:
        """The clock of its runs; in real time, runs are executed one after the other by default."""

    @property
    def fingerprint(self) -> str:
        """Identifies the build; differs if the same scenario might give different tables (another build or kernel)."""

    def new_progress(self) -> Progress:
        """A progress object for one call of `run`."""

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if it cannot run `scenario`, without running it. Executes the code that it contains."""

    def check_without_code(self, scenario: Scenario) -> None:
        """As `check`, but executes no code of a scenario that has controls of the user: it checks the rest."""

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Runs `scenario` to its end; raises `RunFailed` (`RunInvalid`) or `RunCancelled`."""


@runtime_checkable
class Bounded(Protocol):
    """A backend that supports a memory limit for its runs."""

    def with_memory(self, limit: int) -> Backend:
        """This backend with a memory limit: runs fail if their rows and packets need more than `limit` bytes."""


@runtime_checkable
class OfKernels(Protocol):
    """A backend that can run any kernel."""

    def of_kernel(self, name: str) -> Backend:
        """This backend with the kernel of this name; raises `Unsuitable` if another kernel was given."""


@runtime_checkable
class OfPrograms(Protocol):
    """A backend that runs programs of the user, which are part of what its results depend on."""

    def fingerprint_with(self, scenario: Scenario) -> str:
        """As `fingerprint`, with the programs of a scenario."""


@runtime_checkable
class OfShells(Protocol):
    """A backend that runs a shell on a host of an experiment."""

    def shell(self, scenario: Scenario, wanted: Any) -> int:
        """Runs what is `wanted` (`backends/linux/shell.py`); returns its status. Raises `Unsuitable`, `RunFailed`."""


def fingerprint_of(backend: Backend, scenario: Scenario) -> str:
    """Identifies the build of a backend, and the programs that a scenario lets it run."""
    if scenario.programs and isinstance(backend, OfPrograms):
        return backend.fingerprint_with(scenario)
    return backend.fingerprint


def backend_for(backend: Backend, scenario: Scenario) -> Backend:
    """The backend for a scenario: `backend`, with the kernel that the scenario names, if any."""
    name = scenario.kernel
    if name is None:
        return backend
    if not isinstance(backend, OfKernels):
        if any(source.language != "python" for source in scenario.controls):
            # Its headers are those that kernel modules and BPF programs are compiled with.
            return backend
        hint = "choose a backend that runs kernels, --backend uml, or remove `kernel` from the file"
        raise Unsuitable(f"`kernel` is `{name}`, and `{backend.name}` has no kernel to choose\n  hint: {hint}")
    return backend.of_kernel(name)
