"""UDP datagrams at a constant rate."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from tailback import resolved
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved, numbered
from tailback.scenario.values import (
    Arrow,
    CodePoint,
    Direction,
    Name,
    PositiveRate,
    Section,
    Size,
    SocketSize,
    Time,
    number_schema,
)

UDP_HEADER = 8


class Udp(Section):
    """UDP datagrams at a constant rate."""

    udp: Arrow = Field(description="Sender and receiver.")
    name: Name | None = Field(
        None,
        description="Name in tables; several flows become NAME.1, NAME.2, ... Default: udp (from the client), "
        "else udp-A-B.",
    )
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    flows: Annotated[int, Field(ge=1, le=100_000), number_schema(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Number of flows, each at this rate."
    )
    rate: PositiveRate = Field(description="Rate at which each flow sends data, without headers.")
    size: Size = Field(defaults.DATAGRAM, validate_default=True, description="Bytes of data in a datagram.")
    sndbuf: SocketSize | None = Field(
        None, description="SO_SNDBUF of the sender: the buffer is twice this, and the sender waits while it is full."
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first datagram.")
    stop: Time | None = Field(None, description="No datagrams from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Datagrams(Flow, frozen=True, kw_only=True):
    """UDP flows, each at its own constant rate."""

    kind: ClassVar[str] = "udp"

    stop_ns: int
    rate_bps: int
    size: int
    sndbuf: int | None
    media: resolved.Media | None = None
    """The call or game whose datagrams these are."""


def _flow(entry: Udp, loc: Loc, file: File) -> Datagrams:
    return Datagrams(
        loc=loc,
        names=numbered(entry.name or _default_name(entry.udp, file.client), entry.flows),
        direction=entry.udp,
        group=entry.group,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        rate_bps=entry.rate,
        size=entry.size,
        sndbuf=entry.sndbuf,
        dscp=entry.dscp,
    )


def _default_name(direction: Direction, client: str) -> str:
    return "udp" if direction.source == client else f"udp-{direction.source}-{direction.target}"


def _resolved(flow: Datagrams, at: Resolved) -> resolved.Udp:
    return resolved.Udp(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns,
        rate_bps=flow.rate_bps, size=flow.size, sndbuf=flow.sndbuf, dscp=flow.dscp, media=flow.media,
    )  # fmt: skip


def _problems(flow: Datagrams, max_payload: int) -> Iterator[Problem]:
    max_data = max_payload - UDP_HEADER
    if not 1 <= flow.size <= max_data:
        message = f"`{flow.size}b` does not fit into a datagram"
        yield Problem((*flow.loc, "size"), message, f"give 1b to {max_data}b: datagrams are not fragmented")


ROW = Kind(
    "udp",
    keys=Udp,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
)
