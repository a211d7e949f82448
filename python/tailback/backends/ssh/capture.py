"""Captures by `tcpdump` on machines, as pcapng with one interface per device and times relative to the run.

A machine timestamps packets by its wall clock. The offsets of its wall clock to its monotonic clock, and of that to
ours, are known (`session.py`), so that the timestamps of two machines can be compared.

    pcap     header 24 bytes, then records: seconds, nanoseconds, captured, length            [libpcap pcap-savefile]
    pcapng   section header, interface descriptions, enhanced packets with 64-bit nanoseconds      [pcapng]
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tailback.backends.ssh.layout import Layout
from tailback.backends.ssh.programs import Order

SNAP = 128
NANOSECOND_PCAP = 0xA1B23C4D
PCAP_HEADER = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
SECTION_HEADER, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
IF_NAME, IF_TSRESOL, NANOSECONDS = 2, 9, 9


@dataclass(frozen=True)
class Packet:
    """One packet of a capture."""

    t_ns: int
    interface: int
    length: int
    data: bytes


def orders(layout: Layout) -> list[Order]:
    """A `tcpdump` for each device of the machines to capture."""
    wanted = {layout.name(host) for host in layout.scenario.record.pcap}
    return [
        Order(
            port.owner,
            f"the capture of {port.name}",
            [
                "tcpdump",
                "-n",
                "-p",
                "-U",
                "-i",
                port.name,
                "-s",
                str(SNAP),
                "--time-stamp-precision=nano",
                "-w",
                "-",
                "ip",
            ],
        )
        for port in layout.ports
        if port.owner in wanted
    ]


def joined(captures: Mapping[str, bytes], zero_ns: int) -> bytes:
    """Joins the captures of one machine, by device, to one pcapng; `zero_ns` is the start by its wall clock."""
    packets = [
        packet for number, content in enumerate(captures.values()) for packet in _packets(content, number, zero_ns)
    ]
    packets.sort(key=lambda packet: packet.t_ns)
    blocks = [_section(), *(_interface(name) for name in captures), *map(_packet, packets)]
    return b"".join(blocks)


def _packets(content: bytes, interface: int, zero_ns: int) -> Iterator[Packet]:
    """The packets since the start. An incomplete record is where `tcpdump` was stopped."""
    if len(content) < PCAP_HEADER.size or PCAP_HEADER.unpack_from(content)[0] != NANOSECOND_PCAP:
        return
    place = PCAP_HEADER.size
    while place + RECORD.size <= len(content):
        seconds, fraction, held, length = RECORD.unpack_from(content, place)
        place += RECORD.size
        if place + held > len(content):
            return
        t_ns = seconds * 1_000_000_000 + fraction - zero_ns
        if t_ns >= 0:
            yield Packet(t_ns, interface, length, content[place : place + held])
        place += held


def _block(kind: int, body: bytes) -> bytes:
    padded = body + b"\0" * (-len(body) % 4)
    size = len(padded) + 12
    return struct.pack("<II", kind, size) + padded + struct.pack("<I", size)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def _section() -> bytes:
    return _block(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def _interface(name: str) -> bytes:
    options = _option(IF_NAME, name.encode()) + _option(IF_TSRESOL, bytes([NANOSECONDS])) + _option(0, b"")
    return _block(INTERFACE, struct.pack("<HHI", 1, 0, SNAP) + options)


def _packet(packet: Packet) -> bytes:
    high, low = packet.t_ns >> 32, packet.t_ns & 0xFFFFFFFF
    head = struct.pack("<IIIII", packet.interface, high, low, len(packet.data), packet.length)
    return _block(ENHANCED_PACKET, head + packet.data)
