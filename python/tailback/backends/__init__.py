"""Backends, which run one resolved scenario, by name: one interface and one form of results for all of them."""

from collections.abc import Callable, Mapping
from typing import Any

from tailback.backends.backend import (
    KERNEL_WARNINGS,
    PROGRAMS,
    Backend,
    Bounded,
    Clock,
    Cost,
    OfKernels,
    OfShells,
    Progress,
    RunCancelled,
    RunFailed,
    RunInvalid,
    RunResult,
    Tables,
    Unsuitable,
    backend_for,
    fingerprint_of,
)
from tailback.resolved import Scenario
from tailback.tc.units import time_word

__all__ = [
    "KERNEL_WARNINGS",
    "PROGRAMS",
    "SIM",
    "TEXTS",
    "Backend",
    "Bounded",
    "Clock",
    "Cost",
    "OfKernels",
    "OfShells",
    "Progress",
    "RunCancelled",
    "RunFailed",
    "RunInvalid",
    "RunResult",
    "Tables",
    "UnknownBackend",
    "Unsuitable",
    "backend_for",
    "check_for_kernels",
    "fingerprint_of",
    "open_backend",
    "shell",
]


class UnknownBackend(Exception):
    """No backend has this name; the message lists the backends."""


def _sim() -> Backend:
    # Imported here, because the simulator is slow to load.
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
        hint = "give the testbed file: --testbed testbed.yaml, or ssh:testbed.yaml"
        raise UnknownBackend(f"`ssh` needs a testbed\n  hint: {hint}")
    return Ssh.of_file(file)


_BACKENDS: Mapping[str, Callable[..., Backend]] = {"sim": _sim, "uml": _uml, "netns": _netns, "ssh": _ssh}
_WITH_NAME = ("uml", "ssh")
"""Backends that take a name after a colon: a kernel, or a testbed file."""

SIM = "sim"
"""The backend that is used if none is named."""

WITH_SHELLS = ("uml", "netns")
"""Backends with a shell on each host."""

TEXTS: Mapping[str, str] = {
    "sim": (
        "The simulator, which is the default: Linux's TCP, queue disciplines and Wi-Fi, packet by packet in virtual "
        "time. The same file and seed give the same bytes on every machine. docs/fidelity.md says how far it is from a "
        "real kernel.\n\nUse it: tailback run FILE"
    ),
    "uml": (
        "A real Linux kernel in virtual time: User Mode Linux, built once by `tailback kernel build`. Its own TCP and "
        "disciplines run, and the load of the machine does not change the result. `uml:NAME` is a kernel of your own."
        "\n\nUse it: tailback run FILE --backend uml"
    ),
    "netns": (
        "The kernel of this machine, in network namespaces and in real time. It needs root, and other work on the "
        "machine changes the result.\n\nUse it: tailback run FILE --backend netns"
    ),
    "ssh": (
        "Machines of your own over SSH. A testbed file names them; `tailback testbed check TESTBED` looks at them "
        "first.\n\nUse it: tailback run FILE --testbed testbed.yaml"
    ),
}
"""What each backend is, for `tailback explain`."""


def open_backend(name: str) -> Backend:
    """The backend with this name (`sim`, `uml:KERNEL`, `ssh:FILE`); raises `UnknownBackend` if there is none."""
    kind, colon, own = name.partition(":")
    build = _BACKENDS.get(kind)
    if build is None or (colon and (kind not in _WITH_NAME or not own)):
        known = ", ".join(f"`{known}`" for known in _BACKENDS)
        hint = f"use one of {known}; `uml:NAME` for another kernel, `ssh:FILE` for a testbed"
        raise UnknownBackend(f"`{name}` is not a backend\n  hint: {hint}")
    return build(own) if colon else build()


def check_for_kernels(scenario: Scenario) -> None:
    """Raises `Unsuitable` for the first thing that no kernel runs, whichever it is."""
    from tailback.backends.linux import suitable

    suitable.refuse(suitable.findings(scenario))


def shell(name: str, scenario: Scenario, wanted: Any) -> int:
    """Runs a shell or a command on a host of an experiment, and returns its status. Raises `Unsuitable` if the backend
    cannot.
    """
    if name.partition(":")[0] not in WITH_SHELLS:
        why = "its hosts are machines of yours: log in there" if name.startswith("ssh") else "it has no kernel"
        hint = "use --backend uml (virtual time) or netns (real time)"
        raise Unsuitable(f"`{name}` has no shell for a host: {why}\n  hint: {hint}")
    if wanted.at_ns >= scenario.duration_ns:
        end = time_word(scenario.duration_ns)
        raise Unsuitable(f"--at: the run ends at {end}\n  hint: name an earlier time, or make `duration` longer")
    backend = backend_for(open_backend(name), scenario)
    backend.check(scenario)
    if not isinstance(backend, OfShells):
        raise TypeError(f"the backend {name} has no shells")
    return backend.shell(scenario, wanted)
