"""Bulk data over TCP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from msgspec.structs import replace
from pydantic import Field

from tailback import resolved
from tailback.resolved import SocketOptions
from tailback.scenario import arrivals, defaults, sides
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved, numbered
from tailback.scenario.values import (
    Arrivals,
    Arrow,
    CodePoint,
    Control,
    Direction,
    Name,
    PositiveRate,
    Section,
    Size,
    Sizes,
    SmallQueue,
    SocketSize,
    Time,
    number_schema,
)
from tailback.scenario.words import Algorithm


class Tcp(Section):
    """Bulk data over one or more TCP connections."""

    tcp: Arrow = Field(description="Sender and receiver.")
    name: Name | None = Field(
        None,
        description="Name in tables; several flows become NAME.1, NAME.2, ... Default: upload (from the client), "
        "download (to it), else A-B.",
    )
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    flows: Annotated[int, Field(ge=1, le=100_000), number_schema(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Number of connections."
    )
    cc: Control | None = Field(None, description="Congestion control of the sender; default: the file's `cc`.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting; default: the host's, else the file's.")
    max_pacing_rate: PositiveRate | None = Field(
        None, description="SO_MAX_PACING_RATE of the sender: TCP paces at most at this rate, with any control."
    )
    sndbuf: SocketSize | None = Field(
        None, description="SO_SNDBUF of the sender: the buffer is twice this, as in Linux, and does not grow."
    )
    rcvbuf: SocketSize | None = Field(
        None, description="SO_RCVBUF of the receiver: the buffer is twice this, as in Linux, and does not grow."
    )
    rcvlowat: SocketSize = Field(
        defaults.RCVLOWAT, description="SO_RCVLOWAT of the receiver: it reads only when this many bytes are available."
    )
    notsent_lowat: SocketSize | None = Field(
        None, description="TCP_NOTSENT_LOWAT of the sender: it writes only while fewer bytes are unsent."
    )
    mss: Annotated[int, Field(ge=88, le=32_767), number_schema(minimum=88, maximum=32_767)] | None = Field(
        None, description="TCP_MAXSEG of the sender: largest segment in bytes, including 12 of timestamps."
    )
    dscp: CodePoint = Field(
        defaults.DSCP, description="Code point of its packets in both directions: EF, CS1, AF41 or a number."
    )
    ip: Literal[4, 6] = Field(
        defaults.IP, description="IP version. IPv6 headers are 20 bytes longer, so segments are 20 bytes shorter."
    )
    start: Time = Field(defaults.START, validate_default=True, description="Time of connect().")
    stop: Time | None = Field(None, description="Time of close(); default without `bytes`: the end of the run.")
    bytes: Size | None = Field(
        None, description="Bytes that each connection sends; it ends when they are acknowledged."
    )
    rate: PositiveRate | None = Field(
        None, description="Rate at which the application has data to send; default: as much as the socket takes."
    )
    write: Size | None = Field(
        None,
        description="Bytes of each send() with `rate` or `on`; default: what `rate` gives in 10 ms, at most 128 KiB.",
    )
    on: Time | None = Field(None, description="The application has data for this time, then none for `off`, in turn.")
    off: Time | None = Field(None, description="How long the application has no data after each `on`.")
    size: Sizes | None = Field(
        None,
        description="With `arrivals`: bytes that each connection sends, one number or a distribution.",
    )
    arrivals: Arrivals | None = Field(
        None, description="Connections open at these times, from `start` to `stop`; each sends its `size` and closes."
    )
    jitter: Time = Field(
        defaults.JITTER,
        validate_default=True,
        description="The start of each connection is delayed by a random time below this (from seed and name).",
    )


class Bulk(Flow, frozen=True, kw_only=True):
    """TCP connections that carry bulk data; `stop_ns` is None if only `bytes` ends them.

    With `arrivals`, `stop_ns` is the end of the arrivals; their number depends on the seed.
    """

    kind: ClassVar[str] = "tcp"

    bytes: int | None
    cc: Algorithm
    tsq: resolved.SmallQueue
    socket: SocketOptions
    ip: int
    writes: resolved.Writes | None = None
    size: arrivals.Sizes | None = None
    arrivals: arrivals.Arrivals | None = None

    @property
    def is_endless(self) -> bool:
        """One flow per arrival."""
        return self.arrivals is not None

    @property
    def opens(self) -> int:
        """One flow per name, or per arrival, of which this is the expected number."""
        if self.arrivals is None:
            return len(self.names)
        return max(len(self.arrivals.flows), math.ceil(self.arrivals.mean_rate * self.lasts_ns / arrivals.SECOND_NS))

    def opened(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """One flow per name, or per arrival: NAME.1, NAME.2, ..."""
        if self.arrivals is None:
            yield from super().opened(seed)
            return
        within = (self.start_ns, self.stop_ns or 0)
        drawn = arrivals.schedule(self.arrivals, self.size, within, f"{seed}/{self.names[0]}")
        for number, (at_ns, size) in enumerate(drawn, start=1):
            one = replace(self, start_ns=at_ns, stop_ns=None, jitter_ns=0, bytes=size, size=None, arrivals=None)
            yield f"{self.names[0]}.{number}", one


MAX_ARRIVALS = 100_000
"""Connections of one entry, as for `flows`."""

MESSAGE = 131_072
"""Bytes of a `send()` of bulk data. [iperf3 3.12 -l]"""

WRITES_NS = 10_000_000
"""The time whose data an application with a rate writes at once."""

PLAIN_SOCKET = SocketOptions(rcvlowat=defaults.RCVLOWAT)
"""The options of a socket with all defaults."""


def _flow(entry: Tcp, loc: Loc, file: File) -> Bulk:
    ends = entry.tcp
    name = entry.name or _default_name(ends, file.client)
    end = None if entry.bytes is not None and entry.arrivals is None else file.duration
    return Bulk(
        loc=loc,
        names=numbered(name, entry.flows),
        direction=ends,
        group=entry.group,
        start_ns=entry.start,
        stop_ns=end if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        bytes=entry.bytes,
        cc=entry.cc or file.control(ends.source),
        tsq=entry.tsq or file.small_queue(ends),
        socket=_socket(entry),
        dscp=entry.dscp,
        ip=entry.ip,
        writes=_writes(entry),
        size=entry.size,
        arrivals=_loading(entry, file),
    )


def _writes(entry: Tcp) -> resolved.Writes | None:
    """When the application has data, if that is not always."""
    if entry.rate is None and entry.write is None and entry.on is None and entry.off is None:
        return None
    due = MESSAGE if entry.rate is None else entry.rate * WRITES_NS // (8 * arrivals.SECOND_NS)
    message = max(1, min(due, MESSAGE)) if entry.write is None else entry.write
    return resolved.Writes(message=message, rate_bps=entry.rate, on_ns=entry.on, off_ns=entry.off or 0)


def _loading(entry: Tcp, file: File) -> arrivals.Arrivals | None:
    """The arrivals with their rate, if they are given by a load."""
    if entry.arrivals is None or entry.size is None or not entry.arrivals.load:
        return entry.arrivals
    rate_bps = file.device_rate(entry.arrivals.device)
    return entry.arrivals if rate_bps is None else entry.arrivals.loading(rate_bps, entry.size)


def _default_name(direction: Direction, client: str) -> str:
    return sides.NAMES.get(sides.way(direction, (client,)) or "", f"{direction.source}-{direction.target}")


def _socket(entry: Tcp) -> SocketOptions:
    """The socket options for the resolved scenario."""
    return SocketOptions(
        max_pacing_rate_bps=entry.max_pacing_rate,
        sndbuf=entry.sndbuf,
        rcvbuf=entry.rcvbuf,
        rcvlowat=entry.rcvlowat,
        notsent_lowat=entry.notsent_lowat,
        mss=entry.mss,
    )


def _resolved(flow: Bulk, at: Resolved) -> resolved.Tcp:
    return resolved.Tcp(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns, bytes=flow.bytes,
        cc=flow.cc.control,
        tsq=flow.tsq, socket=flow.socket,
        ip=flow.ip, dscp=flow.dscp, writes=flow.writes,
    )  # fmt: skip


def _problems(flow: Bulk, _most: int) -> Iterator[Problem]:
    if flow.bytes == 0:
        yield Problem((*flow.loc, "bytes"), "`0` bytes leave nothing to send", "give a size, such as 10mb")
    if flow.writes is not None:
        yield from _writing(flow, flow.writes)
    if flow.arrivals is not None:
        yield from _arriving(flow, flow.arrivals)
    elif flow.size is not None:
        hint = "add `arrivals: poisson 20/s`, or write `bytes` for one transfer"
        yield Problem((*flow.loc, "size"), "`size` is that of connections that arrive", hint)


def _writing(flow: Bulk, writes: resolved.Writes) -> Iterator[Problem]:
    if writes.message == 0:
        yield Problem((*flow.loc, "write"), "a `write` of 0 bytes sends nothing", "give a size, such as 1kb")
    if writes.on_ns == 0:
        yield Problem((*flow.loc, "on"), "an application that is never on sends nothing", "give a time, such as 1s")
    if writes.on_ns is None and writes.off_ns:
        yield Problem((*flow.loc, "off"), "`off` follows the time for which the application has data", "add `on: 1s`")
    if writes.on_ns is not None and not writes.off_ns:
        yield Problem((*flow.loc, "on"), "without `off` the application always has data", "add `off: 1s`")
    if writes.on_ns is None and writes.rate_bps is None and not writes.off_ns:
        hint = "add `rate: 5mbit`, or `on: 1s` and `off: 1s`"
        yield Problem((*flow.loc, "write"), "`write` is the size of what a source with a rate or pauses sends", hint)


def _arriving(flow: Bulk, every: arrivals.Arrivals) -> Iterator[Problem]:
    if every.kind == "trace" and flow.size is not None:
        yield Problem((*flow.loc, "size"), "the flows of a file have their sizes", "remove `size`")
    if every.kind != "trace" and flow.size is None:
        yield Problem((*flow.loc, "arrivals"), "arriving connections need a size", "add `size: 100kb`")
    elif every.load and not every.rate:
        hint = "name a wired device with a `rate` or a shaper without classes, or give a rate: poisson 20/s"
        yield Problem((*flow.loc, "arrivals"), f"`{every.device}` has no rate that is known", hint)
    if flow.bytes is not None:
        hint = "remove it: `size` says how much each connection sends"
        yield Problem((*flow.loc, "bytes"), "`bytes` cannot be combined with `arrivals`", hint)
    if len(flow.names) > 1:
        hint = "remove it and give a higher rate of arrivals"
        yield Problem((*flow.loc, "flows"), "`flows` cannot be combined with `arrivals`", hint)
    if flow.jitter_ns:
        hint = "remove it: the seed draws the arrivals"
        yield Problem((*flow.loc, "jitter"), "`jitter` cannot be combined with `arrivals`", hint)
    if flow.opens > MAX_ARRIVALS:
        message = f"about {flow.opens:,} connections arrive, and a run may have {MAX_ARRIVALS:,} per entry"
        yield Problem((*flow.loc, "arrivals"), message, "give a lower rate, an earlier `stop` or a shorter `duration`")


def _sampled_ns(flow: Bulk, duration: int) -> int:
    if flow.arrivals is not None:
        return 0  # How long each lasts is not known.
    return len(flow.names) * max(0, duration - flow.start_ns - flow.jitter_ns)


ROW = Kind(
    "tcp",
    keys=Tcp,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
    sampled_ns=_sampled_ns,
)
