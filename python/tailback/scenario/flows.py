"""Traffic entries with presets and defaults replaced: what starts where, under which name.

`flows: 4` stays one entry here (`Bulk.names` has the four names); presets with Flent's names become `Bulk` and
`Echo` entries like any other.   [flent tests/tcp_nup.conf, tcp_ndown.conf, tcp_bidirectional.conf, ping.conf]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tailback.scenario import units
from tailback.scenario.defaults import JITTER, PING_SIZE, RCVLOWAT, STACK, STACKS_WITHOUT_WIFI_TSQ, START, WIFI_TSQ
from tailback.scenario.hops import begins_on_air, network_of
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Direction, Keys, Ping, Preset, Tcp, Wifi
from tailback.scenario.tsq import small_queue
from tailback.scenario.words import Algorithm


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
    tsq: dict[str, str | int]
    socket: dict[str, int | None]


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

    @property
    def names(self) -> tuple[str, ...]:
        """Its one name."""
        return (self.name,)


Flow = Bulk | Echo

PLAIN_SOCKET: dict[str, int | None] = {
    "max_pacing_rate_bps": None,
    "sndbuf": None,
    "rcvbuf": None,
    "rcvlowat": RCVLOWAT,
    "notsent_lowat": None,
    "mss": None,
}
"""Options of a socket on which nothing was set."""


def flows(keys: Keys, first_host: str) -> list[Flow]:
    """All traffic of an experiment, in the order of the file."""
    found: list[Flow] = []
    for index, entry in enumerate(keys.traffic):
        loc: Loc = ("traffic", index)
        if isinstance(entry, Tcp):
            name = entry.name or _default_name(entry.tcp, first_host)
            found.append(_bulk(keys, loc, entry, entry.tcp, _numbered(name, entry.flows)))
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
    start, jitter, size = units.time(START), units.time(JITTER), units.size(PING_SIZE)
    yield Echo(loc, "ping", up, start, keys.duration, jitter, entry.interval, size)


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
        cc=entry.cc or keys.cc,
        tsq=entry.tsq or _host_tsq(keys, direction.source) or _file_tsq(keys, direction),
        socket=_socket(entry),
    )


def _socket(entry: Tcp | Preset) -> dict[str, int | None]:
    """Socket options as the resolved scenario holds them; presets set none."""
    if isinstance(entry, Preset):
        return dict(PLAIN_SOCKET)
    return {
        "max_pacing_rate_bps": entry.max_pacing_rate,
        "sndbuf": entry.sndbuf,
        "rcvbuf": entry.rcvbuf,
        "rcvlowat": entry.rcvlowat,
        "notsent_lowat": entry.notsent_lowat,
        "mss": entry.mss,
    }


def _echo(keys: Keys, loc: Loc, entry: Ping) -> Echo:
    stop = keys.duration if entry.stop is None else entry.stop
    return Echo(loc, entry.name, entry.ping, entry.start, stop, entry.jitter, entry.interval, entry.size)


def _host_tsq(keys: Keys, host: str) -> dict[str, str | int] | None:
    found = (keys.hosts or {}).get(host)
    return found.tsq if found is not None else None


def offloads_of(keys: Keys, host: str) -> str:
    """Where a host's data is cut into segments."""
    found = (keys.hosts or {}).get(host)
    return (found.offloads if found is not None else None) or keys.offloads


def _file_tsq(keys: Keys, direction: Direction) -> dict[str, str | int]:
    """The file's setting; without it that of the sender's device. [linux-6.12 sock.h sk_pacing_shift_update]"""
    wired = not any(isinstance(link, Wifi) for link in keys.links)
    if wired or "tsq" in keys.model_fields_set or not begins_on_air(network_of(keys), direction):
        return keys.tsq
    sender = (keys.hosts or {}).get(direction.source)
    stack = STACK if sender is None else sender.stack
    return keys.tsq if stack in STACKS_WITHOUT_WIFI_TSQ else small_queue(WIFI_TSQ)


def _default_name(direction: Direction, first_host: str) -> str:
    names = {"up": "upload", "down": "download"}
    return names.get(way(direction, first_host) or "", f"{direction.source}-{direction.target}")


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return (name,) if count == 1 else tuple(f"{name}.{number}" for number in range(1, count + 1))
