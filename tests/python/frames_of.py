"""Captures that tests write: frames of one connection, and files of them."""

import struct
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

Timed = tuple[int, bytes, int]
"""Time in ns, the captured bytes, and the length on the wire."""

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def ip_packet(protocol: int, ends: tuple[str, str], body: bytes, *, ttl: int = 64, length: int | None = None) -> bytes:
    """An IPv4 or IPv6 packet; `length` of what is above the IP header, if `body` is cut."""
    source, target = (ip_address(end).packed for end in ends)
    size = len(body) if length is None else length
    if len(source) == 4:
        return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + size, 0, 0, ttl, protocol, 0, source, target) + body
    return struct.pack(">IHBB", 6 << 28, size, protocol, ttl) + source + target + body


def segment(
    ports: tuple[int, int],
    numbers: tuple[int, int],
    flags: int,
    payload: int = 0,
    stamps: tuple[int, int] | None = None,
) -> tuple[bytes, int]:
    """A TCP header with what options it has, and the length with data, which is not captured."""
    options = b"" if stamps is None else b"\x01\x01\x08\x0a" + struct.pack(">II", *stamps)
    if flags & SYN:
        options += b"\x02\x04" + struct.pack(">H", 1460)
    header = struct.pack(
        ">HHIIBBHHH", *ports, *(n % 2**32 for n in numbers), (20 + len(options)) << 2, flags, 500, 0, 0
    )
    return header + options, len(header) + len(options) + payload


class Connection:
    """A connection as a capture has it; times in ms."""

    def __init__(
        self, *, ends: tuple[str, str] = ("10.0.0.1", "10.0.1.1"), ports: tuple[int, int] = (40000, 5201),
        isn: int = 1000, ttls: tuple[int, int] = (64, 63), stamps: bool = True,
    ) -> None:  # fmt: skip
        self.ends, self.ports, self.isn, self.ttls, self.stamps = ends, ports, isn, ttls, stamps
        self.rows: list[Timed] = []

    def there(self, ms: float, seq: int, payload: int = 0, *, flags: int = ACK, stamp: int = 0, echo: int = 0) -> None:
        """From the client; `seq` counts from its first byte of data, which is 1."""
        self._add(ms, (self.isn + seq, 7001), flags, payload, (stamp or int(ms) + 1, echo), back=False)

    def back(self, ms: float, ack: int, *, flags: int = ACK, stamp: int = 0, echo: int = 0) -> None:
        """An ACK of the server."""
        self._add(ms, (7001 - (flags & SYN > 0), self.isn + ack), flags, 0, (stamp or int(ms) + 1, echo), back=True)

    def _add(
        self, ms: float, numbers: tuple[int, int], flags: int, payload: int, stamps: tuple[int, int], *, back: bool
    ) -> None:
        step = -1 if back else 1
        header, length = segment(
            (self.ports[::step][0], self.ports[::step][1]),
            numbers,
            flags,
            payload,
            stamps if self.stamps else None,
        )
        packet = ip_packet(6, self.ends[::step], header, ttl=self.ttls[back], length=length)  # type: ignore[arg-type]
        kind = b"\x08\x00" if "." in self.ends[0] else b"\x86\xdd"
        self.rows.append((int(ms * 1e6), b"\0" * 12 + kind + packet, 14 + len(packet) + length - len(header)))

    def handshake(self, ms: float, rtt_ms: float) -> None:
        """SYN, SYN/ACK, ACK, at the client."""
        self.there(ms, 0, flags=SYN, stamp=1)
        self.back(ms + rtt_ms, 1, flags=SYN | ACK)
        self.there(ms + rtt_ms + 0.01, 1)

    def bulk(self, ms: float, rtt_ms: float, *, segments: int = 100, apart_ms: float = 1.0, first: int = 1) -> float:
        """Segments of 1448 bytes with an ACK each; returns when the last one is acknowledged."""
        for place in range(segments):
            at = ms + place * apart_ms
            self.there(at, first + place * 1448, 1448)
            self.back(at + rtt_ms, first + (place + 1) * 1448)
        return ms + (segments - 1) * apart_ms + rtt_ms


def write(path: Path, rows: Iterable[Timed], *, link_type: int = 1, snap: int = 262144) -> Path:
    """A pcap file with nanoseconds."""
    content = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snap, link_type)
    for t_ns, data, length in sorted(rows, key=lambda row: row[0]):
        cut = data[:snap]
        content += struct.pack("<IIII", 1_700_000_000 + t_ns // 10**9, t_ns % 10**9, len(cut), length) + cut
    path.write_bytes(content)
    return path


def write_ng(path: Path, interfaces: int, rows: Iterable[tuple[int, Timed]]) -> Path:
    """A pcapng file in microseconds with several interfaces; each frame with its interface."""
    content = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    content += struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20) * interfaces
    for interface, (t_ns, data, length) in sorted(rows, key=lambda row: row[1][0]):
        padded = data + b"\0" * (-len(data) % 4)
        size = 32 + len(padded)
        t = 1_700_000_000_000_000 + t_ns // 1000
        content += struct.pack("<IIIIIII", 6, size, interface, t >> 32, t & 0xFFFFFFFF, len(data), length)
        content += padded + struct.pack("<I", size)
    path.write_bytes(content)
    return path


ENDS = ("10.0.0.1", "10.0.1.1")


def ping(ms: float, number: int, *, back: bool = False, ends: tuple[str, str] = ENDS, ttl: int = 64) -> Timed:
    """An echo request or its reply."""
    six = ":" in ends[0]
    kind = (129 if back else 128) if six else (0 if back else 8)
    body = struct.pack(">BBHHH", kind, 0, 0, 7, number) + b"\0" * 56
    packet = ip_packet(58 if six else 1, ends[::-1] if back else ends, body, ttl=ttl)
    return int(ms * 1e6), b"\0" * 12 + (b"\x86\xdd" if six else b"\x08\x00") + packet, 14 + len(packet)
