"""Traffic of a resolved scenario: one entry per flow, a class and a member of `Flow` per kind.

A class also has the facts that backends need: which application of the agent runs it on a kernel, its entry in the
agent's job, and which of its features only the simulator supports.
"""

import functools
import operator
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from tailback.resolved.fields import ABSENT_IF_EMPTY, ABSENT_IF_NONE, STRICT, Options
from tailback.resolved.pages import PageObject

Protocol: TypeAlias = Literal["icmp", "udp"]

Application: TypeAlias = Literal["tcp", "udp", "ping", "echo", "request", "page", "video"]
"""The applications of the agent (`crates/agent/src/job.rs`)."""

Refusal: TypeAlias = tuple[str, str]
"""A feature that is not supported, and the remedy."""

MIN_DATAGRAM = 16
"""Bytes of a datagram that the agent needs for its token and timestamp."""

MIN_ECHO = 20
"""Bytes of a ping over UDP that the agent needs for the header, its token and its number."""

MIN_FETCH = 8
"""Bytes of a request of a page or a video that the agent needs for the size of the answer."""

_From: Any = Field(alias="from")
_To: Any = Field(alias="to")


def _is_v4(version: int) -> bool:
    return version == 4


def _is_icmp(protocol: str) -> bool:
    return protocol == "icmp"


@dataclass(frozen=True, kw_only=True)
class Control:
    """A congestion control and its module parameters."""

    __pydantic_config__ = STRICT

    name: str
    """The name in `net.ipv4.tcp_congestion_control`, or that of one of the scenario's `controls`."""
    options: Options = field(default_factory=dict)
    parameters: Annotated[Mapping[str, int | float | bool | str], ABSENT_IF_EMPTY] = field(default_factory=dict)
    """Parameters of a control that the user wrote."""


@dataclass(frozen=True, kw_only=True)
class SmallQueue:
    """A setting of TCP Small Queues; `kind` determines which of the other fields is set."""

    __pydantic_config__ = STRICT

    kind: Literal["time", "check", "off", "bytes", "packets"]
    shift: Annotated[int | None, ABSENT_IF_NONE] = None
    """`sk_pacing_shift` (`time`), or the shift for the check only (`check`)."""
    bytes: Annotated[int | None, ABSENT_IF_NONE] = None
    packets: Annotated[int | None, ABSENT_IF_NONE] = None


@dataclass(frozen=True, kw_only=True)
class SocketOptions:
    """Socket options as for `setsockopt`; `rcvbuf` and `rcvlowat` apply to the receiver."""

    __pydantic_config__ = STRICT

    max_pacing_rate_bps: int | None = None
    sndbuf: int | None = None
    rcvbuf: int | None = None
    rcvlowat: int = 1
    notsent_lowat: int | None = None
    mss: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """Bulk data over one connection; `stop_ns` is `None` if it ends after `bytes`."""

    __pydantic_config__ = STRICT
    run_by: ClassVar[Application | None] = "tcp"

    kind: Literal["tcp"] = "tcp"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    stop_ns: int | None
    bytes: int | None
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = SocketOptions()
    ip: Annotated[int, Field(exclude_if=_is_v4)] = 4
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        return {
            "stop_ns": None if self.stop_ns is None or self.stop_ns > duration_ns else self.stop_ns,
            "bytes": self.bytes,
            "congestion_control": self.cc.name,
            "pacing_shift": None,
            **asdict(self.socket),
        }

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from ()


@dataclass(frozen=True, kw_only=True)
class Media:
    """A direction of a call or a game; each of its datagrams is recorded."""

    __pydantic_config__ = STRICT

    codec: str
    """The name of one of `CODECS`, or `game`."""
    buffer_ns: int | None = None
    """The listener's jitter buffer; `None` adapts."""


@dataclass(frozen=True, kw_only=True)
class Udp:
    """Datagrams with `size` bytes of data, sent at `rate_bps`."""

    __pydantic_config__ = STRICT
    run_by: ClassVar[Application | None] = "udp"

    kind: Literal["udp"] = "udp"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    stop_ns: int
    rate_bps: int
    size: int
    sndbuf: int | None
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0
    media: Annotated[Media | None, ABSENT_IF_NONE] = None

    @property
    def gap_ns(self) -> int:
        """The time between two datagrams."""
        return max(1, self.size * 8_000_000_000 // self.rate_bps)

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        return {
            "record": "counts" if self.media is None else "each",
            "rate_bps": self.rate_bps,
            "size": self.size,
            "sndbuf": self.sndbuf,
            "stop_ns": min(self.stop_ns, duration_ns),
        }

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        if self.size < MIN_DATAGRAM:
            what = f"the datagrams of `{self.name}` are too short for a timestamp"
            yield what, f"make them at least {MIN_DATAGRAM}b long"


@dataclass(frozen=True, kw_only=True)
class Ping:
    """Echo requests at a fixed interval."""

    __pydantic_config__ = STRICT
    kind: Literal["ping"] = "ping"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    stop_ns: int
    interval_ns: int
    size: int
    protocol: Annotated[Protocol, Field(exclude_if=_is_icmp)] = "icmp"
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0

    @property
    def run_by(self) -> Application | None:
        """ICMP is answered by the kernel, UDP by a server."""
        return "ping" if self.protocol == "icmp" else "echo"

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        return {"stop_ns": min(self.stop_ns, duration_ns), "interval_ns": self.interval_ns, "size": self.size}

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        if self.protocol != "icmp" and self.size < MIN_ECHO:
            yield f"the requests of `{self.name}` are too short for a number", f"make them at least {MIN_ECHO}b long"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Requests of `size` bytes over one TCP connection; answers and pauses are taken in turn, again and again.

    One with a `count` of 1 is a probe of responsiveness.
    """

    __pydantic_config__ = STRICT
    run_by: ClassVar[Application | None] = "request"

    kind: Literal["request"] = "request"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    stop_ns: int
    size: int
    answers: tuple[int, ...]
    pauses_ns: tuple[int, ...]
    count: Annotated[int | None, ABSENT_IF_NONE] = None
    """Requests after which the client closes; `None`: only at `stop_ns`."""
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = SocketOptions()
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        return {
            "stop_ns": min(self.stop_ns, duration_ns),
            "size": self.size,
            "answers": list(self.answers),
            "pauses_ns": list(self.pauses_ns),
            "count": self.count,
            "congestion_control": self.cc.name,
            "pacing_shift": None,
        }

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from ()


Multiplexing: TypeAlias = Literal["one", "all"]
"""How many objects a connection of a browser carries at a time: HTTP/1.1 or HTTP/2."""

VideoRule: TypeAlias = Literal["rate", "bola", "hybrid"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A web page that is loaded once, over at most `connections`."""

    __pydantic_config__ = STRICT
    run_by: ClassVar[Application | None] = "page"

    kind: Literal["page"] = "page"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    size: int
    objects: tuple[PageObject, ...]
    connections: int
    multiplexing: Multiplexing
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = SocketOptions()
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        del duration_ns  # It has no stop.
        return {
            "size": self.size,
            "objects": [asdict(each) for each in self.objects],
            "connections": self.connections,
            "multiplexing": self.multiplexing,
            "congestion_control": self.cc.name,
            "pacing_shift": None,
        }

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from _too_short(self)


@dataclass(frozen=True, kw_only=True)
class Video:
    """A video in segments, and the rule by which its player chooses bitrates."""

    __pydantic_config__ = STRICT
    run_by: ClassVar[Application | None] = "video"

    kind: Literal["video"] = "video"
    name: str
    source: Annotated[int, _From]
    target: Annotated[int, _To]
    start_ns: int
    stop_ns: int
    size: int
    ladder_bps: tuple[int, ...]
    segment_ns: int
    buffer_ns: int
    startup_ns: int
    rule: VideoRule
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = SocketOptions()
    dscp: Annotated[int, ABSENT_IF_EMPTY] = 0

    def job(self, duration_ns: int) -> dict[str, Any]:
        """The entry in the agent's job, besides name, ends and start."""
        return {
            "stop_ns": min(self.stop_ns, duration_ns),
            "size": self.size,
            "ladder_bps": list(self.ladder_bps),
            "segment_ns": self.segment_ns,
            "buffer_ns": self.buffer_ns,
            "startup_ns": self.startup_ns,
            "rule": self.rule,
            "congestion_control": self.cc.name,
            "pacing_shift": None,
        }

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from _too_short(self)


def _too_short(entry: Page | Video) -> Iterator[Refusal]:
    if entry.size < MIN_FETCH:
        what = f"the requests of `{entry.name}` are too short for the size of the answer"
        yield what, f"make them at least {MIN_FETCH}b long"


@dataclass(frozen=True, kw_only=True)
class NamedControl:
    """A congestion control of which only the name is known."""

    __pydantic_config__ = STRICT

    name: str


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Traffic of imported results; the imported file says no more about it."""

    __pydantic_config__ = STRICT

    kind: Literal["tcp", "udp", "ping"]
    name: str
    way: Annotated[str | None, ABSENT_IF_NONE] = None
    """`up` or `down`; empty for a ping, `None` if unknown."""
    cc: Annotated[NamedControl | None, ABSENT_IF_NONE] = None


def _tag(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "observed" if isinstance(entry, Observed) else getattr(entry, "kind", None)
    return str(entry.get("kind")) if "start_ns" in entry else "observed"


Connection: TypeAlias = Tcp | Request | Page | Video
"""Traffic over TCP."""

Flow: TypeAlias = Tcp | Udp | Ping | Request | Page | Video
"""The kinds of traffic of a run."""

FLOWS: tuple[type[Flow], ...] = get_args(Flow)

Traffic: TypeAlias = Flow | Observed


class _ByKind:
    """Reads an entry as the class of its `kind`."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kinds: list[Any] = [Annotated[flow, Tag(flow.kind)] for flow in FLOWS]
        one_of = functools.reduce(operator.or_, kinds, Annotated[Observed, Tag("observed")])
        return handler.generate_schema(Annotated[one_of, Discriminator(_tag)])


AnyTraffic: TypeAlias = Annotated[Traffic, _ByKind()]
"""`Traffic`, with the discriminator for reading JSON."""
