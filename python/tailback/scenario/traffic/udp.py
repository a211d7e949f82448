"""UDP datagrams at a constant rate, or at one that adapts as that of real-time media does."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, WithJsonSchema

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
    ReadBy,
    Section,
    Size,
    SocketSize,
    Time,
    number_schema,
    positive_rate,
)
from tailback.tc.errors import WordError
from tailback.tc.units import rate_word, shown

UDP_HEADER = 8
LEAST_NUMBERED = 20
"""Bytes of a datagram that the agent needs for token, time and number."""

MEDIA_BPS = (150_000, 1_500_000)
"""The bounds of a video. [rfc8867 §4.3]"""

ADAPT_HINT = "write gcc, or its bounds: gcc min 150kbit max 1500kbit"

EXPLAINED = """\
{udp: server -> client, rate: 300kbit, size: 1200b, adapt: gcc min 150kbit max 1500kbit}

A source of real-time media: its rate begins at `rate` and adapts, within its bounds, to what the receiver reports
each 100 ms over the network. The receiver estimates the change of the queueing delay and lowers the rate to 0.85 of
what arrives when the queue grows; the sender lowers it, too, when more than a tenth was lost
(draft-ietf-rmcat-gcc-02, with the deviations that crates/traffic/src/gcc.rs lists). Datagrams have one size and are
spaced evenly: there are no frames."""


def _adapt(word: object) -> resolved.Adapt:
    """Reads the rule of a rate that adapts, and its bounds."""
    found = re.fullmatch(r"gcc(?: +min +(\S+))?(?: +max +(\S+))?", str(word).strip())
    if found is None:
        raise WordError(f"`{shown(word)}` is not a rule by which a rate adapts", ADAPT_HINT)
    least, most = (
        default if each is None else positive_rate(each)
        for each, default in zip(found.groups(), MEDIA_BPS, strict=True)
    )
    if least > most:
        raise WordError(f"the bounds of `{shown(word)}` are in the wrong order", ADAPT_HINT)
    return resolved.Adapt(min_bps=least, max_bps=most)


Adapt = Annotated[
    resolved.Adapt,
    ReadBy(_adapt),
    WithJsonSchema({"type": "string", "examples": ["gcc", "gcc min 150kbit max 1500kbit"]}),
]


class Udp(Section):
    """UDP datagrams at a constant rate, or at one that adapts."""

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
    adapt: Adapt | None = Field(
        None,
        description="gcc, perhaps with bounds: gcc min 150kbit max 1500kbit. The rate begins at `rate` and adapts to "
        "reports of the receiver, as that of real-time media does; default: it is constant.",
    )
    size: Size = Field(defaults.DATAGRAM, validate_default=True, description="Bytes of data in a datagram.")
    sndbuf: SocketSize | None = Field(
        None, description="SO_SNDBUF of the sender: the buffer is twice this, and the sender waits while it is full."
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first datagram.")
    stop: Time | None = Field(None, description="No datagrams from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Datagrams(Flow, frozen=True, kw_only=True):
    """UDP flows, each at its own rate."""

    kind: ClassVar[str] = "udp"

    stop_ns: int
    rate_bps: int
    size: int
    sndbuf: int | None
    media: resolved.Media | None = None
    """The call or game whose datagrams these are."""
    adapt: resolved.Adapt | None = None

    @property
    def most_bps(self) -> int:
        """The largest rate of a flow."""
        return self.rate_bps if self.adapt is None else self.adapt.max_bps


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
        adapt=entry.adapt,
    )


def _default_name(direction: Direction, client: str) -> str:
    return "udp" if direction.source == client else f"udp-{direction.source}-{direction.target}"


def _resolved(flow: Datagrams, at: Resolved) -> resolved.Udp:
    return resolved.Udp(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns,
        rate_bps=flow.rate_bps, size=flow.size, sndbuf=flow.sndbuf, dscp=flow.dscp, media=flow.media,
        adapt=flow.adapt,
    )  # fmt: skip


def _problems(flow: Datagrams, max_payload: int) -> Iterator[Problem]:
    max_data = max_payload - UDP_HEADER
    if not 1 <= flow.size <= max_data:
        message = f"`{flow.size}b` does not fit into a datagram"
        yield Problem((*flow.loc, "size"), message, f"give 1b to {max_data}b: datagrams are not fragmented")
    if flow.adapt is None:
        return
    if flow.size < LEAST_NUMBERED:
        message = f"`{flow.size}b` is too short for the number of a datagram"
        yield Problem((*flow.loc, "size"), message, f"give at least {LEAST_NUMBERED}b, or remove `adapt`")
    if not flow.adapt.min_bps <= flow.rate_bps <= flow.adapt.max_bps:
        low, high = (rate_word(bps) for bps in (flow.adapt.min_bps, flow.adapt.max_bps))
        message = f"`{rate_word(flow.rate_bps)}` is not within the bounds of `adapt`"
        yield Problem((*flow.loc, "rate"), message, f"begin at a rate from {low} to {high}, or give it other bounds")


ROW = Kind(
    "udp",
    keys=Udp,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
)
