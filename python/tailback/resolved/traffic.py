"""Traffic of a resolved scenario: one entry per flow, a class and a member of `Flow` per kind.

A class also has the facts that backends need: what carries it, and which of its features only the simulator supports.
The keys and the applications of each kind are in `crates/traffic`, for the simulator and for kernels.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, TypeAlias, get_args

from msgspec import field

from tailback.resolved.fields import Options, Part, no_options, written
from tailback.resolved.pages import PageObject

Protocol: TypeAlias = Literal["icmp", "udp"]

ICMP: Protocol = "icmp"

Transport: TypeAlias = Literal["tcp", "udp", "icmp"]
"""What carries traffic."""

Refusal: TypeAlias = tuple[str, str]
"""A feature that is not supported, and the remedy."""

MIN_DATAGRAM = 16
"""Bytes of a datagram that the agent needs for its token and timestamp."""

MIN_ECHO = 20
"""Bytes of a ping over UDP that the agent needs for the header, its token and its number."""

MIN_FETCH = 8
"""Bytes of a request of a page or a video that the agent needs for the size of the answer."""


class Control(Part, frozen=True, kw_only=True):
    """A congestion control and its module parameters."""

    name: str
    """The name in `net.ipv4.tcp_congestion_control`, or that of one of the scenario's `controls`."""
    options: Options = field(default_factory=no_options)
    parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    """Parameters of a control that the user wrote."""


MILLISECOND_SHIFT = 10
"""The pacing shift that is a millisecond, Linux's default. [linux-6.12 sock.c sock_init_data_uid]"""


class SmallQueue(Part, frozen=True, kw_only=True):
    """A setting of TCP Small Queues; `kind` determines which of the other fields is set."""

    kind: Literal["time", "check", "off", "bytes", "packets"]
    shift: int | None = None
    """`sk_pacing_shift` (`time`), or the shift for the check only (`check`)."""
    time_ns: int | None = None
    """The time of the check, where no shift gives it: so many times the millisecond of shift 10."""
    bytes: int | None = None
    packets: int | None = None


class SocketOptions(Part, frozen=True, kw_only=True, omit_defaults=False):
    """Socket options as for `setsockopt`; `rcvbuf` and `rcvlowat` apply to the receiver."""

    max_pacing_rate_bps: int | None = None
    sndbuf: int | None = None
    rcvbuf: int | None = None
    rcvlowat: int = 1
    notsent_lowat: int | None = None
    mss: int | None = None


class Writes(Part, frozen=True, kw_only=True):
    """When a sender of bulk data has data: messages of `message` bytes at `rate_bps` (`None`: as many as the socket
    takes) while it is on. It is on for `on_ns` (`None`: always), then off for `off_ns`, again and again.
    """

    message: int
    rate_bps: int | None = None
    on_ns: int | None = None
    off_ns: int = 0


class Entry(Part, frozen=True, tag_field="kind"):
    """An entry whose `tag`, the key `kind` in JSON, is the `kind` of its class."""


class Tcp(Entry, frozen=True, kw_only=True, tag="tcp"):
    """Bulk data over one connection; `stop_ns` is `None` if it ends after `bytes`."""

    kind: ClassVar[str] = "tcp"
    transport: ClassVar[Transport] = "tcp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    stop_ns: int | None
    bytes: int | None
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = written(SocketOptions())
    ip: int = 4
    dscp: int = 0
    writes: Writes | None = None
    """When it has data; `None`: always."""

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from ()


class Media(Part, frozen=True, kw_only=True, omit_defaults=False):
    """A direction of a call or a game; each of its datagrams is recorded."""

    codec: str
    """The name of one of `CODECS`, or `game`."""
    buffer_ns: int | None = None
    """The listener's jitter buffer; `None` adapts."""


class Adapt(Part, frozen=True, kw_only=True):
    """The bounds of a rate that adapts to what the receiver reports, as Google Congestion Control does."""

    min_bps: int
    max_bps: int


class Udp(Entry, frozen=True, kw_only=True, tag="udp"):
    """Datagrams with `size` bytes of data, sent at `rate_bps`, where the rate begins if it adapts."""

    kind: ClassVar[str] = "udp"
    transport: ClassVar[Transport] = "udp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    stop_ns: int
    rate_bps: int
    size: int
    sndbuf: int | None
    dscp: int = 0
    media: Media | None = None
    adapt: Adapt | None = None

    @property
    def gap_ns(self) -> int:
        """The time between two datagrams."""
        return max(1, self.size * 8_000_000_000 // self.rate_bps)

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        if self.size < MIN_DATAGRAM:
            what = f"the datagrams of `{self.name}` are too short for a timestamp"
            yield what, f"make them at least {MIN_DATAGRAM}b long"


class Ping(Entry, frozen=True, kw_only=True, tag="ping"):
    """Echo requests at a fixed interval."""

    kind: ClassVar[str] = "ping"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    stop_ns: int
    interval_ns: int
    size: int
    protocol: Protocol = ICMP
    dscp: int = 0

    @property
    def transport(self) -> Transport:
        """ICMP is answered by the kernel, UDP by a server."""
        return self.protocol

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        if self.protocol != ICMP and self.size < MIN_ECHO:
            yield f"the requests of `{self.name}` are too short for a number", f"make them at least {MIN_ECHO}b long"


class Request(Entry, frozen=True, kw_only=True, tag="request"):
    """Requests of `size` bytes over one TCP connection; answers and pauses are taken in turn, again and again.

    One with a `count` of 1 is a probe of responsiveness.
    """

    kind: ClassVar[str] = "request"
    transport: ClassVar[Transport] = "tcp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    stop_ns: int
    size: int
    answers: tuple[int, ...]
    pauses_ns: tuple[int, ...]
    count: int | None = None
    """Requests after which the client closes; `None`: only at `stop_ns`."""
    barrier: str | None = None
    """Its client asks together with those of all connections that have the same."""
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = written(SocketOptions())
    dscp: int = 0

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        if self.barrier is not None:
            what = f"`{self.name}` waits at a barrier for other connections"
            yield what, "remove `barrier`, or run it on the simulator, --backend sim"


Multiplexing: TypeAlias = Literal["one", "all"]
"""How many objects a connection of a browser carries at a time: HTTP/1.1 or HTTP/2."""

VideoRule: TypeAlias = Literal["rate", "bola", "hybrid"]


class Page(Entry, frozen=True, kw_only=True, tag="page"):
    """A web page that is loaded once, over at most `connections`."""

    kind: ClassVar[str] = "page"
    transport: ClassVar[Transport] = "tcp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    size: int
    objects: tuple[PageObject, ...]
    connections: int
    multiplexing: Multiplexing
    cc: Control
    tsq: SmallQueue
    socket: SocketOptions = written(SocketOptions())
    dscp: int = 0

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from _too_short(self)


class Video(Entry, frozen=True, kw_only=True, tag="video"):
    """A video in segments, and the rule by which its player chooses bitrates."""

    kind: ClassVar[str] = "video"
    transport: ClassVar[Transport] = "tcp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
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
    socket: SocketOptions = written(SocketOptions())
    dscp: int = 0

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        yield from _too_short(self)


def _too_short(entry: Page | Video) -> Iterator[Refusal]:
    if entry.size < MIN_FETCH:
        what = f"the requests of `{entry.name}` are too short for the size of the answer"
        yield what, f"make them at least {MIN_FETCH}b long"


class NamedControl(Part, frozen=True, kw_only=True):
    """A congestion control of which only the name is known."""

    name: str


class Observed(Part, frozen=True, kw_only=True):
    """Traffic of imported results; the imported file says no more about it."""

    kind: Literal["tcp", "udp", "ping"]
    name: str
    way: str | None = None
    """`up` or `down`; empty for a ping, `None` if unknown."""
    cc: NamedControl | None = None


class Endpoint(Entry, frozen=True, kw_only=True, tag="endpoint"):
    """Datagrams of a transport of the user, whose two endpoints are in one file."""

    kind: ClassVar[str] = "endpoint"
    transport: ClassVar[Transport] = "udp"

    name: str
    source: int = field(name="from")
    target: int = field(name="to")
    start_ns: int
    sndbuf: int | None = None
    dscp: int = 0
    library: str
    """The name of one of the scenario's `endpoints`."""
    options: Mapping[str, int | float | bool | str] = field(default_factory=dict)

    @property
    def stop_ns(self) -> None:
        """It lasts as long as the run."""

    def refused(self) -> Iterator[Refusal]:
        """The features of it that only the simulator supports."""
        what = f"`{self.name}` is a transport in a library (`{self.library}`), which has no sockets of a kernel"
        yield what, "run it on the simulator, --backend sim; the nearest here is its program: {program: HOST, run: ...}"


Connection: TypeAlias = Tcp | Request | Page | Video
"""Traffic over TCP."""

Flow: TypeAlias = Tcp | Udp | Ping | Request | Page | Video | Endpoint
"""The kinds of traffic of a run."""

FLOWS: tuple[type[Flow], ...] = get_args(Flow)

Traffic: TypeAlias = Flow | Observed
