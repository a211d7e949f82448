"""Calls: in each direction, the packets of a codec at a fixed interval over UDP (RTP)."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec.structs import replace
from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.resolved.codecs import CODECS
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import udp
from tailback.scenario.traffic.kind import File, Flow, Kind
from tailback.scenario.traffic.udp import Datagrams
from tailback.scenario.values import Arrow, CodePoint, Direction, Name, ReadBy, Section, Time
from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown

ADAPTIVE = "adaptive"

EXPLAINED = """\
{call: alice -> bob, codec: g711, buffer: adaptive}

Both sides talk all the time: each sends a packet every 20 ms, from `start` to `stop`. The directions are NAME.there and
NAME.back. `summary.json` has loss, delay, jitter, and the MOS by the E-model (ITU-T G.107).

codec:
  g711       64 kbit/s: 160 bytes of sound and 12 of RTP
  g729       8 kbit/s: 20 bytes of sound and 12 of RTP
  opus 24k   24 kbit/s: 60 bytes of sound and 12 of RTP; also 16k, 32k. It has no MOS: G.113 has no values for it

buffer:
  adaptive   the listener delays by the mean delay and four times its deviation (Ramjee et al., 1994)
  60ms       the listener delays by the smallest delay so far and 60 ms"""


def _codec(word: object) -> str:
    found = " ".join(str(word).lower().split())
    if found not in CODECS:
        raise WordError(f"there is no codec `{shown(word)}`", nearest_hint(found, list(CODECS)))
    return found


def _buffer(word: object) -> int | None:
    """Reads a jitter buffer; `None` adapts."""
    if str(word).strip() == ADAPTIVE:
        return None
    found = units.time(word)
    if found == 0:
        raise WordError("a jitter buffer of 0 plays nothing that is delayed", "give a time, such as 60ms, or adaptive")
    return found


Codec = Annotated[str, ReadBy(_codec), WithJsonSchema({"type": "string", "examples": list(CODECS)})]
Buffer = Annotated[int | None, ReadBy(_buffer), WithJsonSchema({"type": "string", "examples": [ADAPTIVE, "60ms"]})]


class Call(Section):
    """A call: both directions of a codec's packets."""

    call: Arrow = Field(description="The two ends.")
    name: Name = Field("call", description="Name in tables: the directions are NAME.there and NAME.back.")
    codec: Codec = Field(defaults.CODEC, description="g711, g729, opus 16k, opus 24k or opus 32k.")
    buffer: Buffer = Field(
        defaults.JITTER_BUFFER,
        validate_default=True,
        description="Jitter buffer of the listeners: adaptive, or a time.",
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets; telephones use EF.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first packet.")
    stop: Time | None = Field(None, description="No packets from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Streams(Flow, frozen=True, kw_only=True):
    """Streams of datagrams in both directions; `names` are the names of `there` and `back`."""

    kind: ClassVar[str] = "call"

    stop_ns: int
    there: Datagrams
    back: Datagrams

    def opened(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """One flow of datagrams in each direction."""
        del seed
        return iter(zip(self.names, (self.there, self.back), strict=True))


def streams(sent: Datagrams, back: Datagrams) -> Streams:
    """A stream and its answer."""
    return Streams(
        loc=sent.loc, names=(*sent.names, *back.names), direction=sent.direction, start_ns=sent.start_ns,
        stop_ns=sent.stop_ns, jitter_ns=sent.jitter_ns, dscp=sent.dscp, there=sent, back=back,
    )  # fmt: skip


def _flow(entry: Call, loc: Loc, file: File) -> Streams:
    codec = CODECS[entry.codec]
    there = Datagrams(
        loc=loc,
        names=(f"{entry.name}.there",),
        direction=entry.call,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        rate_bps=codec.datagrams_bps,
        size=codec.datagram,
        sndbuf=None,
        dscp=entry.dscp,
        media=resolved.Media(codec=entry.codec, buffer_ns=entry.buffer),
    )
    return streams(there, replace(there, names=(f"{entry.name}.back",), direction=reverse(entry.call)))


def reverse(direction: Direction) -> Direction:
    """The direction from the target to the source."""
    return Direction(direction.target, direction.source)


def problems(flow: Streams, max_payload: int) -> Iterator[Problem]:
    """Whether the datagrams fit into packets."""
    for each in (flow.there, flow.back):
        yield from udp.ROW.problems(each, max_payload)


ROW = Kind(
    "call",
    keys=Call,
    flow=_flow,
    resolved=udp.ROW.resolved,
    problems=problems,
    packets="there and back",
    carries="data",
    opens_as=udp.ROW.kind,
)
