"""The network stacks of hosts, and the differences between them: `references/stacks.toml` with the core's values."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback import _core
from tailback.scenario.defaults import STACK, STACKS_WITHOUT_WIFI_TSQ, TSQ, WIFI_TSQ


@dataclass(frozen=True)
class Difference:
    """One thing that not all stacks have alike. `values`: those of the code, in words."""

    key: str
    what: str
    values: Mapping[str, str]
    since: str
    effect: str
    sources: Sequence[str]
    where: Sequence[str]


@dataclass(frozen=True)
class Stack:
    """One stack. `values`: what it has, by the key of the difference."""

    name: str
    summary: str
    values: Mapping[str, str]


def differences() -> tuple[Difference, ...]:
    """All of them, in the order of the file."""
    return tuple(_difference(key, entry) for key, entry in _file()["differences"].items())


def stacks() -> tuple[Stack, ...]:
    """All of them, the one that is modelled first."""
    summaries = _file()["stacks"]
    return tuple(Stack(row["name"], summaries[row["name"]], _values(row)) for row in _core.stacks())


def from_the_modelled(stack: Stack) -> tuple[Difference, ...]:
    """In what `stack` differs from the stack that is modelled; for that one, in what any other differs from it."""
    modelled = next(each for each in stacks() if each.name == STACK)
    others = stacks() if stack.name == STACK else (stack,)
    return tuple(
        each for each in differences() if any(other.values[each.key] != modelled.values[each.key] for other in others)
    )


def elsewhere(stack: Stack, difference: Difference) -> dict[str, list[str]]:
    """The other values of a difference, in words, and the stacks that have them."""
    found: dict[str, list[str]] = {}
    for other in stacks():
        if other.values[difference.key] != stack.values[difference.key]:
            found.setdefault(difference.values[other.values[difference.key]], []).append(other.name)
    return found


def _values(row: _core.Stack) -> dict[str, str]:
    """Those of the simulator, and the one that an experiment file's reading decides."""
    return {**row["values"], "wifi_small_queue": TSQ if row["name"] in STACKS_WITHOUT_WIFI_TSQ else WIFI_TSQ}


def _difference(key: str, entry: Mapping[str, Any]) -> Difference:
    return Difference(
        key, entry["what"], entry["values"], entry["since"], entry["effect"], entry["from"], entry["where"]
    )


def _file() -> dict[str, Any]:
    return tomllib.loads(_core.stack_differences())
