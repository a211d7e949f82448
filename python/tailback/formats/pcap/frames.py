"""The file formats pcap and pcapng: frames with their times, from any program [libpcap pcap-savefile, pcapng].

A file that ends in the middle of a frame is refused; the error says how many frames come before that. Half a
measurement taken for a whole one is worse than none.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tailback.formats.errors import NotReadable
from tailback.limits import Damaged, FileRefused, Stream, open_unpacked

SECTION_HEADER, INTERFACE, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 3, 6
TSRESOL, TSOFFSET, END = 9, 14, 0

MAX_BYTES = 1 << 34
"""Of a capture, packed and unpacked. It is read in pieces, so this bounds time alone."""

MAX_RECORDS = 10_000_000
"""Frames and blocks of a capture. The packets of as many frames take about two gigabytes as a table."""

LONGEST_FRAME = 1 << 20
MAX_INTERFACES = 10_000
LATEST_NS = 230 * 31_557_600 * 10**9
"""A later time is none: that of pcapng has 64 bits in any unit, which nanoseconds do not have."""

PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and nanoseconds of a unit of the fraction."""


class Frame(NamedTuple):
    """One frame as it was captured."""

    t_ns: int
    link_type: int
    data: bytes
    length: int
    """On the wire; `data` may be cut."""
    interface: int = 0
    """The interface of a pcapng section on which it was captured, counted over all sections."""


@dataclass
class _Section:
    """What a pcapng section has declared so far."""

    order: str = "<"
    interfaces: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Link type, snap length, time units per second, time offset in seconds."""
    before: int = 0
    """The interfaces of earlier sections."""


class _Broken(Exception):
    """An error without the name of the file."""


def frames(path: Path) -> Iterator[Frame]:
    """The frames of the file at `path`, in order; raises `NotReadable`."""
    count = 0
    try:
        with open_unpacked(path, MAX_BYTES) as stream:
            for frame in _frames(stream):
                count += 1
                yield frame
    except (_Broken, struct.error, OverflowError) as error:
        hint = f"it has {count} whole packets before that" if count else "give a file of tcpdump, dumpcap or Wireshark"
        raise NotReadable(f"`{path}` is not a complete capture: {error}\n  hint: {hint}") from error
    except Damaged as error:
        raise NotReadable(f"`{path}` cannot be read: {error}\n  hint: copy it again") from error
    except FileRefused as error:
        hint = "give a file by its name; `editcap -c 1000000` cuts a capture into several"
        raise NotReadable(f"`{path}` is not read: {error}\n  hint: {hint}") from error
    except OSError as error:
        raise NotReadable(f"cannot read `{path}`: {error.strerror or error}\n  hint: is the name right?") from error


def _frames(stream: Stream) -> Iterator[Frame]:
    magic = stream.read(4)
    found = _pcapng(stream) if magic == struct.pack("<I", SECTION_HEADER) else _pcap(magic, stream)
    yield from found


def _pcap(magic: bytes, stream: Stream) -> Iterator[Frame]:
    kind = PCAP.get(magic)
    if kind is None:
        raise _Broken("it begins like neither pcap nor pcapng")
    order, unit = kind
    header = stream.read(20)
    if len(header) < 20:
        raise _Broken("its header is cut short")
    link_type = struct.unpack_from(f"{order}I", header, 16)[0] & 0x0FFFFFFF
    record = struct.Struct(f"{order}IIII")
    for _ in _records():
        head = stream.read(record.size)
        if not head:
            return
        if len(head) < record.size:
            raise _Broken("it ends within a packet's header")
        seconds, fraction, captured, length = record.unpack(head)
        yield Frame(seconds * 10**9 + fraction * unit, link_type, _frame_bytes(stream, captured), length)


def _records() -> Iterator[None]:
    """Limits the number of records."""
    for _ in range(MAX_RECORDS):
        yield
    raise FileRefused(f"it has more than {MAX_RECORDS} packets")


def _frame_bytes(stream: Stream, captured: int) -> bytes:
    """The bytes of a frame."""
    if captured > LONGEST_FRAME:
        raise _Broken(f"a packet of {captured} bytes is too long to be one")
    data = stream.read(captured)
    if len(data) < captured:
        raise _Broken("it ends within a packet")
    return data


def _pcapng(stream: Stream) -> Iterator[Frame]:
    """The frames after the first four bytes, which the caller has read."""
    section = _Section()
    head = struct.pack("<I", SECTION_HEADER) + stream.read(8)
    for _ in _records():
        if not head:
            return
        kind, body = _block(head, stream, section)
        if kind == INTERFACE:
            section.interfaces.append(_interface(body, section.order))
            if section.before + len(section.interfaces) > MAX_INTERFACES:
                raise _Broken(f"it describes more than {MAX_INTERFACES} interfaces")
        elif kind == ENHANCED_PACKET:
            yield _enhanced(body, section)
        elif kind == SIMPLE_PACKET:
            raise _Broken("it has packets without a time")
        head = stream.read(12)


def _block(head: bytes, stream: Stream, section: _Section) -> tuple[int, bytes]:
    """Kind and body of the block that begins with `head`: kind, length, four bytes more. A section header begins a
    section. The body of what is not read is left out.
    """
    if len(head) < 12:
        raise _Broken("it ends within a block's header")
    (kind,) = struct.unpack_from(f"{section.order}I", head)
    if head[:4] == struct.pack("<I", SECTION_HEADER):
        section.order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(head[8:], "")
        section.before += len(section.interfaces)
        section.interfaces.clear()
        kind = SECTION_HEADER
        if not section.order:
            raise _Broken("its byte order is unknown")
    (length,) = struct.unpack_from(f"{section.order}I", head, 4)
    if length < 12 or length % 4:
        raise _Broken(f"a block has the length {length}")
    body = _body(kind, length - 12, stream)
    # The last four bytes repeat the length.
    return kind, (head[8:] + body)[:-4]


def _body(kind: int, length: int, stream: Stream) -> bytes:
    """The body of a block; empty for kinds that are skipped."""
    if kind not in (INTERFACE, ENHANCED_PACKET):
        if stream.skip(length) < length:
            raise _Broken("it ends within a block")
        return b""
    if length > 2 * LONGEST_FRAME:
        raise _Broken(f"a block of {length} bytes is too long to be a packet")
    body = stream.read(length)
    if len(body) < length:
        raise _Broken("it ends within a block")
    return body


def _interface(body: bytes, order: str) -> tuple[int, int, int, int]:
    link_type, _, snap = struct.unpack_from(f"{order}HHI", body)
    units, offset, at = 10**6, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == END or len(value) < length:
            break
        if code == TSRESOL and value:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** min(value[0], 18)
        elif code == TSOFFSET and length == 8:
            (offset,) = struct.unpack(f"{order}q", value)
        at += 4 + (length + 3) // 4 * 4
    return link_type, snap, units, offset


def _enhanced(body: bytes, section: _Section) -> Frame:
    interface, high, low, captured, length = struct.unpack_from(f"{section.order}IIIII", body)
    if interface >= len(section.interfaces):
        raise _Broken(f"a packet is of interface {interface}, which is not described")
    if captured > LONGEST_FRAME:
        raise _Broken(f"a packet of {captured} bytes is too long to be one")
    if 20 + captured > len(body):
        raise _Broken("it ends within a packet")
    link_type, _, units, offset = section.interfaces[interface]
    t_ns = ((high << 32) | low) * 10**9 // units + offset * 10**9
    if not 0 <= t_ns <= LATEST_NS:
        raise _Broken("the time of a packet is not between 1970 and 2200")
    return Frame(t_ns, link_type, body[20 : 20 + captured], length, section.before + interface)
