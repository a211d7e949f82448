"""The events of endpoints as qlog files: one for each flow, with a trace for each end that told events.
[qlog-main §3, §4]

An endpoint tells an event by its name, as `recovery:metrics_updated`, and its data; the time is that of the run in ms.
Whoever gives those of QUIC [qlog-quic] has a file that viewers of QUIC read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

Event: TypeAlias = tuple[str, str, float, str, str]
"""Flow, end, time in ms, name, data as JSON."""

VERSION = "0.3"
VANTAGE = {"from": "client", "to": "server"}
"""What the ends are called: the first is the one that begins."""

SUFFIX = ".qlog"


def files_of(events: Sequence[Event]) -> dict[str, bytes]:
    """The files by name."""
    flows = dict.fromkeys(flow for flow, *_ in events)
    return {f"{flow}{SUFFIX}": _file(flow, [each for each in events if each[0] == flow]) for flow in flows}


def _file(flow: str, events: Sequence[Event]) -> bytes:
    ends = [end for end in VANTAGE if any(each[1] == end for each in events)]
    found = {
        "qlog_version": VERSION,
        "qlog_format": "JSON",
        "title": flow,
        "traces": [_trace(flow, end, [each for each in events if each[1] == end]) for end in ends],
    }
    return json.dumps(found, separators=(",", ":")).encode()


def _trace(flow: str, end: str, events: Sequence[Event]) -> dict[str, Any]:
    return {
        "title": f"{flow} {end}",
        "vantage_point": {"name": flow, "type": VANTAGE[end]},
        "common_fields": {"time_format": "relative", "reference_time": 0, "group_id": flow},
        "events": [{"time": at, "name": name, "data": json.loads(data)} for _, _, at, name, data in events],
    }
