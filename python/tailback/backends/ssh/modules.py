"""The user's kernel modules (`cc: {module: tcp_mine.c}`) on a testbed: built on each machine with its kernel's headers.

Each machine with an end of such a flow gets the source, builds it in a folder of its own, and loads it. Afterwards the
machine unloads it and removes the folder, like any other change (`crates/agent/src/guard.rs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailback.backends.linux.own_modules import Own, own_modules
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout
from tailback.kernel.loadable import files

FOLDER = "/var/tmp/tailback-modules"

UNLOAD_S = 20
"""How long a module may remain in use by sockets that are closing."""


@dataclass(frozen=True)
class Command:
    """A command on a machine."""

    host: str
    what: str
    argv: tuple[str, ...]
    undo: tuple[str, ...] | None = None
    stdin: str = ""
    """The standard input of the command."""


def commands(layout: Layout) -> Iterator[Command]:
    """The commands that build and load the modules, each with the command that undoes it."""
    for host, own in _modules_by_machine(layout):
        place, what = f"{FOLDER}/{own.name}", f"the module {own.source.name}"
        yield Command(host, what, ("mkdir", "-p", place), ("rm", "-rf", place))
        for name, text in files(own.source, own.name, place).items():
            yield Command(host, what, ("tee", f"{place}/{name}"), stdin=text)
        yield Command(host, what, ("make", "-C", build_folder(layout.facts[host]), f"M={place}", "modules"))
        # The last sockets that use it may still be closing.
        unload = ("timeout", str(UNLOAD_S), "sh", "-c", f"until rmmod {own.name}; do sleep 0.2; done")
        yield Command(host, what, ("insmod", f"{place}/{own.name}.ko", *own.words), unload)


def problems(layout: Layout) -> Iterator[tuple[str, str, str]]:
    """Machines that cannot build a module: the machine, what is missing, and the remedy."""
    for host in dict.fromkeys(host for host, _ in _modules_by_machine(layout)):
        facts = layout.facts[host]
        if not facts.loadable:
            yield host, "its kernel loads no modules", "boot a kernel that does (CONFIG_MODULES)"
        elif not facts.has_headers:
            what = f"the headers of its kernel are not there ({build_folder(facts)})"
            yield host, what, f"apt-get install linux-headers-{facts.release}"
        for program, package in (("make", "make"), ("gcc", "gcc")):
            if program not in facts.programs:
                yield host, f"{program} is not there, to build a module", f"apt-get install {package}"


def build_folder(facts: Facts) -> str:
    """Where the kernel of a machine builds modules."""
    return f"/lib/modules/{facts.release}/build"


def _modules_by_machine(layout: Layout) -> Iterator[tuple[str, Own]]:
    """The modules that each machine needs: both ends of a connection have its control."""
    scenario = layout.scenario
    for own in own_modules(scenario):
        ends = [
            end
            for flow in scenario.connections
            if (flow.cc.name, flow.cc.parameters) == (own.source.name, own.parameters)
            for end in (flow.source, flow.target)
        ]
        for end in dict.fromkeys(ends):
            yield layout.name(end), own
