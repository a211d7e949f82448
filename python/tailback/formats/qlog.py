"""Imports qlog files of QUIC stacks as a results folder: each file is a run, each trace of it a flow.
[qlog-main §3, §4] [qlog-quic §7]

    recovery:metrics_updated            the table `endpoints`: window, RTT, data in flight, pacing rate
    packet_sent, packet_received        the table `flows`: what the end sent, or received if that is more
    packet_lost                         the column `lost`

Files are JSON, or lines or records (RFC 7464) of JSON. Time begins at the first event of the file; the traces of a file
have one clock.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import Struct

from tailback import columns
from tailback.analysis import Measure, Window, summarise
from tailback.formats.errors import NotReadable
from tailback.limits import Damaged, FileRefused, open_unpacked
from tailback.plain import visible
from tailback.resolved import Observed, Record, Scenario
from tailback.results import ExperimentPlan, RunPlan, claim, run_name
from tailback.results.provenance import utc_now
from tailback.results.store import Finished

MAX_BYTES = 1 << 28
MAX_EVENTS = 5_000_000
LONGEST_MS = 1e10
LARGEST = 1e15
STEP_S = 0.1
SEPARATOR = "\x1e"

METRICS = {
    "congestion_window": ("cwnd_bytes", 1.0), "bytes_in_flight": ("in_flight_bytes", 1.0), "smoothed_rtt": ("rtt", 1e3),
    "min_rtt": ("min_rtt", 1e3), "pacing_rate": ("pacing_rate", 1 / 8),
}  # fmt: skip
"""Our columns of metrics, and the factors of their units: qlog has ms and bit/s."""

REPORTED = ("cwnd_bytes", "datagram_bytes", "in_flight_bytes", "rtt", "min_rtt", "pacing_rate", "lost")
UNITS = {
    "t": "s", "bytes": "B", "cwnd_bytes": "B", "datagram_bytes": "B", "in_flight_bytes": "B", "rtt": "µs",
    "min_rtt": "µs", "pacing_rate": "B/s", "lost": "packets",
}  # fmt: skip

ABSOLUTE, DELTA = ("absolute",), ("delta", "relative_to_previous_event")


class Event(Struct, frozen=True):
    """An event: its time in ms, the last part of its name, and its data."""

    at: float
    name: str
    data: Mapping[str, Any]


class Trace(Struct, frozen=True):
    """The events of one end of a connection."""

    name: str
    events: Sequence[Event]


def import_files(files: Sequence[Path], folder: Path, axes: Mapping[str, str]) -> Path:
    """Imports `files` as the results folder `folder`, with additional `axes`; returns the folder."""
    if not files:
        raise NotReadable("no file to import\n  hint: give one or more .qlog or .sqlog files")
    found = []
    for number, file in enumerate(files, 1):
        held = _content(file)
        places = {"title": visible(file.name.split(".")[0]), **axes}
        found.append(_run(traces(held, file), places, (number, file, hashlib.sha256(held).hexdigest()[:32])))
    plans = [plan for plan, _, _ in found]
    title = plans[0].scenario.title
    with claim(folder, ExperimentPlan(title, f"# imported from qlog\ntitle: {title}\n", (), "qlog", plans)) as store:
        for plan, frames, measure in found:
            tables = {name: columns.as_they_are(frame, UNITS) for name, frame in frames.items()}
            if store.complete(plan) is None:
                store.write(plan, Finished(tables, summarise(frames, {}, measure), {}, utc_now(), 0.0))
    return folder


def _content(file: Path) -> bytes:
    try:
        with open_unpacked(file, MAX_BYTES) as stream:
            return b"".join(stream.pieces())
    except (Damaged, FileRefused) as error:
        raise NotReadable(f"`{file}` is not read: {error}\n  hint: give a file as a QUIC stack wrote it") from error
    except OSError as error:
        raise NotReadable(f"cannot read `{file}`: {error.strerror or error}\n  hint: is the name right?") from error


def traces(held: bytes, file: Path) -> list[Trace]:
    """The traces of a file, with events and names of their own; raises `NotReadable`."""
    try:
        text = held.decode()
        documents = [json.loads(part) for part in _parts(text)]
    except UnicodeDecodeError as error:
        raise _unlike(file, f"it is not text (byte {error.start})") from error
    except (ValueError, RecursionError) as error:
        raise _unlike(file, f"it is not JSON: {error}") from error
    head = documents[0] if documents and isinstance(documents[0], dict) else {}
    given = head.get("traces") if "traces" in head else [{**_mapping(head.get("trace")), "events": documents[1:]}]
    if not isinstance(given, list):
        raise _unlike(file, "`traces` is not a list")
    found = [_trace(each, place) for place, each in enumerate(given, 1) if isinstance(each, dict)]
    kept = [each for each in found if each.events]
    if not kept:
        raise _unlike(file, "it has no event with a time, a name and data")
    if sum(len(each.events) for each in kept) > MAX_EVENTS:
        raise NotReadable(f"`{file}` has more than {MAX_EVENTS} events\n  hint: give a shorter one")
    names = [each.name for each in kept]
    return [
        Trace(each.name if names.count(each.name) == 1 else f"{each.name}.{place}", each.events)
        for place, each in enumerate(kept, 1)
    ]


def _parts(text: str) -> Iterator[str]:
    """The documents in a text: one, or one in each record or line."""
    if text.startswith(SEPARATOR):
        return (part for part in text.split(SEPARATOR) if part.strip())
    first = text.lstrip().partition("\n")[0].strip()
    is_lines = first.startswith("{") and first.endswith("}") and text.strip().count("\n") > 0
    return (line for line in text.splitlines() if line.strip()) if is_lines else iter([text])


def _trace(given: Mapping[str, Any], place: int) -> Trace:
    vantage, common = _mapping(given.get("vantage_point")), _mapping(given.get("common_fields"))
    name = vantage.get("type") or vantage.get("name") or given.get("title") or f"trace{place}"
    events, format_ = given.get("events"), common.get("time_format")
    found = [made for each in (events if isinstance(events, list) else ()) if (made := _event(each)) is not None]
    if format_ in DELTA:
        sums, total = [], 0.0
        for each in found:
            total += each.at
            sums.append(Event(total, each.name, each.data))
        found = sums
    return Trace(visible(str(name))[:60], sorted(found, key=lambda each: each.at))


def _event(given: Any) -> Event | None:
    """An event that has a time, a name and data; None for others."""
    if not isinstance(given, dict) or not isinstance(given.get("data"), dict) or not isinstance(given.get("name"), str):
        return None
    at = _number(given.get("time"))
    # `recovery:metrics_updated`, and `quic:recovery_metrics_updated` of later drafts.
    name = given["name"].rpartition(":")[2].removeprefix("recovery_")
    return None if at is None else Event(at, name, given["data"])


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {}


def _number(given: Any) -> float | None:
    """A number that is one; None for others."""
    try:
        found = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    except OverflowError:
        return None
    return found if abs(found) < LARGEST else None


def _run(
    found: Sequence[Trace], axes: Mapping[str, str], place: tuple[int, Path, str]
) -> tuple[RunPlan, dict[str, pd.DataFrame], Measure]:
    number, file, digest = place
    first = min(each.events[0].at for each in found)
    span = max(each.events[-1].at for each in found) - first
    if not span < LONGEST_MS:
        raise _unlike(file, f"its events span {span / 1e3:.3g} s")
    ways = {each.name: _way(each) for each in found}
    rows = [row for each in found for row in _reported(each, first)]
    # Without packets it is not known how many bytes there were, and not that there were none.
    tables = {
        "flows": _flows(found, ways, first),
        "endpoints": pd.DataFrame(rows, columns=["t", "flow", "end", *REPORTED]),
    }
    frames = {name: table for name, table in tables.items() if len(table)}
    if not frames:
        raise _unlike(file, "no event is `packet_sent`, `packet_received` or `metrics_updated`")
    end_ns = math.ceil(span / 1e3 / STEP_S + 1e-9) * round(STEP_S * 1e9) or round(STEP_S * 1e9)
    scenario = Scenario(
        title=visible(file.name),
        seed=0,
        duration_ns=end_ns,
        traffic=tuple(Observed(kind="udp", name=name, way=way) for name, way in ways.items()),
        record=Record(interval_ns=round(STEP_S * 1e9), tcp_info="interval", events=False),
        imported=visible(file.name),
    )
    window = (0, end_ns)
    plan = RunPlan(run_name(axes, number, scenario), axes, number, 0, scenario, digest, window, ways)
    measure = Measure(Window(*window), round(STEP_S * 1e9), (), tuple(ways), ways, ())
    return plan, frames, measure


def _way(trace: Trace) -> str:
    """`up` if an end sent more than it received."""
    sent, received = (sum(_length(each) for each in trace.events if each.name == name) for name in PACKETS.values())
    return "up" if sent >= received else "down"


PACKETS = {"up": "packet_sent", "down": "packet_received"}


def _length(event: Event) -> float:
    raw = _mapping(event.data.get("raw"))
    header = _mapping(event.data.get("header"))
    found = _number(raw.get("length")) or _number(header.get("packet_size")) or _number(event.data.get("length"))
    return max(0.0, found or 0.0)


def _flows(found: Sequence[Trace], ways: Mapping[str, str], first: float) -> pd.DataFrame:
    """Bytes of packets per bin."""
    bins: dict[tuple[int, str], float] = {}
    for trace in found:
        for each in trace.events:
            if each.name == PACKETS[ways[trace.name]]:
                place = (int((each.at - first) / 1e3 / STEP_S), trace.name)
                bins[place] = bins.get(place, 0.0) + _length(each)
    rows = [(round((place + 1) * STEP_S, 9), flow, round(size)) for (place, flow), size in sorted(bins.items()) if size]
    return pd.DataFrame(rows, columns=["t", "flow", "bytes"]).astype({"t": float, "bytes": "int64"})


def _reported(trace: Trace, first: float) -> Iterator[tuple[Any, ...]]:
    """A row for each update of metrics: what an update leaves out stays as it was."""
    known: dict[str, float] = dict.fromkeys(REPORTED, math.nan)
    lost = 0
    for each in trace.events:
        lost += each.name == "packet_lost"
        if each.name == "packet_sent":
            longest = max(known["datagram_bytes"], _length(each)) if known["datagram_bytes"] > 0 else _length(each)
            known["datagram_bytes"] = longest or math.nan
        if each.name == "metrics_updated":
            for theirs, (ours, factor) in METRICS.items():
                value = _number(each.data.get(theirs))
                known[ours] = known[ours] if value is None or value < 0 else value * factor
            known["lost"] = lost
            yield ((each.at - first) / 1e3, trace.name, "from", *(known[name] for name in REPORTED))


def _unlike(file: Path, what: str) -> NotReadable:
    return NotReadable(f"`{file}` is not a qlog file: {what}\n  hint: give a .qlog or .sqlog of the main schema")
