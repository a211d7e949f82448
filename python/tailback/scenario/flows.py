"""Traffic entries with presets and defaults replaced: what starts where, under which name.

`flows: 4` stays one entry here (`Bulk.names` has the four names); presets with Flent's names become `Bulk`, `Echo` and
`Datagrams` entries like any other.   [flent tests/tcp_nup.conf, tcp_ndown.conf, tcp_bidirectional.conf, rrul.conf,
rrul_be.conf, udp_flood.conf, ping.conf]

RRUL, realtime response under load: four TCP flows each way, marked BE, BK (CS1), CS5 and EF, a ping, and pings over UDP
marked EF, BK and BE; `rrul_be` has the same without marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tailback.resolved import Offloads, Protocol, SmallQueue, SocketOptions
from tailback.scenario.defaults import (
    DATAGRAM,
    DSCP,
    FLOOD,
    IP,
    JITTER,
    PING_PROTOCOL,
    PING_SIZE,
    RCVLOWAT,
    STACK,
    STACK_CC,
    STACKS_WITHOUT_WIFI_TSQ,
    START,
    UDP_PING_SIZE,
    WIFI_TSQ,
)
from tailback.scenario.hops import begins_on_air, network_of
from tailback.scenario.paths import Loc
from tailback.scenario.remembered import remembered
from tailback.scenario.schema import Direction, Keys, Ping, Preset, Tcp, Udp
from tailback.scenario.tsq import small_queue
from tailback.scenario.words import Algorithm
from tailback.tc import units


@dataclass(frozen=True)
class Bulk:
    """TCP connections that carry bulk data. Times in ns; `stop_ns` is None if only `bytes` ends them."""

    loc: Loc
    names: tuple[str, ...]
    direction: Direction
    start_ns: int
    stop_ns: int | None
    jitter_ns: int
    bytes: int | None
    cc: Algorithm
    tsq: SmallQueue
    socket: SocketOptions
    dscp: int
    ip: int


@dataclass(frozen=True)
class Datagrams:
    """UDP flows, each at a rate."""

    loc: Loc
    names: tuple[str, ...]
    direction: Direction
    start_ns: int
    stop_ns: int
    jitter_ns: int
    rate_bps: int
    size: int
    sndbuf: int | None
    dscp: int


@dataclass(frozen=True)
class Echo:
    """Pings at a fixed interval."""

    loc: Loc
    name: str
    direction: Direction
    start_ns: int
    stop_ns: int
    jitter_ns: int
    interval_ns: int
    size: int
    protocol: Protocol = PING_PROTOCOL
    dscp: int = DSCP

    @property
    def names(self) -> tuple[str, ...]:
        """Its one name."""
        return (self.name,)


Flow = Bulk | Datagrams | Echo


@remembered
def flows(keys: Keys) -> list[Flow]:
    """All traffic of an experiment, in the order of the file."""
    first_host = network_of(keys).hosts[0]
    found: list[Flow] = []
    for index, entry in enumerate(keys.traffic):
        loc: Loc = ("traffic", index)
        if isinstance(entry, Tcp):
            name = entry.name or _default_name(entry.tcp, first_host)
            found.append(_bulk(keys, loc, entry, entry.tcp, _numbered(name, entry.flows)))
        elif isinstance(entry, Udp):
            name = entry.name or _default_udp_name(entry.udp, first_host)
            found.append(_datagrams(keys, loc, entry, entry.udp, _numbered(name, entry.flows)))
        elif isinstance(entry, Ping):
            found.append(_echo(keys, loc, entry))
        else:
            found.extend(_preset(keys, loc, entry))
    return found


def way(direction: Direction, first_host: str) -> str | None:
    """`up` from the first host of the file, `down` towards it, otherwise nothing."""
    if direction.source == first_host:
        return "up"
    return "down" if direction.target == first_host else None


def _preset(keys: Keys, loc: Loc, entry: Preset) -> Iterator[Flow]:
    here, there = entry.hosts
    up, down = Direction(here, there), Direction(there, here)
    if entry.preset in ("tcp_upload", "tcp_nup", "tcp_bidirectional"):
        yield _bulk(keys, loc, entry, up, _numbered("upload", entry.flows))
    if entry.preset in ("tcp_download", "tcp_ndown", "tcp_bidirectional"):
        yield _bulk(keys, loc, entry, down, _numbered("download", entry.flows))
    if entry.preset in ("rrul", "rrul_be"):
        yield from _rrul(keys, loc, entry)
    if entry.preset == "udp_flood":
        yield _datagrams(keys, loc, entry, up, ("udp",))
    start, jitter, size = units.time(START), units.time(JITTER), units.size(PING_SIZE)
    ping = Echo(loc, "ping", up, start, keys.duration, jitter, entry.interval, size)
    yield ping
    for mark in _UDP_PINGS.get(entry.preset, ()):
        dscp = _MARKS.get(mark, DSCP)
        yield replace(ping, name=f"udp-ping.{mark}", size=units.size(UDP_PING_SIZE), protocol="udp", dscp=dscp)


#: Flent's marks in RRUL, and the code points that netperf gives them.
_MARKS = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
_UDP_PINGS = {"rrul": ("EF", "BK", "BE"), "rrul_be": ("BE1", "BE2", "BE3")}


def _rrul(keys: Keys, loc: Loc, entry: Preset) -> Iterator[Flow]:
    """Flows of `rrul` are called by their marks, those of `rrul_be` are numbered."""
    here, there = entry.hosts
    for name, ends in (("upload", Direction(here, there)), ("download", Direction(there, here))):
        if entry.preset == "rrul_be":
            yield _bulk(keys, loc, entry, ends, _numbered(name, len(_MARKS)))
            continue
        for mark, dscp in _MARKS.items():
            yield replace(_bulk(keys, loc, entry, ends, (f"{name}.{mark}",)), dscp=dscp)


def _datagrams(keys: Keys, loc: Loc, entry: Udp | Preset, direction: Direction, names: tuple[str, ...]) -> Datagrams:
    own = entry if isinstance(entry, Udp) else None
    return Datagrams(
        loc=loc,
        names=names,
        direction=direction,
        start_ns=entry.start,
        stop_ns=keys.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        rate_bps=units.rate(FLOOD) if entry.rate is None else entry.rate,
        size=own.size if own else units.size(DATAGRAM),
        sndbuf=own.sndbuf if own else None,
        dscp=own.dscp if own else DSCP,
    )


def _bulk(keys: Keys, loc: Loc, entry: Tcp | Preset, direction: Direction, names: tuple[str, ...]) -> Bulk:
    amount = entry.bytes if isinstance(entry, Tcp) else None
    end = None if amount is not None else keys.duration
    return Bulk(
        loc=loc,
        names=names,
        direction=direction,
        start_ns=entry.start,
        stop_ns=end if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        bytes=amount,
        cc=entry.cc or _file_control(keys, direction.source),
        tsq=entry.tsq or _host_tsq(keys, direction.source) or _file_tsq(keys, direction),
        socket=_socket(entry),
        dscp=entry.dscp if isinstance(entry, Tcp) else DSCP,
        ip=entry.ip if isinstance(entry, Tcp) else IP,
    )


def _file_control(keys: Keys, sender: str) -> Algorithm:
    """The file's control; a file that names none has the one that the sender's stack begins with."""
    host = (keys.hosts or {}).get(sender)
    if host is None or "cc" in keys.model_fields_set or host.stack not in STACK_CC:
        return keys.cc
    return Algorithm(STACK_CC[host.stack])


def _socket(entry: Tcp | Preset) -> SocketOptions:
    """Socket options as the resolved scenario holds them; presets set none."""
    if isinstance(entry, Preset):
        return SocketOptions(rcvlowat=RCVLOWAT)
    return SocketOptions(
        max_pacing_rate_bps=entry.max_pacing_rate,
        sndbuf=entry.sndbuf,
        rcvbuf=entry.rcvbuf,
        rcvlowat=entry.rcvlowat,
        notsent_lowat=entry.notsent_lowat,
        mss=entry.mss,
    )


def _echo(keys: Keys, loc: Loc, entry: Ping) -> Echo:
    stop = keys.duration if entry.stop is None else entry.stop
    own = (entry.interval, entry.size, entry.protocol, entry.dscp)
    return Echo(loc, entry.name, entry.ping, entry.start, stop, entry.jitter, *own)


def _host_tsq(keys: Keys, host: str) -> SmallQueue | None:
    found = (keys.hosts or {}).get(host)
    return found.tsq if found is not None else None


def offloads_of(keys: Keys, host: str) -> Offloads:
    """Where a host's data is cut into segments."""
    found = (keys.hosts or {}).get(host)
    return (found.offloads if found is not None else None) or keys.offloads


def _file_tsq(keys: Keys, direction: Direction) -> SmallQueue:
    """The file's setting; without it that of the sender's device. [linux-6.12 sock.h sk_pacing_shift_update]"""
    if "tsq" in keys.model_fields_set or not begins_on_air(network_of(keys), direction):
        return keys.tsq
    sender = (keys.hosts or {}).get(direction.source)
    stack = STACK if sender is None else sender.stack
    return keys.tsq if stack in STACKS_WITHOUT_WIFI_TSQ else small_queue(WIFI_TSQ)


def _default_name(direction: Direction, first_host: str) -> str:
    names = {"up": "upload", "down": "download"}
    return names.get(way(direction, first_host) or "", f"{direction.source}-{direction.target}")


def _default_udp_name(direction: Direction, first_host: str) -> str:
    return "udp" if way(direction, first_host) == "up" else f"udp-{direction.source}-{direction.target}"


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name}.{number}" for number in range(1, count + 1))
