"""Prints the disciplines at the end of a run, as `tc -s qdisc show` and `tc -s class show` do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from tailback import qdiscs
from tailback.cli.failures import WrongInput
from tailback.qdiscs import Shown
from tailback.tc.printing import PRINTERS, number, size

Entry: TypeAlias = Mapping[str, Any]


def text(entries: Iterable[Entry]) -> str:
    """The disciplines as text."""
    try:
        return "\n".join(line for entry in entries for line in _lines(entry))
    except qdiscs.NotListed as error:
        raise WrongInput(str(error)) from None


def _lines(entry: Entry) -> Iterator[str]:
    place = "root" if entry.get("root") else f"parent {entry['parent']}"
    words = " ".join(_options(entry))
    yield f"qdisc {entry['kind']} {entry['handle']} dev {entry['dev']} {place} {words}".rstrip()
    yield from _counted(entry)
    shape = qdiscs.of(entry["kind"]).shown
    for names in shape.counters:
        there = [f"{name} {_printed(shape, name, entry[name])}" for name in names if name in entry]
        if there:
            yield f"  {' '.join(there)}"
    yield from shape.more(entry)
    for each in entry.get("classes", ()):
        yield from _class(entry["kind"], each)


def _counted(entry: Entry) -> Iterator[str]:
    yield (
        f" Sent {entry['bytes']} bytes {entry['packets']} pkt "
        f"(dropped {entry['drops']}, overlimits {entry['overlimits']} requeues {entry['requeues']})"
    )
    yield f" backlog {size(entry['backlog'])} {entry['qlen']}p requeues {entry['requeues']}"


def _class(kind: str, each: Entry) -> Iterator[str]:
    place = f"parent {each['parent']}" if "parent" in each else "root"
    yield f"class {kind} {each['class']} {place}"
    yield from _counted(each)
    for names in qdiscs.of(kind).shown.class_counters:
        yield "  " + " ".join(f"{name}: {each[name]}" for name in names)


def _options(entry: Entry) -> Iterator[str]:
    shape = qdiscs.of(entry["kind"]).shown
    if shape.words is not None:
        yield from shape.words(entry["options"])
        return
    for name, value in shape.joined(entry["options"]).items():
        if value is None or value is True:
            yield name
        elif value is False and name in shape.denied:
            yield f"no{name}"
        elif value is not False:
            yield f"{name} {_option(entry['kind'], name, value)}"


def _option(kind: str, name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(str, value))
    return _printed(qdiscs.of(kind).shown, name, value)


def _printed(shape: Shown, name: str, value: Any) -> str:
    unit = shape.units.get(name)
    return number(value) if unit is None else PRINTERS[unit](value)
