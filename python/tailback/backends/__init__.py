"""Backends, which run one resolved scenario: one interface and one form of results for all of them.

A backend takes a resolved scenario (`docs/contracts.md`) and gives back the tables that document lists. What a
backend cannot see is absent from its tables; nothing is made up for it.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from tailback.resolved import Scenario

if TYPE_CHECKING:
    # What only checks an experiment should not wait for it to load.
    import pyarrow as pa

Tables: TypeAlias = "Mapping[str, pa.Table]"
Cost: TypeAlias = Mapping[str, float]


class RunFailed(Exception):
    """A run that was started and failed; the message says why."""


class RunInvalid(RunFailed):
    """A run that completed, but whose result is not valid; the message says why."""


class Unsuitable(Exception):
    """A scenario this backend cannot run; the message says why."""


class RunCancelled(Exception):
    """A run that ended early because it was asked to."""


class UnknownBackend(Exception):
    """No backend has this name; the message lists the backends."""


class Progress(Protocol):
    """A window on a run in another thread."""

    @property
    def fraction(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""

    def cancel(self) -> None:
        """Asks the run to end; it raises `RunCancelled` soon after."""


@dataclass(frozen=True)
class RunResult:
    """The result of one run: its tables by name, and its cost (`docs/contracts.md`)."""

    tables: Tables
    cost: Cost
    captures: Mapping[str, bytes] = field(default_factory=dict)
    """pcapng by host, where they were asked for."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What a backend has to say of where it ran, for the manifest."""
    qdiscs: Sequence[Mapping[str, Any]] = ()
    """The disciplines at the end, as `tc -s -j qdisc show` has them (`backends/qdisc_stats.py`)."""


class Clock(enum.Enum):
    """The time a run passes in."""

    VIRTUAL = "virtual"
    """Processing costs none of it, so that runs side by side do not disturb each other."""
    REAL = "real"
    """That of the machine: runs side by side compete for its processors and falsify each other."""


class Backend(Protocol):
    """Runs scenarios. `run` may be called from several threads at once."""

    @property
    def name(self) -> str:
        """As after `--backend`."""

    @property
    def clock(self) -> Clock:
        """The time its runs pass in; in real time they go one after the other unless the user wants otherwise."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same scenario might give other tables (another build, another kernel)."""

    def new_progress(self) -> Progress:
        """A progress object for one call of `run`."""

    def check(self, scenario: Scenario) -> None:
        """Raises `Unsuitable` if it cannot run `scenario`, without running it."""

    def run(self, scenario: Scenario, progress: Progress) -> RunResult:
        """Runs `scenario` to its end; raises `RunFailed` (`RunInvalid`) or `RunCancelled`."""


@runtime_checkable
class Bounded(Protocol):
    """A backend that keeps its runs to a limit of memory."""

    def with_memory(self, limit: int) -> Backend:
        """The same, whose runs fail when their rows and packets take more than `limit` bytes."""


@runtime_checkable
class OfKernels(Protocol):
    """A backend that can run any kernel."""

    def of_kernel(self, name: str) -> Backend:
        """The same backend with the kernel of this name; raises `Unsuitable` if another kernel was given."""


def backend_for(backend: Backend, scenario: Scenario) -> Backend:
    """What runs `scenario`: `backend`, with the kernel that the scenario names if it names one."""
    name = scenario.kernel
    if name is None:
        return backend
    if not isinstance(backend, OfKernels):
        hint = "choose a backend that runs kernels, --backend uml, or remove `kernel` from the file"
        raise Unsuitable(f"`kernel` is `{name}`, and `{backend.name}` has no kernel to choose\n  hint: {hint}")
    return backend.of_kernel(name)


def _sim() -> Backend:
    # Imported on demand: a command that runs nothing should not wait for the simulator to load.
    from tailback.backends.sim import Sim

    return Sim()


def _uml(kernel: str | None = None) -> Backend:
    from tailback.backends.uml import Uml

    return Uml.named(kernel)


def _netns() -> Backend:
    from tailback.backends.netns import Netns

    return Netns.of_this_machine()


def _ssh(file: str | None = None) -> Backend:
    from tailback.backends.ssh import Ssh

    if file is None:
        hint = "name the file that says which machine each host is: --testbed testbed.yaml, or ssh:testbed.yaml"
        raise UnknownBackend(f"`ssh` needs a testbed\n  hint: {hint}")
    return Ssh.of_file(file)


_BACKENDS: Mapping[str, Callable[..., Backend]] = {"sim": _sim, "uml": _uml, "netns": _netns, "ssh": _ssh}
_WITH_NAME = ("uml", "ssh")
"""Backends that take a name behind a colon: of a kernel, of a testbed file."""


def open_backend(name: str) -> Backend:
    """The backend called `name`."""
    kind, colon, own = name.partition(":")
    build = _BACKENDS.get(kind)
    if build is None or (colon and (kind not in _WITH_NAME or not own)):
        known = ", ".join(f"`{known}`" for known in _BACKENDS)
        hint = f"there are {known}; a kernel of your own is `uml:NAME`, a testbed `ssh:FILE`"
        raise UnknownBackend(f"`{name}` is not a backend\n  hint: {hint}")
    return build(own) if colon else build()
