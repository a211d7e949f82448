"""The network stacks of hosts, and the differences between them: `references/stacks.toml` with the core's values."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tailback import _core
from tailback.scenario.defaults import STACK, STACKS_WITHOUT_WIFI_TSQ, TSQ, WIFI_TSQ

_LINUX = "linux-"


class Evidence(Struct, frozen=True):
    """How the values of a difference are known. `measured`: by stack, the run that shows it; `read`: the stacks whose
    sources were read."""

    read: Sequence[str]
    measured: Mapping[str, str] = {}

    def of(self, stack: str) -> str:
        """How the value of `stack` is known, as words."""
        if stack in self.measured:
            return f"measured by {self.measured[stack]}"
        if stack in self.read:
            return "read"
        if not stack.startswith(_LINUX):
            return "from its sources"
        known = [*self.measured, *self.read]
        older = max((each for each in known if _version(each) < _version(stack)), key=_version, default=None)
        newer = min((each for each in known if _version(each) > _version(stack)), key=_version, default=None)
        if older and newer:
            return f"between {older} and {newer}"
        return f"after {older}" if older else f"before {newer}"


class Difference(Struct, frozen=True):
    """A difference between stacks. `values`: the description of each of its values."""

    key: str
    what: str
    values: Mapping[str, str]
    since: str
    evidence: Evidence
    effect: str
    sources: Sequence[str]
    where: Sequence[str]


class Stack(Struct, frozen=True):
    """A network stack. `release`: the point release that it stands for. `values`: of each difference, by key."""

    name: str
    summary: str
    release: str
    values: Mapping[str, str]


def differences() -> tuple[Difference, ...]:
    """All differences, in the order of the file."""
    return tuple(_difference(key, entry) for key, entry in _file()["differences"].items())


def stacks() -> tuple[Stack, ...]:
    """All stacks; the default one comes first."""
    entries = _file()["stacks"]
    return tuple(_stack(row, entries[row["name"]]) for row in _core.stacks())


def in_order(some: Sequence[Stack]) -> tuple[Stack, ...]:
    """The versions of Linux from the oldest on, then the others."""
    linux = sorted((each for each in some if each.name.startswith(_LINUX)), key=lambda each: _version(each.name))
    return (*linux, *(each for each in some if not each.name.startswith(_LINUX)))


def from_the_modelled(stack: Stack) -> tuple[Difference, ...]:
    """The differences of `stack` from the default stack; of the default stack, the differences of all others."""
    modelled = next(each for each in stacks() if each.name == STACK)
    others = stacks() if stack.name == STACK else (stack,)
    return tuple(
        each for each in differences() if any(other.values[each.key] != modelled.values[each.key] for other in others)
    )


def elsewhere(stack: Stack, difference: Difference) -> dict[str, list[str]]:
    """The descriptions of the other values of a difference, each with the stacks that have it."""
    found: dict[str, list[str]] = {}
    for other in stacks():
        if other.values[difference.key] != stack.values[difference.key]:
            found.setdefault(difference.values[other.values[difference.key]], []).append(other.name)
    return found


def _values(row: _core.Stack) -> dict[str, str]:
    """The values in the simulator, and the TSQ setting on Wi-Fi, which is set when an experiment file is read."""
    return {**row["values"], "wifi_small_queue": TSQ if row["name"] in STACKS_WITHOUT_WIFI_TSQ else WIFI_TSQ}


def _stack(row: _core.Stack, entry: Mapping[str, str]) -> Stack:
    return Stack(row["name"], entry["what"], entry["release"], _values(row))


def _difference(key: str, entry: Mapping[str, Any]) -> Difference:
    evidence = Evidence(**entry["evidence"])
    rest = (entry["since"], evidence, entry["effect"], entry["from"], entry["where"])
    return Difference(key, entry["what"], entry["values"], *rest)


def _version(stack: str) -> tuple[int, ...]:
    return tuple(map(int, stack.removeprefix(_LINUX).split(".")))


@functools.cache
def _file() -> dict[str, Any]:
    return tomllib.loads(_core.stack_differences())
