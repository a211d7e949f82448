"""Decodes frames to columns, many at a time: TCP, UDP and ICMP echo over IPv4 and IPv6.

Link types: Ethernet, raw IP, Linux cooked v1 and v2, BSD loopback [libpcap linktypes]; VLAN tags and PPPoE below them.
Only the beginning of each frame is read. Rows are processed together, so a loop here is over headers, not over packets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tailback.analysis.passive import ICMP, TCP, UDP
from tailback.formats.pcap.frames import Frame

HEAD = 256
"""Bytes of a frame that are read: link, VLAN tags, IPv6 with extensions, and TCP with options."""

NULL, ETHERNET, RAW, LOOP, COOKED, RAW_IPV4, RAW_IPV6, COOKED_2 = 0, 1, 101, 108, 113, 228, 229, 276
RAW_OTHER = 12
VLAN = (0x8100, 0x88A8, 0x9100)
PPPOE = 0x8864
IPV4, IPV6 = 0x0800, 0x86DD
PPP_IPV4, PPP_IPV6 = 0x0021, 0x0057
ICMPV6 = 58
EXTENSIONS = (0, 43, 60, 44)
"""IPv6 extension headers: hop by hop, routing, destination, fragment."""
FRAGMENT = 44
MOST_EXTENSIONS = 8
MOST_TAGS = 3
OUTGOING = 4
"""The packet type of Linux's cooked headers for what the host sends."""

TIMESTAMP, MAXIMUM_SEGMENT = 8, 2
OPTIONS_MAX = 40

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

TYPES: Mapping[str, type] = {
    "t_ns": np.int64, "protocol": np.uint8, "source": np.int32, "target": np.int32, "sport": np.uint16,
    "dport": np.uint16, "seq": np.uint32, "ack": np.uint32, "flags": np.uint8, "payload": np.int32,
    "identification": np.uint32, "tsval": np.uint32, "tsecr": np.uint32, "mss": np.uint16, "ttl": np.uint8,
    "tap": np.int64,
}  # fmt: skip
"""The columns; `source` and `target` are places in the list of addresses, `tap` tells interfaces apart."""

Columns = dict[str, npt.NDArray[np.generic]]


@dataclass
class Decoder:
    """Decodes batches of frames, and keeps the addresses that they have in common."""

    addresses: dict[bytes, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    """How many frames are something else, by what they are."""

    def columns(self, frames: Sequence[Frame]) -> Columns:
        """The packets among some frames."""
        batch = _Batch(frames)
        start = np.full(len(frames), -1, dtype=np.int64)
        family = np.zeros(len(frames), dtype=np.int64)
        for link_type in set(batch.link_types.tolist()):
            rows = np.flatnonzero(batch.link_types == link_type)
            start[rows], family[rows] = _ip_start(batch, rows, int(link_type))
        parts = []
        for version, read in ((IPV4, _ipv4), (IPV6, _ipv6)):
            rows = np.flatnonzero(family == version)
            if len(rows):
                parts.append(self._family(batch, rows, start[rows], read))
        self._count("not IP", int((family == 0).sum()))
        if not parts:
            return {name: np.zeros(0, dtype=kind) for name, kind in TYPES.items()}
        joined = {name: np.concatenate([part[name] for part in parts]) for name in TYPES}
        order = np.argsort(np.concatenate([part["row"] for part in parts]), kind="stable")
        return {name: values[order].astype(TYPES[name]) for name, values in joined.items()}

    def _family(self, batch: "_Batch", rows: Ints, start: Ints, read: "_Reader") -> Columns:
        packet = read(batch, rows, start)
        self._count("cut or damaged", int((~packet.whole).sum()))
        packet = packet.kept(packet.whole)
        self._count("later fragments", int(packet.fragment.sum()))
        packet = packet.kept(~packet.fragment)
        read_above = {TCP: _tcp, UDP: _udp, ICMP: _echo}
        found = []
        for protocol, transport in read_above.items():
            own = packet.kept(packet.protocol == protocol)
            if len(own.rows):
                values = transport(batch, own)
                good = values.pop("good").astype(bool)
                what = "cut or damaged" if protocol != ICMP else "other ICMP"
                self._count(what, int((~good).sum()))
                common = self._common(batch, own) | values
                found.append({name: each[good] for name, each in common.items()})
        other = ~np.isin(packet.protocol, list(read_above))
        self._count("other protocols", int(other.sum()))
        names = ["row", *TYPES]
        if not found:
            return {name: np.zeros(0, dtype=np.int64) for name in names}
        return {name: np.concatenate([part[name] for part in found]) for name in names}

    def _common(self, batch: "_Batch", packet: "_Packet") -> Columns:
        count = len(packet.rows)
        zero = np.zeros(count, dtype=np.int64)
        return {
            "row": packet.rows, "t_ns": batch.t_ns[packet.rows], "protocol": packet.protocol,
            "source": self._coded(packet.source), "target": self._coded(packet.target), "ttl": packet.ttl,
            "identification": packet.identification, "tap": batch.taps[packet.rows],
            **dict.fromkeys(("seq", "ack", "flags", "tsval", "tsecr", "mss"), zero),
        }  # fmt: skip

    def _coded(self, words: Bytes) -> Ints:
        """The place of each address in the list."""
        width = words.shape[1]
        whole = np.ascontiguousarray(words).view(np.dtype((np.void, width))).ravel()
        distinct, places = np.unique(whole, return_inverse=True)
        known = [self.addresses.setdefault(each.tobytes(), len(self.addresses)) for each in distinct]
        return np.array(known, dtype=np.int64)[places]

    def _count(self, what: str, number: int) -> None:
        if number:
            self.left_out[what] = self.left_out.get(what, 0) + number


class _Batch:
    """The beginnings of some frames as one matrix, and what the file says of each."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        heads = b"".join([frame.data[:HEAD].ljust(HEAD, b"\0") for frame in frames])
        self.bytes: Bytes = np.frombuffer(heads, dtype=np.uint8).reshape(len(frames), HEAD)
        self.t_ns: Ints = _ints(frame.t_ns for frame in frames)
        self.link_types: Ints = _ints(frame.link_type for frame in frames)
        self.captured: Ints = _ints(min(len(frame.data), HEAD) for frame in frames)
        self.length: Ints = _ints(frame.length for frame in frames)
        self.taps: Ints = _ints(frame.interface for frame in frames) << 33

    def byte(self, rows: Ints, at: Ints) -> Ints:
        """One byte of each row; 0 beyond the end."""
        return self.bytes[rows, np.minimum(at, HEAD - 1)].astype(np.int64)

    def two(self, rows: Ints, at: Ints) -> Ints:
        """Two bytes, the first one higher."""
        return self.byte(rows, at) << 8 | self.byte(rows, at + 1)

    def four(self, rows: Ints, at: Ints) -> Ints:
        """Four bytes, the first one highest."""
        return self.two(rows, at) << 16 | self.two(rows, at + 2)

    def some(self, rows: Ints, at: Ints, count: int) -> Bytes:
        """`count` bytes of each row."""
        places = np.minimum(at[:, None] + np.arange(count), HEAD - 1)
        return np.asarray(self.bytes[rows[:, None], places], dtype=np.uint8)


@dataclass
class _Packet:
    """IP packets: what their headers say, row by row."""

    rows: Ints
    protocol: Ints
    above: Ints
    """Where the transport header begins."""
    length: Ints
    """Bytes from there on the wire."""
    ttl: Ints
    identification: Ints
    source: Bytes
    target: Bytes
    fragment: Mask
    """A fragment that is not the first."""
    whole: Mask
    """The IP header is there and makes sense."""

    def kept(self, which: Mask) -> "_Packet":
        """Some of the packets."""
        return _Packet(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


_Reader = Callable[[_Batch, Ints, Ints], _Packet]


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _ip_start(batch: _Batch, rows: Ints, link_type: int) -> tuple[Ints, Ints]:
    """Where the IP header of each row begins, and its family; 0 for other frames."""
    zero = np.zeros(len(rows), dtype=np.int64)
    if link_type in (RAW, RAW_OTHER, RAW_IPV4, RAW_IPV6):
        return zero, _by_version(batch, rows, zero)
    if link_type in (NULL, LOOP):
        return zero + 4, _by_version(batch, rows, zero + 4)
    places = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED_2: (0, 20)}
    if link_type not in places:
        return zero, zero
    at, first = places[link_type]
    kind, start = batch.two(rows, zero + at), zero + first
    _tell_taps_apart(batch, rows, link_type)
    for _ in range(MOST_TAGS):
        tagged = np.isin(kind, VLAN)
        kind = np.where(tagged, batch.two(rows, start + 2), kind)
        start = np.where(tagged, start + 4, start)
    ppp = kind == PPPOE
    inner = batch.two(rows, start + 6)
    within = np.where(inner == PPP_IPV4, IPV4, np.where(inner == PPP_IPV6, IPV6, 0))
    kind, start = np.where(ppp, within, kind), np.where(ppp, start + 8, start)
    there = np.isin(kind, (IPV4, IPV6)) & (start < batch.captured[rows])
    return start, np.where(there, kind, 0)


def _tell_taps_apart(batch: _Batch, rows: Ints, link_type: int) -> None:
    """The `any` device of Linux has all interfaces: version 2 names them, version 1 tells in from out."""
    zero = np.zeros(len(rows), dtype=np.int64)
    if link_type == COOKED_2:
        batch.taps[rows] += batch.four(rows, zero + 4) << 1
    elif link_type == COOKED:
        batch.taps[rows] += (batch.two(rows, zero) == OUTGOING).astype(np.int64)


def _by_version(batch: _Batch, rows: Ints, start: Ints) -> Ints:
    version = batch.byte(rows, start) >> 4
    there = batch.captured[rows] > start
    return np.where(there & (version == 4), IPV4, np.where(there & (version == 6), IPV6, 0))


def _ipv4(batch: _Batch, rows: Ints, start: Ints) -> _Packet:
    header = (batch.byte(rows, start) & 15) * 4
    total = batch.two(rows, start + 2)
    fragment = batch.two(rows, start + 6)
    # Length 0 means a packet of more than 64 KiB that the sender's card will cut (TSO).
    length = np.where(total == 0, batch.length[rows] - start, total) - header
    whole = (batch.captured[rows] >= start + 20) & (header >= 20) & (batch.byte(rows, start) >> 4 == 4)
    return _Packet(
        rows, batch.byte(rows, start + 9), start + header, length, batch.byte(rows, start + 8),
        batch.two(rows, start + 4), batch.some(rows, start + 12, 4), batch.some(rows, start + 16, 4),
        (fragment & 0x1FFF) > 0, whole,
    )  # fmt: skip


def _ipv6(batch: _Batch, rows: Ints, start: Ints) -> _Packet:
    payload = batch.two(rows, start + 4)
    length = np.where(payload == 0, batch.length[rows] - start - 40, payload)
    kind, above = batch.byte(rows, start + 6), start + 40
    later, number = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64)
    for _ in range(MOST_EXTENSIONS):
        extended = np.isin(kind, EXTENSIONS) & (above + 8 <= batch.captured[rows])
        if not extended.any():
            break
        fragment = extended & (kind == FRAGMENT)
        later |= fragment & (batch.two(rows, above + 2) >> 3 > 0)
        number = np.where(fragment, batch.four(rows, above + 4), number)
        size = np.where(kind == FRAGMENT, 8, 8 + 8 * batch.byte(rows, above + 1))
        kind = np.where(extended, batch.byte(rows, above), kind)
        above, length = np.where(extended, above + size, above), np.where(extended, length - size, length)
    protocol = np.where(kind == ICMPV6, ICMP, np.where(kind == ICMP, 255, kind))
    whole = (batch.captured[rows] >= start + 40) & (batch.byte(rows, start) >> 4 == 6)
    return _Packet(
        rows, protocol, above, length, batch.byte(rows, start + 7), number, batch.some(rows, start + 8, 16),
        batch.some(rows, start + 24, 16), later, whole,
    )  # fmt: skip


def _tcp(batch: _Batch, packet: _Packet) -> Columns:
    rows, at = packet.rows, packet.above
    header = (batch.byte(rows, at + 12) >> 4) * 4
    good = (batch.captured[rows] >= at + 20) & (header >= 20)
    payload = np.clip(packet.length - header, 0, 2**31 - 1)
    options = _options(batch, packet, np.where(good, header, 20))
    return {
        "sport": batch.two(rows, at), "dport": batch.two(rows, at + 2), "seq": batch.four(rows, at + 4),
        "ack": batch.four(rows, at + 8), "flags": batch.byte(rows, at + 13), "payload": payload, **options,
        "good": good,
    }  # fmt: skip


def _options(batch: _Batch, packet: _Packet, header: Ints) -> Columns:
    """Time stamps and the largest segment, 0 where they are not there."""
    rows = packet.rows
    end = np.minimum(packet.above + header, batch.captured[rows])
    at = packet.above + 20
    found = {name: np.zeros(len(rows), dtype=np.int64) for name in ("tsval", "tsecr", "mss")}
    left = np.flatnonzero(at < end)
    for _ in range(OPTIONS_MAX):
        if not len(left):
            break
        here, own = at[left], rows[left]
        kind, size = batch.byte(own, here), batch.byte(own, here + 1)
        stamps = (kind == TIMESTAMP) & (here + 10 <= end[left])
        found["tsval"][left[stamps]] = batch.four(own[stamps], here[stamps] + 2)
        found["tsecr"][left[stamps]] = batch.four(own[stamps], here[stamps] + 6)
        segment = (kind == MAXIMUM_SEGMENT) & (here + 4 <= end[left])
        found["mss"][left[segment]] = batch.two(own[segment], here[segment] + 2)
        step = np.where(kind == 1, 1, size)
        goes_on = (kind != 0) & ((kind == 1) | (size >= 2))
        at[left] = here + step
        left = left[goes_on & (here + step < end[left])]
    return dict(found)


def _udp(batch: _Batch, packet: _Packet) -> Columns:
    rows, at = packet.rows, packet.above
    stated = batch.two(rows, at + 4)
    # The datagram's own length is right also for the first fragment; 0 is a super-packet that the card will cut.
    payload = np.where(stated >= 8, stated, packet.length) - 8
    return {
        "sport": batch.two(rows, at), "dport": batch.two(rows, at + 2), "payload": np.clip(payload, 0, 2**31 - 1),
        "good": batch.captured[rows] >= at + 8,
    }  # fmt: skip


def _echo(batch: _Batch, packet: _Packet) -> Columns:
    """A ping: its identifier as both ports, its number as seq, its type as flags (that of IPv4)."""
    rows, at = packet.rows, packet.above
    kind = batch.byte(rows, at)
    six = packet.source.shape[1] == 16
    asked, answered = (kind == 128, kind == 129) if six else (kind == 8, kind == 0)
    identifier = batch.two(rows, at + 4)
    return {
        "sport": identifier, "dport": identifier, "seq": batch.two(rows, at + 6),
        "flags": np.where(asked, 8, 0), "payload": np.clip(packet.length - 8, 0, 2**31 - 1),
        "good": (batch.captured[rows] >= at + 8) & (asked | answered),
    }  # fmt: skip
