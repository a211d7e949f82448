"""The network stacks of hosts, and the differences between them: `references/stacks.toml` with the core's values."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from tailback import _core
from tailback.scenario.defaults import STACK, STACKS_WITHOUT_WIFI_TSQ, TSQ, WIFI_TSQ


class Difference(Struct, frozen=True):
    """A difference between stacks. `values`: the description of each of its values."""

    key: str
    what: str
    values: Mapping[str, str]
    since: str
    effect: str
    sources: Sequence[str]
    where: Sequence[str]


class Stack(Struct, frozen=True):
    """A network stack. `values`: its value of each difference, by key."""

    name: str
    summary: str
    values: Mapping[str, str]


def differences() -> tuple[Difference, ...]:
    """All differences, in the order of the file."""
    return tuple(_difference(key, entry) for key, entry in _file()["differences"].items())


def stacks() -> tuple[Stack, ...]:
    """All stacks; the default one comes first."""
    summaries = _file()["stacks"]
    return tuple(Stack(row["name"], summaries[row["name"]], _values(row)) for row in _core.stacks())


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


def _difference(key: str, entry: Mapping[str, Any]) -> Difference:
    return Difference(
        key, entry["what"], entry["values"], entry["since"], entry["effect"], entry["from"], entry["where"]
    )


@functools.cache
def _file() -> dict[str, Any]:
    return tomllib.loads(_core.stack_differences())
