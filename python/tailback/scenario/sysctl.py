"""Reads the sysctls of a host. The list is that of the simulator (`crates/tcp/src/sysctl.rs`); other sysctls are
refused, because they would have no effect."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tailback import _core
from tailback.on_demand import by_name
from tailback.scenario.defaults import STACKS
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown, whole


class Sysctl(Struct, frozen=True):
    """One sysctl: `count` numbers from `least` to `most`, of buffers in ascending order. `default` is Linux's, but for
    `tcp_no_metrics_save`, which hosts of an experiment have at 1. `since`: the version of Linux that introduced it;
    empty if all stacks have it. `newer`: the least of the values that a later version introduced, and which."""

    name: str
    unit: str
    default: str
    meaning: str
    least: int
    most: int
    count: int
    since: str
    newer: tuple[int, tuple[int, int]] | None = None


SYSCTLS = tuple(
    msgspec.convert({**row, "since": ".".join(map(str, row["since"] or ()))}, Sysctl) for row in _core.sysctls()
)

_LINUX = "linux-"

_BY_NAME = by_name(SYSCTLS)

# Sysctls for which experiments have keys of their own.
_ELSEWHERE = {
    "net.ipv4.tcp_congestion_control": "write `cc`, for the experiment or an entry of `traffic`",
    "net.core.default_qdisc": "write `qdiscs`, for each device",
    "net.core.rmem_max": "not needed: `rcvbuf` of an entry of `traffic` is not limited by it",
    "net.core.wmem_max": "not needed: `sndbuf` of an entry of `traffic` is not limited by it",
}


def sysctl(name: str, value: object) -> int | tuple[int, ...]:
    """Reads the value of a sysctl: an integer, or three for a buffer."""
    row = _BY_NAME.get(name)
    if row is None:
        hint = _ELSEWHERE.get(name) or nearest_hint(name, list(_BY_NAME))
        raise WordError(f"`{shown(name)}` is not a known sysctl", hint)
    numbers = [_number(word, row) for word in _words(value)]
    if len(numbers) != row.count:
        raise _refusal(value, row)
    if numbers != sorted(numbers):
        raise WordError(f"`{shown(value)}` is not in ascending order", f"write `{row.default}`, for example")
    return tuple(numbers) if row.count > 1 else numbers[0]


def check_stack(name: str, stack: str, value: object = None) -> None:
    """Refuses a sysctl, or a value of it, that is newer than the stack of its host."""
    row = _BY_NAME[name]
    if value is not None and row.newer is not None:
        _check_value(row, row.newer, stack, value)
    if _lacks(row, stack):
        introduced = f"Linux {row.since} introduced it" if stack.startswith(_LINUX) else "it is one of Linux"
        known = [each for each in STACKS if not _lacks(row, each)]
        hint = f"remove it, or give the host a stack that has it: {', '.join(known)}"
        raise WordError(f"the stack `{stack}` has no `{name}`: {introduced}", hint)


def _check_value(row: Sysctl, newer: tuple[int, tuple[int, int]], stack: str, value: object) -> None:
    least, version = newer
    since = ".".join(map(str, version))
    numbers = [_number(word, row) for word in _words(value)]
    if max(numbers) >= least and _is_before(stack, since):
        known = [each for each in STACKS if not _is_before(each, since)]
        hint = f"write a value up to {least - 1}, or give the host a stack that has it: {', '.join(known)}"
        raise WordError(f"the stack `{stack}` has no `{row.name}: {shown(value)}`: Linux {since} introduced it", hint)


def _is_before(stack: str, since: str) -> bool:
    return not stack.startswith(_LINUX) or _version(since) > _version(stack.removeprefix(_LINUX))


def _lacks(row: Sysctl, stack: str) -> bool:
    if not stack.startswith(_LINUX):
        # FreeBSD has the settings of its time under other names; what a later Linux introduced it has not.
        return bool(row.since)
    return bool(row.since) and _version(row.since) > _version(stack.removeprefix(_LINUX))


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _words(value: object) -> list[object]:
    if isinstance(value, str):
        return list(value.split())
    return list(value) if isinstance(value, list) else [value]


def _number(word: object, row: Sysctl) -> int:
    number = whole(word)
    word = word if number is None else number
    if isinstance(word, bool) or not isinstance(word, int) or not row.least <= word <= row.most:
        raise _refusal(word, row)
    return word


def _refusal(value: object, row: Sysctl) -> WordError:
    what = "one whole number" if row.count == 1 else f"{row.count} whole numbers"
    message = f"`{shown(value)}` is not a value of `{row.name}`"
    return WordError(message, f"it takes {what} between {row.least} and {row.most}, such as {row.default}")
