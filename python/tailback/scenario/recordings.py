"""Public recordings of mobile and satellite paths, as schedules of links.

    UCC 4G, 5G         CSV with Timestamp, DL_bitrate, UL_bitrate (kbit/s) and others, a line each second
                       [github.com/uccmisl/5Gdataset; Raca et al., MMSys 2018 and 2020]
    Ghent 4G,          time, ms, latitude, longitude, bytes and ms since the line before, without names
    Norway HSDPA       [users.ugent.be/~jvdrhoof/dataset-4g; Riiser et al., MMSys 2013]
    Starlink           CSV of starlink-grpc-tools with datetimestamp_utc, pop_ping_latency_ms, pop_ping_drop_rate

A schedule has no rate of 0. It becomes 50 kbit/s, at which a full frame takes a quarter of a second: a frame that the
stall finds on the wire ends at its rate. Half of a round trip is the delay of each direction. The
throughput in the files of Starlink is what the user used and not what was possible, so that it is no rate.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

Way = Literal["down", "up"]
Values = Mapping[str, str]
"""A change in the words of the experiment file, with its time `t`."""

STALLED = "50kbit"
LOG = re.compile(r"\d{1,15}\s+\d{1,15}\s+\S+\s+\S+\s+\d{1,15}\s+\d{1,15}\s*", re.ASCII)


class NotRead(ValueError):
    """A line is not what its format says; the argument is its number."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Table(Struct, frozen=True):
    """A format with names in its first line."""

    columns: frozenset[str]
    values: Callable[[Values, Way], Iterator[tuple[str, str]]]
    """The values of a line, among them its time in ms since an epoch."""


def read(text: str, way: Way) -> Iterator[tuple[int, Values]] | None:
    """The numbered lines of a recording in one of these formats; `None` if it is in none of them."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    if LOG.fullmatch(first):
        return _log(text)
    names = [each.strip() for each in next(csv.reader([first]), [])]
    table = next((each for each in _TABLES if each.columns <= {*names}), None)
    return None if table is None else _lines(text, names, table, way)


def _log(text: str) -> Iterator[tuple[int, Values]]:
    """What was received since the line before, over the time since then."""
    begin: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if LOG.fullmatch(line) is None:
            raise NotRead(number)
        _, ms, _, _, received, since = line.split()
        if int(since) == 0:
            raise NotRead(number)
        at = int(ms) - int(since)
        begin = at if begin is None else begin
        yield number, {"t": f"{at - begin}ms", "rate": _rate(int(received) * 8000 // int(since))}


def _lines(text: str, names: Sequence[str], table: _Table, way: Way) -> Iterator[tuple[int, Values]]:
    begin: int | None = None
    for number, line in enumerate(csv.reader(io.StringIO(text)), 1):
        if number == 1 or not line:
            continue
        if len(line) != len(names):
            raise NotRead(number)
        try:
            values = dict(table.values(dict(zip(names, (each.strip() for each in line), strict=True)), way))
            at = int(values["t"])
        except (ValueError, OverflowError):
            raise NotRead(number) from None
        begin = at if begin is None else begin
        yield number, {**values, "t": f"{at - begin}ms"}


def _ms(time: datetime) -> str:
    return str(round((time - datetime(1970, 1, 1, tzinfo=time.tzinfo)).total_seconds() * 1000))


def _ucc(line: Values, way: Way) -> Iterator[tuple[str, str]]:
    yield "t", _ms(datetime.strptime(line["Timestamp"], "%Y.%m.%d_%H.%M.%S").replace(tzinfo=UTC))
    kbit = line["DL_bitrate" if way == "down" else "UL_bitrate"]
    if kbit != "-":
        yield "rate", _rate(int(float(kbit) * 1000))


def _starlink(line: Values, _way: Way) -> Iterator[tuple[str, str]]:
    yield "t", _ms(datetime.fromisoformat(line["datetimestamp_utc"]))
    if latency := line["pop_ping_latency_ms"]:
        yield "delay", f"{float(latency) / 2:.3f}ms"
    if dropped := line["pop_ping_drop_rate"]:
        yield "loss", f"{float(dropped) * 100:.4f}%"


def _rate(bits: int) -> str:
    return f"{bits}bit" if bits else STALLED


_TABLES = (
    _Table(frozenset(("Timestamp", "DL_bitrate", "UL_bitrate")), _ucc),
    _Table(frozenset(("datetimestamp_utc", "pop_ping_latency_ms", "pop_ping_drop_rate")), _starlink),
)
