"""Echo requests at a fixed interval, over ICMP or UDP."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from tailback import resolved
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved, Rows
from tailback.scenario.values import Arrow, CodePoint, Name, Section, Size, Span, Time

ICMP_HEADER = 8


class Ping(Section):
    """Echo requests at a fixed interval."""

    ping: Arrow = Field(description="Host that sends requests, and host that replies.")
    name: Name = Field("ping", description="Name in tables.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="Time between two requests.")
    size: Size = Field(
        defaults.PING_SIZE, validate_default=True, description="Bytes of ICMP or UDP, including its header of 8 bytes."
    )
    protocol: Literal["icmp", "udp"] = Field(
        defaults.PING_PROTOCOL, description="icmp, as ping sends it, or udp, as irtt sends it to a server."
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of requests and replies.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first request.")
    stop: Time | None = Field(None, description="No requests from this time on; default: the end of the run.")
    jitter: Time = Field(
        defaults.JITTER, validate_default=True, description="The start is delayed by a random time below this."
    )


class Echo(Flow, frozen=True, kw_only=True):
    """Pings at a fixed interval."""

    kind: ClassVar[str] = "ping"

    stop_ns: int
    interval_ns: int
    size: int
    protocol: resolved.Protocol = defaults.PING_PROTOCOL

    @property
    def name(self) -> str:
        """The only name of the ping."""
        return self.names[0]


def _flow(entry: Ping, loc: Loc, file: File) -> Echo:
    return Echo(
        loc=loc,
        names=(entry.name,),
        direction=entry.ping,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        interval_ns=entry.interval,
        size=entry.size,
        protocol=entry.protocol,
        dscp=entry.dscp,
    )


def _resolved(flow: Echo, at: Resolved) -> resolved.Ping:
    return resolved.Ping(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns,
        interval_ns=flow.interval_ns, size=flow.size, protocol=flow.protocol, dscp=flow.dscp,
    )  # fmt: skip


def _problems(flow: Echo, max_payload: int) -> Iterator[Problem]:
    if not ICMP_HEADER <= flow.size <= max_payload:
        message = f"`{flow.size}b` is not a valid size of a ping"
        hint = f"give {ICMP_HEADER}b (the ICMP header alone) to {max_payload}b (the MTU without the IP header)"
        yield Problem((*flow.loc, "size"), message, hint)


def _rows(flow: Echo) -> Rows:
    return Rows((*flow.loc, "interval"), flow.interval_ns, "ping", flow.lasts_ns // flow.interval_ns)


ROW = Kind(
    "ping",
    keys=Ping,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there and back",
    carries="echoes",
    rows=_rows,
)
