"""Traffic of a resolved scenario: one entry per flow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from tailback.resolved.fields import ABSENT_IF_EMPTY, ABSENT_IF_NONE, STRICT, Options

Protocol: TypeAlias = Literal["icmp", "udp"]
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
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SmallQueue:
    """The setting of TCP Small Queues; `kind` tells which of the others is given."""

    __pydantic_config__ = STRICT

    kind: Literal["time", "check", "off", "bytes", "packets"]
    shift: Annotated[int | None, ABSENT_IF_NONE] = None
    """`sk_pacing_shift` (`time`), or the shift of the check alone (`check`)."""
    bytes: Annotated[int | None, ABSENT_IF_NONE] = None
    packets: Annotated[int | None, ABSENT_IF_NONE] = None


@dataclass(frozen=True, kw_only=True)
class SocketOptions:
    """Socket options as `setsockopt` takes them; `rcvbuf` and `rcvlowat` are the receiver's."""

    __pydantic_config__ = STRICT

    max_pacing_rate_bps: int | None = None
    sndbuf: int | None = None
    rcvbuf: int | None = None
    rcvlowat: int = 1
    notsent_lowat: int | None = None
    mss: int | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """Bulk data over one connection; `stop_ns` is `None` if only `bytes` ends it."""

    __pydantic_config__ = STRICT

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


@dataclass(frozen=True, kw_only=True)
class Udp:
    """Datagrams of `size` bytes of data, offered at `rate_bps`."""

    __pydantic_config__ = STRICT

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


@dataclass(frozen=True, kw_only=True)
class NamedControl:
    """A congestion control of which only the name is known."""

    __pydantic_config__ = STRICT

    name: str


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Traffic of imported results: what the file of another program tells of it."""

    __pydantic_config__ = STRICT

    kind: Literal["tcp", "udp", "ping"]
    name: str
    way: Annotated[str | None, ABSENT_IF_NONE] = None
    """`up` or `down`; empty for a ping, `None` where the file does not say."""
    cc: Annotated[NamedControl | None, ABSENT_IF_NONE] = None


def _tag(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "observed" if isinstance(entry, Observed) else getattr(entry, "kind", None)
    return str(entry.get("kind")) if "start_ns" in entry else "observed"


Traffic: TypeAlias = Tcp | Udp | Ping | Observed

AnyTraffic: TypeAlias = Annotated[
    Annotated[Tcp, Tag("tcp")]
    | Annotated[Udp, Tag("udp")]
    | Annotated[Ping, Tag("ping")]
    | Annotated[Observed, Tag("observed")],
    Discriminator(_tag),
]
"""The same as it is read from JSON."""
