"""Prints the first packets of a kernel capture as a table, for comparison with the simulator's segments.

A capture is a nanosecond libpcap file of Ethernet frames [libpcap pcap-savefile(5)]. Sequence and acknowledgement
numbers are made relative (SYN = 0), windows are unscaled, timestamps of the TCP option are relative to the
first one of their direction, `t_us` counts from the first SYN. Direction: `out` leaves the client, the sender of
that SYN, whichever host captured.

    python -m conformance.wired.capture c0.pcap.gz --packets 400 > RUN.csv

Known deviation: a frame that the capture cut (96 B here) keeps only the options that fit; TCP headers fit whole.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TextIO

NANOSECOND_MAGIC = 0xA1B23C4D
ETHERTYPE_IPV4 = 0x0800
PROTOCOL_ICMP, PROTOCOL_TCP = 1, 6
FLAG_SYN, FLAG_ACK = 0x02, 0x10
OPTION_WINDOW_SCALE, OPTION_SACK, OPTION_TIMESTAMP = 3, 5, 8
COLUMNS = ("t_us", "direction", "flow", "flags", "seq", "len", "ack", "sack", "window", "tsval_ms", "tsecr_ms")
UNITS = "t_us: us since first SYN; seq, len, ack, sack, window: B; tsval_ms, tsecr_ms: ms since its direction's first"


@dataclass(frozen=True)
class Frame:
    """One captured frame."""

    t_ns: int
    data: bytes


@dataclass(frozen=True)
class Segment:
    """One TCP segment (or ICMP echo, with only `t_ns`, addresses and length) as it was on the wire."""

    t_ns: int
    protocol: int
    source: tuple[bytes, int]
    destination: tuple[bytes, int]
    flags: int
    seq: int
    ack: int
    length: int
    window: int
    options: dict[int, bytes]


@dataclass
class Direction:
    """The offsets that make the numbers of one direction of a connection relative."""

    isn: int
    scale: int
    first_tsval: int


@dataclass
class Conversation:
    """The state of the conversion: the client, the flows, and the offsets of each direction."""

    client: bytes
    start_ns: int
    flows: dict[int, int] = field(default_factory=dict)
    directions: dict[tuple[tuple[bytes, int], tuple[bytes, int]], Direction] = field(default_factory=dict)


def read_frames(path: Path) -> Iterator[Frame]:
    """Frames of a compressed little-endian nanosecond capture."""
    with gzip.open(path, "rb") as stream:
        header = stream.read(24)
        magic = struct.unpack_from("<I", header)[0]
        if magic != NANOSECOND_MAGIC:
            raise ValueError(f"{path}: magic {magic:#x} is not a nanosecond pcap; convert with editcap -F nsecpcap")
        while record := stream.read(16):
            seconds, nanoseconds, captured, _length = struct.unpack("<IIII", record)
            yield Frame(seconds * 1_000_000_000 + nanoseconds, stream.read(captured))


def read_segments(path: Path) -> Iterator[Segment]:
    """TCP segments and ICMP messages of a capture, in order; ARP and others are left out."""
    for frame in read_frames(path):
        if struct.unpack_from("!H", frame.data, 12)[0] == ETHERTYPE_IPV4:
            segment = decode_ipv4(frame.t_ns, frame.data[14:])
            if segment is not None:
                yield segment


def decode_ipv4(t_ns: int, packet: bytes) -> Segment | None:
    header = (packet[0] & 0x0F) * 4
    total = struct.unpack_from("!H", packet, 2)[0]
    source, destination = packet[12:16], packet[16:20]
    if packet[9] == PROTOCOL_ICMP:
        return Segment(t_ns, PROTOCOL_ICMP, (source, 0), (destination, 0), 0, 0, 0, total - header, 0, {})
    if packet[9] != PROTOCOL_TCP:
        return None
    tcp = packet[header:]
    sport, dport, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", tcp)
    size = (offset >> 4) * 4
    return Segment(
        t_ns, PROTOCOL_TCP, (source, sport), (destination, dport), flags, seq, ack,
        total - header - size, window, decode_options(tcp[20:size]),
    )  # fmt: skip


def decode_options(data: bytes) -> dict[int, bytes]:
    """Option kind to its content [rfc9293 §3.1]; a later option of the same kind replaces an earlier one."""
    options: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        length = data[at + 1]
        options[data[at]] = data[at + 2 : at + length]
        at += length
    return options


def rows(segments: Iterator[Segment]) -> Iterator[dict[str, str]]:
    """Rows from the first SYN on."""
    conversation: Conversation | None = None
    for segment in segments:
        if conversation is None:
            if not segment.flags & FLAG_SYN:
                continue
            conversation = Conversation(segment.source[0], segment.t_ns)
        yield row(conversation, segment)


def row(conversation: Conversation, segment: Segment) -> dict[str, str]:
    outgoing = segment.source[0] == conversation.client
    shown = {
        "t_us": f"{(segment.t_ns - conversation.start_ns) / 1000:.3f}",
        "direction": "out" if outgoing else "in",
        "len": str(segment.length),
    }
    if segment.protocol == PROTOCOL_ICMP:
        return shown | {"flow": "ping"}
    port = segment.source[1] if outgoing else segment.destination[1]
    flow = conversation.flows.setdefault(port, len(conversation.flows))
    return shown | {"flow": str(flow), "flags": flag_letters(segment.flags)} | relative(conversation, segment)


def relative(conversation: Conversation, segment: Segment) -> dict[str, str]:
    """Numbers of one segment relative to the handshake of its connection."""
    key = (segment.source, segment.destination)
    if segment.flags & FLAG_SYN:
        conversation.directions[key] = Direction(segment.seq, window_scale(segment), timestamps(segment)[0])
    own = conversation.directions[key]
    peer = conversation.directions.get((segment.destination, segment.source))
    scale = 0 if segment.flags & FLAG_SYN else own.scale
    tsval, tsecr = timestamps(segment)
    shown = {
        "seq": str(modular(segment.seq - own.isn)),
        "window": str(segment.window << scale),
        "tsval_ms": str(modular(tsval - own.first_tsval)),
    }
    if peer is None or not segment.flags & FLAG_ACK:
        return shown
    return shown | {
        "ack": str(modular(segment.ack - peer.isn)),
        "sack": sack_ranges(segment.options.get(OPTION_SACK, b""), peer.isn),
        "tsecr_ms": str(modular(tsecr - peer.first_tsval)),
    }


def modular(difference: int) -> int:
    return difference & 0xFFFF_FFFF


def window_scale(segment: Segment) -> int:
    return segment.options.get(OPTION_WINDOW_SCALE, b"\0")[0]


def timestamps(segment: Segment) -> tuple[int, int]:
    tsval, tsecr = struct.unpack("!II", segment.options.get(OPTION_TIMESTAMP, bytes(8)))
    return tsval, tsecr


def sack_ranges(content: bytes, isn: int) -> str:
    edges = struct.unpack(f"!{len(content) // 4}I", content)
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return " ".join(f"{modular(left - isn)}-{modular(right - isn)}" for left, right in pairs)


def flag_letters(flags: int) -> str:
    """tcpdump's letters, in its order."""
    letters = ((0x02, "S"), (0x01, "F"), (0x04, "R"), (0x08, "P"), (0x10, "."), (0x20, "U"), (0x40, "E"), (0x80, "W"))
    return "".join(letter for bit, letter in letters if flags & bit)


def write_table(path: Path, packets: int, stream: TextIO) -> None:
    print(f"# {UNITS}", file=stream)
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(islice(rows(read_segments(path)), packets))


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the first packets of a kernel capture.")
    parser.add_argument("capture", type=Path)
    parser.add_argument("--packets", type=int, default=400)
    arguments = parser.parse_args()
    write_table(arguments.capture, arguments.packets, sys.stdout)


if __name__ == "__main__":
    main()
