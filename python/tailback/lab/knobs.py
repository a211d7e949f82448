"""The knobs of an experiment: for each value that can vary, where it is in the text and what it may become.

A knob of a value in the text replaces it there, so that text and knobs never say different things. A knob of an axis
(`vary`) chooses one of its values, or for a key any other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tailback.scenario import Registry
from tailback.scenario.yaml_nodes import MAPPING, SCALAR, SEQUENCE, Node

MOST = 60
"""Knobs of one file; more would hide those that matter."""

MOST_PER_LIST = 4
"""Entries of a list that have knobs: of a thousand links, the first."""

RANGE = 16.0
"""A slider goes from the value divided by this to the value times this."""

Unit: TypeAlias = Literal["rate", "time", "size", "count", "packets"]

_NUMBERS: Mapping[Unit, re.Pattern[str]] = {
    "rate": re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[kmgKMG]?bit)"),
    "time": re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ns|us|ms|s)"),
    "size": re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[kKmMgG]i?[bB]|[bB])"),
    "packets": re.compile(r"(?P<number>[0-9]+)(?P<unit>p)"),
    "count": re.compile(r"(?P<number>[0-9]+)(?P<unit>)"),
}

_SCALE = {
    "": 1.0, "p": 1.0, "bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0,
    "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2, "gib": 1024.0**3,
}  # fmt: skip

_LEFT_OUT = frozenset(
    ("title", "seed", "repeat", "duration", "measure", "vary", "expect", "kernel", "stack", "start", "stop", "jitter",
     "name", "ends", "at", "mtu", "interval", "schedule", "routes", "access_point", "ap", "stations", "standard")
)  # fmt: skip
"""Keys whose values are no knobs: what is measured and when, names, and what makes another network."""

_SMALL_QUEUES = ("off", "1ms", "2ms", "4ms", "8ms", "16ms", "32ms")
_OFFLOADS = ("off", "gso", "on")

_PLAIN = re.compile(r"[A-Za-z0-9._%/-]+")


class Knob(Struct, frozen=True, omit_defaults=True):
    """One knob."""

    id: str
    label: str
    kind: Literal["slider", "choice"]
    value: str
    """The present value in the words of the file."""
    place: tuple[int, int] | None = None
    """Where the value is in the text, in code units of UTF-16; `None` for a knob of an axis."""
    before: str = ""
    """What comes before a value that is not yet in the text."""
    unit: Unit | None = None
    number: float | None = None
    """The present value of a slider in bit/s, s, bytes or one."""
    least: float | None = None
    most: float | None = None
    options: Sequence[str] = ()
    free: bool = False
    """Whether an axis may have other values than those of the file."""


def knobs(text: str, root: Node, axes: Mapping[str, Sequence[str]], registry: Registry) -> list[Knob]:
    """The knobs of a file with these axes: those of axes first, then those of disciplines, where most files have their
    bottleneck. The order does not follow from values: a knob that is turned keeps its place.
    """
    values = {path: node.value for path, node in _scalars(root, "")} if root.id == MAPPING else {}
    found = [_axis(name, labels, values, registry) for name, labels in axes.items() if len(labels) > 1]
    varied = {name for axis in axes for name in (axis, f"let.{axis}")}
    place, names = _places(text), _names(root)
    in_text = sorted(_in_text(text, root, registry), key=lambda knob: not knob.id.startswith(("qdiscs.", "let.")))
    for knob in (*in_text, *_absent(text, root, registry)):
        if knob.id not in varied and len(found) < MOST:
            found.append(replace(knob, place=place(knob.place), label=_named(knob.label, names)))
    return found


def _names(root: Node) -> dict[str, str]:
    """What entries of lists are called: links by their ends, flows by their name."""
    found = {}
    for key, entries in root.value if root.id == MAPPING else ():
        for place, entry in enumerate(entries.value if entries.id == SEQUENCE else ()):
            known = {str(name.value): child for name, child in entry.value} if entry.id == MAPPING else {}
            ends, name = known.get("ends"), known.get("name")
            if ends is not None and ends.id == SEQUENCE:
                found[f"{key.value}[{place}]"] = " – ".join(str(end.value) for end in ends.value)
            elif name is not None and name.id == SCALAR:
                found[f"{key.value}[{place}]"] = str(name.value)
    return found


def _named(label: str, names: Mapping[str, str]) -> str:
    head, dot, rest = label.partition(".")
    return f"{names[head]}: {rest}" if dot and head in names else label.removeprefix("qdiscs.").removeprefix("let.")


def _places(text: str) -> Callable[[tuple[int, int] | None], tuple[int, int] | None]:
    """From characters to the code units in which a browser counts."""
    if all(character <= "\uffff" for character in text):
        return lambda place: place
    units = [0, *itertools.accumulate(1 + (character > "\uffff") for character in text)]
    return lambda place: None if place is None else (units[place[0]], units[place[1]])


def _axis(name: str, labels: Sequence[str], values: Mapping[str, str], registry: Registry) -> Knob:
    more = _choices(name, registry)
    if values.get(f"let.{name}") in (disciplines := _disciplines(registry)):
        more = disciplines
    options = (*labels, *(word for word in more if word not in labels))
    return Knob(name, name, "choice", labels[0], options=options, free=len(options) > len(labels))


def _disciplines(registry: Registry) -> list[str]:
    """Those that work without options."""
    return [row.name for row in registry.qdiscs if row.name not in _SHAPERS]


def _choices(key: str, registry: Registry) -> Sequence[str]:
    """The values of a key that has a few."""
    if key == "cc" or key.endswith(".cc"):
        return [row.name for row in registry.congestion_controls]
    if key == "driver" or key.endswith(".driver"):
        return [row.name for row in registry.drivers]
    if key == "tsq" or key.endswith(".tsq"):
        return _SMALL_QUEUES
    return _OFFLOADS if key == "offloads" or key.endswith(".offloads") else ()


def _absent(text: str, root: Node, registry: Registry) -> Iterator[Knob]:
    """The knobs of keys that the file does not have: the control and the small queue of all flows."""
    there = {str(key.value) for key, _ in root.value}
    if getattr(root, "flow_style", False) or "traffic" not in there:
        return
    before = "" if text.endswith("\n") else "\n"
    end = (len(text), len(text))
    for key, value, label in (("cc", "cubic", "cc (default)"), ("tsq", "1ms", "tsq (default)")):
        if key not in there:
            options = (value, *(word for word in _choices(key, registry) if word != value))
            yield Knob(key, label, "choice", value, end, f"{before}{key}: ", options=options)


def _in_text(text: str, root: Node, registry: Registry) -> Iterator[Knob]:
    if root.id != MAPPING:
        return
    for path, node in _scalars(root, ""):
        written = text[node.start_mark.index : node.end_mark.index]
        start = node.start_mark.index
        if written[:1] in ("'", '"') and written[1:-1] == node.value:
            written, start = written[1:-1], start + 1
        if written == node.value and "${" not in written:
            yield from _of_value(path, (written, start), registry)
        elif path.startswith("qdiscs.") and written == node.value:
            yield from _of_discipline(path, (written, start), registry)


def _scalars(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """Each value that may be a knob: its path, and its node."""
    if node.id == SCALAR:
        yield path, node
    elif node.id == SEQUENCE:
        for index, child in enumerate(node.value[:MOST_PER_LIST]):
            yield from _scalars(child, f"{path}[{index}]")
    else:
        for name, child in node.value:
            word = str(name.value)
            if name.id == SCALAR and word not in _LEFT_OUT:
                yield from _scalars(child, f"{path}.{word}" if path else word)


def _of_value(path: str, written: tuple[str, int], registry: Registry) -> Iterator[Knob]:
    if path.startswith("qdiscs."):
        yield from _of_discipline(path, written, registry)
        return
    text, start = written
    place = (start, start + len(text))
    options = _choices(path, registry)
    if options and _PLAIN.fullmatch(text):
        yield Knob(path, path, "choice", text, place, options=_with(text, options))
        return
    slider = _slider(path, text, start)
    if slider is not None:
        yield slider
    elif path.startswith("let.") and text.split()[:1] and text.split()[0] in _disciplines(registry):
        yield from _of_discipline(path, written, registry)


def _with(value: str, options: Sequence[str]) -> Sequence[str]:
    return options if value in options else (value, *options)


def _slider(path: str, text: str, start: int) -> Knob | None:
    for unit, pattern in _NUMBERS.items():
        found = pattern.fullmatch(text)
        if found is not None:
            number = float(found["number"]) * _SCALE[found["unit"].lower()]
            if number > 0:
                least, most = number / RANGE, number * RANGE
                if unit in ("count", "packets"):
                    least = max(1.0, round(least))
                return Knob(path, path, "slider", text, (start, start + len(text)), unit=unit, number=number,
                            least=least, most=most)  # fmt: skip
    return None


def _of_discipline(path: str, written: tuple[str, int], registry: Registry) -> Iterator[Knob]:
    """The numbers in the words of `tc`, and the discipline at the end of a chain."""
    text, start = written
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    for (name, _), (word, at) in itertools.pairwise(words):
        slider = None if "${" in word else _slider(f"{path} {name}", word, start + at)
        if slider is not None and name != "|":
            yield slider
    last = text.rfind("|") + 1
    leaf = text[last:].strip()
    names = _disciplines(registry)
    if leaf and leaf.split()[0] in names:
        at = start + text.index(leaf, last)
        of_variable = path.startswith("let.")
        name, label = (path, path) if of_variable else (f"{path} leaf", f"{path} discipline")
        yield Knob(name, label, "choice", leaf, (at, at + len(leaf)), options=_with(leaf, names))


_SHAPERS = ("htb", "tbf", "netem", "prio", "mq", "drr")
"""Disciplines that need options or classes before they work."""
