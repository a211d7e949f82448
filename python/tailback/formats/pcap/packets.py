"""Converts frames to a table of packets: TCP, UDP and ICMP echo over IPv4. Other frames are skipped.

Link types: Ethernet (with VLAN tags), raw IP, Linux cooked v1 and v2 [libpcap linktypes]. A packet that was captured
twice (on two interfaces of a router) has two rows.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tailback.analysis.passive import ICMP, TCP, UDP
from tailback.formats.errors import NotReadable
from tailback.formats.pcap.frames import Frame, frames

ETHERNET, RAW, RAW_IPV4, COOKED, COOKED_2 = 1, 101, 228, 113, 276
VLAN = (0x8100, 0x88A8)
IPV4 = 0x0800
ECHO = (0, 8)

HEADER = struct.Struct(">BBHHHBBH4s4s")

COLUMNS = (
    "t_ns", "protocol", "source", "target", "sport", "dport", "seq", "ack", "flags", "payload",
    "identification", "tsval",
)  # fmt: skip

Row = tuple[int | str, ...]


@dataclass(frozen=True)
class Packets:
    """The packets of a capture, sorted by time."""

    table: pd.DataFrame
    """The columns `COLUMNS`; for a ping, the ports are its identifier, seq its number, flags its ICMP type."""
    left_out: int
    """The number of other frames."""


def packets(path: Path) -> Packets:
    """The packets in the file at `path`; raises `NotReadable`."""
    rows, others = [], 0
    for frame in frames(path):
        row = _row(frame)
        if row is None:
            others += 1
        else:
            rows.append(row)
    if not rows:
        raise NotReadable(f"`{path}` has no TCP, UDP or ping over IPv4\n  hint: {others} frames are something else")
    table = pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("t_ns", kind="stable").reset_index(drop=True)
    return Packets(table, others)


def _row(frame: Frame) -> Row | None:
    start = _ip_start(frame)
    data = frame.data
    if start is None or len(data) < start + 20 or data[start] >> 4 != 4:
        return None
    first, _, total, identification, fragment, _, protocol, _, source, target = HEADER.unpack_from(data, start)
    above = start + 4 * (first & 15)
    # Later fragments have no transport header. Length 0 means segmentation offload (TSO).
    if fragment & 0x1FFF or above < start + 20:
        return None
    length = (total or frame.length - start) - 4 * (first & 15)
    ends = (".".join(map(str, source)), ".".join(map(str, target)))
    head = (frame.t_ns, protocol, *ends)
    read = {TCP: _tcp, UDP: _udp, ICMP: _echo}.get(protocol)
    rest = None if read is None else read(data[above:], length)
    return None if rest is None else (*head, *rest[:6], identification, rest[6])


def _ip_start(frame: Frame) -> int | None:
    data = frame.data
    if frame.link_type in (RAW, RAW_IPV4):
        return 0
    places = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED_2: (0, 20)}
    if frame.link_type not in places:
        return None
    at, start = places[frame.link_type]
    while len(data) >= start:
        (kind,) = struct.unpack_from(">H", data, at)
        if kind not in VLAN or frame.link_type != ETHERNET:
            return start if kind == IPV4 else None
        at, start = at + 4, start + 4
    return None


def _tcp(data: bytes, length: int) -> tuple[int, ...] | None:
    if len(data) < 20:
        return None
    sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", data)
    header = 4 * (offset >> 4)
    if header < 20:
        return None
    return sport, dport, seq, ack, flags, max(0, length - header), _timestamp(data[20:header])


def _timestamp(options: bytes) -> int:
    """The TSval of the timestamps option; 0 without one."""
    at = 0
    while at < len(options):
        kind = options[at]
        if kind in (0, 1):
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            return 0
        if kind == 8 and at + 10 <= len(options):
            return int(struct.unpack_from(">I", options, at + 2)[0])
        at += options[at + 1]
    return 0


def _udp(data: bytes, length: int) -> tuple[int, ...] | None:
    if len(data) < 8:
        return None
    sport, dport = struct.unpack_from(">HH", data)
    return sport, dport, 0, 0, 0, max(0, length - 8), 0


def _echo(data: bytes, length: int) -> tuple[int, ...] | None:
    if len(data) < 8 or data[0] not in ECHO:
        return None
    identifier, seq = struct.unpack_from(">HH", data, 4)
    return identifier, identifier, seq, 0, data[0], max(0, length - 8), 0
