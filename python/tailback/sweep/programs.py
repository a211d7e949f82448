"""What a backend notes of programs, in the summary of a run: their connections as flows, how they ended, and what they
report themselves.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, structs

from tailback.analysis import Measure
from tailback.backends import PROGRAMS


class Connection(Struct, frozen=True):
    """A connection of a program, as a flow."""

    flow: str
    direction: str


class Note(Struct, frozen=True):
    """What the manifest says of a program."""

    name: str
    started_s: float
    ended_s: float
    stopped: bool
    exit: int | None = None
    signal: int | None = None
    connections: tuple[Connection, ...] = ()
    reported: Mapping[str, float] | None = None


def noted(notes: Mapping[str, Any]) -> list[Note]:
    """The programs of a run; none if the entry has another form, as one that somebody else wrote."""
    try:
        return convert(notes.get(PROGRAMS, []), list[Note])
    except ValidationError:
        return []


def with_connections(measure: Measure, notes: Mapping[str, Any]) -> Measure:
    """The input of a summary with the connections of programs, which are known when a run is over."""
    flows = {each.flow: each.direction for program in noted(notes) for each in program.connections}
    if not flows:
        return measure
    directions = {**measure.directions, **flows}
    return structs.replace(measure, tcp_flows=(*measure.tcp_flows, *flows), directions=directions)


def summary_of(notes: Mapping[str, Any]) -> dict[str, Any]:
    """The entry `programs` of a summary: exit status, duration, and the program's own figures."""
    return {each.name: _entry(each) for each in noted(notes)}


def _entry(note: Note) -> dict[str, Any]:
    how = {"exit": note.exit, "signal": note.signal}
    found: dict[str, Any] = {key: value for key, value in how.items() if value is not None}
    found |= {"stopped": True} if note.stopped else {}
    found["lasted_s"] = round(note.ended_s - note.started_s, 9)
    return found | ({"reported": dict(note.reported)} if note.reported else {})


def told(summary: Mapping[str, Any]) -> list[str]:
    """A line for each program of a summary that was not stopped with the run."""
    found = summary.get("programs")
    entries = found.items() if isinstance(found, Mapping) else ()
    return [_line(name, entry) for name, entry in entries if isinstance(entry, Mapping) and "stopped" not in entry]


def _line(name: str, entry: Mapping[str, Any]) -> str:
    how = f"ended with status {entry['exit']}" if "exit" in entry else f"was ended by signal {entry.get('signal')}"
    figures = ", ".join(f"{key} {value:g}" for key, value in entry.get("reported", {}).items())
    says = f", and reports {figures}" if figures else ""
    return f"`{name}` {how} after {entry.get('lasted_s', 0.0):.3f} s{says}"
