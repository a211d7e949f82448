"""Bulk data over TCP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tailback import resolved
from tailback.resolved import SocketOptions
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import arrivals
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved, numbered, way
from tailback.scenario.values import (
    Arrow,
    CodePoint,
    Control,
    Direction,
    Name,
    PositiveRate,
    Section,
    Size,
    SmallQueue,
    SocketSize,
    Time,
    number_schema,
    read_by,
    text_schema,
)
from tailback.scenario.words import Algorithm

Arrives = Annotated[
    arrivals.Arrivals,
    read_by(arrivals.arrivals),
    text_schema(r"(poisson|periodic) +[0-9.]+/(ms|s|min)", "poisson 20/s", "periodic 5/s"),
]
FlowSize = Annotated[
    arrivals.Sizes,
    read_by(arrivals.sizes),
    text_schema(r"((exponential|lognormal|pareto) +)?[0-9.]+ *[kmgKMG]?[bB]( +[0-9.]+)?", "100kB", "pareto 100kB 1.3"),
]


class Tcp(Section):
    """Bulk data over one or more TCP connections."""

    tcp: Arrow = Field(description="Sender and receiver.")
    name: Name | None = Field(
        None,
        description="Name in tables; several flows become NAME.1, NAME.2, ... Default: upload (from the first host of "
        "the file), download (to it), else A-B.",
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
    arrivals: Arrives | None = Field(
        None,
        description="New connections during the run, until `stop`: `poisson 20/s` or `periodic 20/s`. Each sends "
        "`size`.",
    )
    size: FlowSize | None = Field(
        None,
        description="Bytes of each connection of `arrivals`: `100kB`, or a distribution by its mean: `exponential "
        "100kB`, `lognormal 100kB 1.5` (sigma), `pareto 100kB 1.3` (shape).",
    )
    jitter: Time = Field(
        defaults.JITTER,
        validate_default=True,
        description="The start of each connection is delayed by a random time below this (from seed and name).",
    )


@dataclass(frozen=True, kw_only=True)
class Bulk(Flow):
    """TCP connections that carry bulk data; `stop_ns` is None if only `bytes` ends them."""

    kind: ClassVar[str] = "tcp"

    bytes: int | None
    cc: Algorithm
    tsq: resolved.SmallQueue
    socket: SocketOptions
    ip: int
    given: tuple[bool, bool] = (False, False)
    """Whether the entry has `arrivals` and `size`, which belong together."""


PLAIN_SOCKET = SocketOptions(rcvlowat=defaults.RCVLOWAT)
"""The options of a socket with all defaults."""


def _flow(entry: Tcp, loc: Loc, file: File) -> Bulk:
    ends = entry.tcp
    name = entry.name or _default_name(ends, file.first_host)
    schedule = _schedule(entry, name, file.duration)
    end = None if entry.bytes is not None else file.duration
    return Bulk(
        loc=loc,
        names=_names(name, entry, schedule),
        direction=ends,
        start_ns=entry.start,
        # A flow that arrives ends when its bytes are acknowledged.
        stop_ns=None if schedule is not None else end if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        bytes=entry.bytes,
        cc=entry.cc or file.control(ends.source),
        tsq=entry.tsq or file.small_queue(ends),
        socket=_socket(entry),
        dscp=entry.dscp,
        ip=entry.ip,
        given=(entry.arrivals is not None, entry.size is not None),
        schedule=schedule,
    )


def _schedule(entry: Tcp, name: str, duration: int) -> arrivals.Schedule | None:
    if entry.arrivals is None or entry.size is None:
        return None
    end = duration if entry.stop is None else min(entry.stop, duration)
    return arrivals.Schedule(name, entry.arrivals, entry.size, entry.start, end)


def _names(name: str, entry: Tcp, schedule: arrivals.Schedule | None) -> tuple[str, ...]:
    if schedule is None:
        return numbered(name, entry.flows)
    most = schedule.arrivals.most(max(0, schedule.end_ns - schedule.start_ns))
    # One more than allowed is enough for the check that refuses it.
    return tuple(f"{name}.{number}" for number in range(1, min(most, arrivals.MAX_FLOWS + 1) + 1))


def _default_name(direction: Direction, first_host: str) -> str:
    names = {"up": "upload", "down": "download"}
    return names.get(way(direction, first_host) or "", f"{direction.source}-{direction.target}")


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
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns,
        bytes=flow.bytes if at.bytes is None else at.bytes,
        cc=resolved.Control(name=flow.cc.kind, options=dict(flow.cc.options), parameters=dict(flow.cc.parameters)),
        tsq=flow.tsq, socket=flow.socket,
        ip=flow.ip, dscp=flow.dscp,
    )  # fmt: skip


def _problems(flow: Bulk, _most: int) -> Iterator[Problem]:
    if flow.bytes == 0:
        yield Problem((*flow.loc, "bytes"), "`0` bytes leave nothing to send", "give a size, such as 10mb")
    if flow.given == (True, False):
        yield Problem((*flow.loc, "arrivals"), "flows arrive without a size", "add `size: 100kB`, or a distribution")
    if flow.given == (False, True):
        remedy = "add `arrivals: poisson 20/s`; the size of a single flow is `bytes`"
        yield Problem((*flow.loc, "size"), "`size` is that of flows which arrive during the run", remedy)
    if flow.schedule is not None:
        yield from _schedule_problems(flow, flow.schedule)


def _schedule_problems(flow: Bulk, schedule: arrivals.Schedule) -> Iterator[Problem]:
    if flow.bytes is not None:
        yield Problem((*flow.loc, "bytes"), "`bytes` and `size` are both given", "remove `bytes`")
    if flow.jitter_ns:
        yield Problem((*flow.loc, "jitter"), "`arrivals` says when flows start", "remove `jitter`")
    if schedule.end_ns <= schedule.start_ns:
        yield Problem((*flow.loc, "stop"), "no flow can arrive before `stop`", "let it be later than `start`")
    if len(flow.names) > arrivals.MAX_FLOWS:
        rate, span = schedule.arrivals.per_s, (schedule.end_ns - schedule.start_ns) / arrivals.NANOSECONDS
        text = f"{rate:g} flows per second over {span:g} s may be more than {arrivals.MAX_FLOWS} flows"
        yield Problem((*flow.loc, "arrivals"), text, "lower the rate, or let `stop` be earlier")


def _sampled_ns(flow: Bulk, duration: int) -> int:
    # How long a flow that arrives will last is not known.
    return 0 if flow.schedule is not None else len(flow.names) * max(0, duration - flow.start_ns - flow.jitter_ns)


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
