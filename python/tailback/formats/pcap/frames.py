"""The containers pcap and pcapng: frames with their time, whatever wrote them [libpcap pcap-savefile, pcapng].

A file that breaks off in the middle of a frame is refused, with how many frames it has before that: half a measurement
taken for a whole one is worse than none.
"""

import gzip
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailback.formats.errors import NotReadable

SECTION_HEADER, INTERFACE, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 3, 6
TSRESOL, TSOFFSET, END = 9, 14, 0
MOST_BYTES = 1 << 32
LONGEST_FRAME = 1 << 20

PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Byte order, and nanoseconds of a unit of the fraction."""


@dataclass(frozen=True)
class Frame:
    """One frame as it was captured."""

    t_ns: int
    link_type: int
    data: bytes
    length: int
    """On the wire; `data` may be cut."""


@dataclass
class _Section:
    """What a pcapng section has declared so far."""

    order: str = "<"
    interfaces: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Link type, snap length, units per second, offset in seconds."""


class _Broken(Exception):
    """What is wrong, without the file's name."""


def frames(path: Path) -> Iterator[Frame]:
    """The frames of the file at `path`, in its order; raises `NotReadable`."""
    content = _content(path)
    count = 0
    try:
        for frame in _pcapng(content) if content[:4] == struct.pack("<I", SECTION_HEADER) else _pcap(content):
            count += 1
            yield frame
    except (_Broken, struct.error, OverflowError) as error:
        hint = f"it has {count} whole packets before that" if count else "give a file of tcpdump, dumpcap or Wireshark"
        raise NotReadable(f"`{path}` is not a whole capture: {error}\n  hint: {hint}") from error


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotReadable(f"cannot read `{path}`: {error.strerror or error}\n  hint: is the name right?") from error
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise NotReadable(f"`{path}` cannot be unpacked: {error}\n  hint: copy it again") from error


def _pcap(content: bytes) -> Iterator[Frame]:
    kind = PCAP.get(content[:4])
    if kind is None:
        raise _Broken("it begins like neither pcap nor pcapng")
    order, unit = kind
    if len(content) < 24:
        raise _Broken("its header is cut short")
    link_type = struct.unpack_from(f"{order}I", content, 20)[0] & 0x0FFFFFFF
    record = struct.Struct(f"{order}IIII")
    at = 24
    while at < len(content):
        if at + 16 > len(content):
            raise _Broken("it breaks off in a packet's header")
        seconds, fraction, captured, length = record.unpack_from(content, at)
        at += 16
        _fits(at, captured, content)
        yield Frame(seconds * 10**9 + fraction * unit, link_type, content[at : at + captured], length)
        at += captured


def _fits(at: int, captured: int, content: bytes) -> None:
    if captured > LONGEST_FRAME:
        raise _Broken(f"a packet of {captured} bytes is too long to be one")
    if at + captured > len(content):
        raise _Broken("it breaks off in a packet")


def _pcapng(content: bytes) -> Iterator[Frame]:
    section = _Section()
    at = 0
    while at < len(content):
        kind, length, body = _block(content, at, section)
        if kind == INTERFACE:
            section.interfaces.append(_interface(body, section.order))
        elif kind == ENHANCED_PACKET:
            yield _enhanced(body, section)
        elif kind == SIMPLE_PACKET:
            raise _Broken("it has packets without a time")
        at += length


def _block(content: bytes, at: int, section: _Section) -> tuple[int, int, bytes]:
    """Kind, whole length and body of the block at `at`; a section header begins a section."""
    if at + 12 > len(content):
        raise _Broken("it breaks off in a block's header")
    (kind,) = struct.unpack_from(f"{section.order}I", content, at)
    if content[at : at + 4] == struct.pack("<I", SECTION_HEADER):
        magic = content[at + 8 : at + 12]
        section.order = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(magic, "")
        section.interfaces.clear()
        kind = SECTION_HEADER
        if not section.order:
            raise _Broken("its byte order is unknown")
    (length,) = struct.unpack_from(f"{section.order}I", content, at + 4)
    if length < 12 or length % 4:
        raise _Broken(f"a block has the length {length}")
    if at + length > len(content):
        raise _Broken("it breaks off in a block")
    return kind, length, content[at + 8 : at + length - 4]


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
    _fits(20, captured, body)
    link_type, _, units, offset = section.interfaces[interface]
    t_ns = ((high << 32) | low) * 10**9 // units + offset * 10**9
    return Frame(t_ns, link_type, body[20 : 20 + captured], length)
