"""Congestion controls of the user on a real kernel: modules (`cc: {module: tcp_mine.c}`), built for that kernel, and
BPF programs, whose controls keep the names that the programs give them.

A module with other parameters is another module: each has a name of its own, under which it is loaded and its control
is registered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.backends.backend import RunFailed
from tailback.backends.linux.steps import Json
from tailback.kernel.messages import Source
from tailback.resolved import Control, Scenario

LANGUAGE = "c"
LONGEST_NAME = 15
"""Characters of the name of a control. [linux-6.12 tcp.h TCP_CA_NAME_MAX]"""

PREFIX = "tb"

LOG = "kernel.log"
"""The file of the agent with what the kernel printed (`crates/agent/src/kernel_module.rs`)."""

TAINTS = "loading out-of-tree module taints kernel."
"""What a kernel prints when it loads the first module that is not its own."""

NAME_IN_BPF = re.compile(r'^\s*\.name\s*=\s*"(?P<name>[^"\s]{1,15})"', re.MULTILINE)
"""The member of struct tcp_congestion_ops with the name of the control, in a BPF program."""

GUARD = re.compile(r"^(<\d+>)?(\[ *[\d.]+\] )?tailback: (?P<module>\w+): (?P<call>\w+): (?P<what>.+)$", re.MULTILINE)
"""What `kernel/module/tailback_register.c` prints when a module has done what none may."""

NOTED = re.compile(r"tailback: (\w+): calls are noted at (?:0x)?([0-9a-f]+)")
"""What it prints for those outside of a guest."""

WHOLE_LOG = "module.log"
"""The file in the folder of a run with all that its modules printed."""

REGISTERED = re.compile(r"tailback: (\w+): registered$")
"""What it prints on a machine, whose log has the lines of earlier runs, too."""

MOST_LINES = 1_000
"""Lines of what modules print that a manifest has."""


@dataclass(frozen=True)
class Own:
    """A module of the user with its parameters."""

    name: str
    """Of the module in the kernel, and of its control."""
    source: Source
    parameters: Mapping[str, Any]

    @property
    def words(self) -> list[str]:
        """The parameters as `insmod` takes them."""
        return [f"{name}={_word(value)}" for name, value in self.parameters.items()]


def own_modules(scenario: Scenario) -> list[Own]:
    """The modules of a scenario, in the order of its flows."""
    sources = {source.name: source for source in scenario.controls if source.language == LANGUAGE}
    wanted: list[Control] = []
    for flow in scenario.connections:
        if flow.cc.name in sources and flow.cc not in wanted:
            wanted.append(flow.cc)
    return [
        Own(_name(number, control.name), Source(control.name, sources[control.name].text), control.parameters)
        for number, control in enumerate(wanted)
    ]


def registered(scenario: Scenario, control: Control) -> str:
    """The name of a control in the kernel."""
    for own in own_modules(scenario):
        if (own.source.name, own.parameters) == (control.name, control.parameters):
            return own.name
    texts = [source.text for source in scenario.controls if source.language == "bpf" and source.name == control.name]
    return str((name_in_bpf(texts[0]) if texts else None) or control.name)


def name_in_bpf(text: str) -> str | None:
    """The name of the control of a BPF program; None if it has none."""
    found = NAME_IN_BPF.search(text)
    return None if found is None else found["name"]


def loads(scenario: Scenario, folder: str) -> Iterator[Json]:
    """The steps that load the modules, whose files are in `folder` on the machine of the kernel."""
    for own in own_modules(scenario):
        yield {"kind": "load", "path": f"{folder}/{own.name}.ko", "parameters": " ".join(own.words)}


def printed(log: str) -> list[str]:
    """What the kernel's log says since the first module was loaded, without levels and times."""
    lines = [re.sub(r"^(<\d+>)?(\[ *[\d.]+\] )?", "", line) for line in log.splitlines()]
    first = next((number for number, line in enumerate(lines) if line.endswith(TAINTS)), len(lines))
    return [line for line in lines[first + 1 :] if not NOTED.match(line)]


def of_machine(log: str, owns: Sequence[Own]) -> list[str]:
    """What the log of a machine says since the modules of this run were loaded; raises `RunFailed` if one failed."""
    lines = [re.sub(r"^(<\d+>)?(\[ *[\d.]+\] )?", "", line) for line in log.splitlines()]
    marks = [
        number for number, line in enumerate(lines) if (found := REGISTERED.match(line)) and _is_first(found, owns)
    ]
    since = [line for line in lines[marks[-1] + 1 :] if not REGISTERED.match(line)] if marks else []
    for own in owns:
        for line in since:
            said = GUARD.match(line)
            if said is not None and said["module"] == own.name:
                what = f"{own.source.name}: {said['what']}, in its call `{said['call']}`"
                raise RunFailed(f"the congestion control failed: {what}")
    return since


def _is_first(found: re.Match[str], owns: Sequence[Own]) -> bool:
    return bool(owns) and found[1] == owns[0].name


def of_manifest(lines: Sequence[str]) -> list[str]:
    """The first of the lines that modules printed, and where all of them are."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], f"({more} more lines in {WHOLE_LOG})"] if more > 0 else list(lines)


def notes(made: Mapping[str, Path], described: Mapping[str, str], lines: Sequence[str] = ()) -> dict[str, Any]:
    """What the manifest says of the modules of a run, and what they printed."""
    if not made:
        return {}
    return {
        "modules": {name: dict(described) for name in made},
        **({"module_log": of_manifest(lines)} if lines else {}),
    }


def files_of(lines: Sequence[str]) -> dict[str, bytes]:
    """The file with all that modules printed, if a manifest does not have all of it."""
    return {WHOLE_LOG: "".join(f"{line}\n" for line in lines).encode()} if len(lines) > MOST_LINES else {}


def _name(number: int, file: str) -> str:
    stem = re.sub(r"\W", "_", Path(file).stem).removeprefix("tcp_")
    return f"{PREFIX}{number}_{stem}"[:LONGEST_NAME]


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
