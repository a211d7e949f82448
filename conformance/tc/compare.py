"""Compares our reading of each string with that of `tc` and the kernel: whether it is accepted, and the resulting
options.

Values agree within the precision of the kernel's clocks and of `tc`'s output: 0.2 %, 1 of the last digit, or 2 µs that
an older `tc` truncates from a bucket.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.tc.golden import Row
from conformance.tc.known import ONLY_TC_SHOWS, ONLY_WE_SHOW, PRINTED_OTHERWISE
from tailback import _core, qdiscs
from tailback.scenario import CoreRegistry, words
from tailback.tc import units
from tailback.tc.errors import WordError

QDISCS = CoreRegistry().qdiscs


@dataclass(frozen=True)
class Ours:
    """Our reading of a string."""

    found: words.Algorithm
    resolved: Mapping[str, int]


def ours(text: str) -> Ours | WordError | ValueError:
    """Reads a string; returns the error if it is refused."""
    try:
        found = words.discipline(text, QDISCS)
        resolved = _resolved("htb", found) if found.classes else _core.resolved_qdisc(found.kind, found.options, 1500)
        return Ours(found, resolved)
    except (WordError, ValueError) as error:
        return error


def _resolved(kind: str, tree: words.Algorithm) -> Mapping[str, int]:
    """The options of a discipline with classes, which has no rate itself."""
    return {name: value for name, value in tree.options.items() if kind == "htb"}


def differences(row: Row) -> list[str]:
    """The differences between us and `tc` as text."""
    read = ours(row.text)
    accepted = row.status == 0
    if not isinstance(read, Ours):
        return [f"`tc` accepts it, we do not: {read}"] if accepted else []
    if not accepted:
        return ["we accept it, `tc` does not"]
    shown = qdiscs.shown(read.found.kind, read.resolved)
    kind = read.found.kind
    known = {*ONLY_TC_SHOWS.get(kind, ()), *ONLY_WE_SHOW.get(kind, ()), *PRINTED_OTHERWISE.get(row.text, ())}
    theirs = {name: value for name, value in row.options.items() if name not in known}
    mine = {name: value for name, value in shown.items() if name not in known}
    found = [f"{name}: {_of(mine, name)}, `tc` has {_of(theirs, name)}" for name in _unlike(mine, theirs)]
    return [*found, *_of_classes(read, row)]


def _of(options: Mapping[str, Any], name: str) -> object:
    return options.get(name, "nothing")


def _unlike(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*mine, *theirs}):
        if name not in mine or name not in theirs or not alike(mine[name], theirs[name]):
            yield name


def alike(mine: Any, theirs: Any) -> bool:
    """Whether two values are equal except for rounding."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return set(mine) == set(theirs) and all(alike(mine[name], theirs[name]) for name in mine)
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (mine, theirs))
    if not numbers:
        return bool(mine == theirs)
    near = 1 if isinstance(mine, int) and isinstance(theirs, int) else 2e-6
    return bool(abs(mine - theirs) <= max(near, 2e-3 * abs(theirs)))


# -- classes


_WORDS = re.compile(r"(prio|quantum|rate|ceil|burst|cburst|overhead|mpu|linklayer) (\S+)")
_SIZES = ("burst", "cburst")


def _of_classes(read: Ours, row: Row) -> Iterator[str]:
    shown = {line.split()[2]: line for line in row.classes}
    for each in read.found.classes:
        line = shown.get(f"1:{each.minor:x}")
        if line is None:
            yield f"class {each.minor:x}: the kernel has none"
            continue
        resolved = _core.resolved_qdisc("htb", each.options, 1500)
        inner = " prio " not in line
        for name, text in dict(reversed(_WORDS.findall(line))).items():
            if name in PRINTED_OTHERWISE.get(row.text, ()) or (inner and name in ("prio", "quantum")):
                continue
            if not _class_value_agrees(name, text, resolved):
                yield f"class {each.minor:x}: {name} {resolved[name]}, `tc` has {text}"


def _class_value_agrees(name: str, text: str, resolved: Mapping[str, int]) -> bool:
    if name in ("rate", "ceil"):
        return abs(units.rate(text) - resolved[name]) <= resolved[name] / 1000
    if name == "linklayer":
        return text == ("atm" if resolved[name] else "ethernet")
    if name not in _SIZES:
        return int(text.rstrip("b")) == resolved[name]
    microseconds = 2 * resolved["rate" if name == "burst" else "ceil"] / 8e6
    return abs(units.size(text.split("/", maxsplit=1)[0]) - resolved[name]) <= max(microseconds, 2)
