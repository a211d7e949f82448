"""What the page draws of an instant: hosts, links, packets on their way, PPDUs, and what holds each sender.

It comes from the tables `packets`, `mpdus`, `senders` and `wifi` of a run whose window the page asked for. Times are
whole nanoseconds from the beginning of the window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tailback.analysis.table import NANOSECONDS, Table, Words
from tailback.resolved import Scenario, rate_of
from tailback.results import RunResult

PACKETS = (
    "t", "device", "flow", "packet", "what", "seq", "bytes", "segments", "ecn", "dequeued", "sent", "ended", "end"
)  # fmt: skip
SENDERS = ("t", "flow", "held_by", "snd_cwnd", "unacked")
PPDUS = (
    "t", "from", "to", "mpdus", "received", "duration_us", "tries", "colliders", "access_us", "queued", "closed_by"
)  # fmt: skip

MOST_ROWS = 30_000
"""Rows that a page gets; of more, those that begin first."""


def packets(run: RunResult) -> dict[str, Any]:
    """The document of the window of a run."""
    scenario = run.scenario
    begin, end = scenario.record.packets_ns or (0, 0)
    ways = Table.of(run.columns("packets", PACKETS))
    shown = ways.where(slice(0, MOST_ROWS))
    if len(ways) > MOST_ROWS:
        end = min(end, int(ways.t_ns[MOST_ROWS]))
    devices = [device.name for device in scenario.devices]
    flows = list(dict.fromkeys(word for word in ways.words("flow").plain() if word is not None))
    return {
        "begin": begin / NANOSECONDS,
        "length": end - begin,
        "cut": len(ways) > MOST_ROWS,
        "hosts": scenario.host_names,
        "devices": list(_devices(scenario)),
        "flows": flows,
        "packets": {
            **_times(shown, ("t", "dequeued", "sent", "ended"), begin),
            **{name: _whole(shown, name) for name in ("packet", "seq", "bytes", "segments")},
            "device": _places(shown.words("device"), devices),
            "flow": _places(shown.words("flow"), flows),
            **{name: shown.words(name).plain() for name in ("what", "ecn", "end")},
        },
        "senders": _senders(run, begin, flows),
        "air": _air(run, scenario, (begin, end)),
    }


def _devices(scenario: Scenario) -> Iterator[dict[str, Any]]:
    for device in scenario.devices:
        yield {
            "name": device.name,
            "host": device.host,
            "peers": [peer for _, peer in scenario.hops(device)],
            "radio": device.wire is None,
            "rate": rate_of(device),
            "qdisc": None if device.root is None else device.root.kind,
        }


def _senders(run: RunResult, begin: int, flows: Sequence[str]) -> dict[str, Any]:
    rows = Table.of(run.columns("senders", SENDERS)).where(slice(0, MOST_ROWS))
    return {
        **_times(rows, ("t",), begin),
        "flow": _places(rows.words("flow"), flows),
        "held_by": rows.words("held_by").plain(),
        "cwnd": _whole(rows, "snd_cwnd"),
        "unacked": _whole(rows, "unacked"),
    }


def _air(run: RunResult, scenario: Scenario, window: tuple[int, int]) -> dict[str, Any] | None:
    """The PPDUs that were in the air or contended in the window, and the packets in each."""
    if not run.has("wifi") or not run.has("mpdus"):
        return None
    rows = Table.of(run.columns("wifi", PPDUS))
    begins, waited = rows.t_ns, rows.numbers("access_us") * 1000
    rows = rows.where((begins + rows.numbers("duration_us") * 1000 >= window[0]) & (begins - waited < window[1]))
    mpdus = Table.of(run.columns("mpdus", ("t", "from", "packet", "received")))
    hosts = scenario.host_names
    return {
        **_times(rows, ("t",), window[0]),
        "from": _places(rows.words("from"), hosts),
        "to": _places(rows.words("to"), hosts),
        "lasts": _rounded(rows.numbers("duration_us") * 1000),
        "waited": _rounded(rows.numbers("access_us") * 1000),
        **{name: _whole(rows, name) for name in ("mpdus", "received", "tries", "colliders", "queued")},
        "closed_by": rows.words("closed_by").plain(),
        "inside": _inside(rows, mpdus),
    }


def _inside(ppdus: Table, mpdus: Table) -> list[list[int]]:
    """The numbers of the packets in each PPDU; those that were lost are negative."""
    found: dict[tuple[int, str | None], list[int]] = {}
    numbers = np.where(mpdus.numbers("received") > 0, 1, -1) * mpdus.numbers("packet")
    for key, number in zip(_keys(mpdus), numbers.tolist(), strict=True):
        found.setdefault(key, []).append(int(number))
    return [found.get(key, []) for key in _keys(ppdus)]


def _keys(rows: Table) -> list[tuple[int, str | None]]:
    return list(zip(rows.t_ns.tolist(), rows.words("from").plain(), strict=True))


def _times(rows: Table, names: Sequence[str], begin: int) -> Mapping[str, list[int | None]]:
    return {name: _rounded(rows.numbers(name) * NANOSECONDS - begin) for name in names}


def _whole(rows: Table, name: str) -> list[int | None]:
    return _rounded(rows.numbers(name))


def _rounded(values: npt.NDArray[np.float64]) -> list[int | None]:
    return [None if math.isnan(value) else round(value) for value in values.tolist()]


def _places(words: Words, known: Sequence[str]) -> list[int]:
    place = {word: number for number, word in enumerate(known)}
    return [place[word] for word in words.plain() if word is not None]
