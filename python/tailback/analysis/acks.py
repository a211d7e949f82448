"""What ACKs tell of a capture, for all connections at once: acknowledged bytes, retransmissions, RTT by Karn's rule.

RTT: from when a segment passes to the first ACK that covers all of it. Of the segments that an ACK covers for the first
time, the oldest counts, as in Linux's smoothed RTT, so that the receiver's wait with a delayed ACK is part of it. A
segment that was sent again before its ACK has no sample by its sequence number [rfc6298 §3]; if the ACK echoes the time
stamp of one of its transmissions, that one counts [rfc7323 §4]. Segments that were selectively acknowledged before are
behind such a segment, and give no sample. In a capture at the sender this is the RTT; elsewhere it is the part of
the path beyond the capture.
"""

from dataclasses import dataclass

import numpy as np

from tailback.analysis.conversations import RST, SYN, Conversations, Ints, grown

NEVER = np.iinfo(np.int64).max
TIMESTAMPS_BYTES = 12

MOST_OVERLAPS = 4
"""Segments per retransmission, on average, that are looked at one by one."""


@dataclass(frozen=True, eq=False)
class Samples:
    """A number for some packets."""

    rows: Ints
    """The packets."""
    directions: Ints
    """The directions that the numbers are about."""
    values: Ints

    def of(self, directions: Ints) -> "Samples":
        """Those of some directions."""
        kept = np.isin(self.directions, directions)
        return Samples(self.rows[kept], self.directions[kept], self.values[kept])


def acknowledged(packets: Conversations) -> Samples:
    """Bytes that each ACK acknowledges for the first time, SYN and FIN not counted; the direction is that of the data,
    or −1 − that of the ACK if the capture has no data. The first ACK of a direction without data is only the base.
    """
    rows = _ack_rows(packets)
    values, code = packets.ack[rows], packets.code[rows]
    before, highest = grown(values, code)
    data = packets.back[code]
    # A single byte is a SYN, a FIN, or a keep-alive.
    more = highest - before
    kept = more > 1
    directions = np.where(data >= 0, data, -1 - code)
    return Samples(rows[kept], directions[kept], more[kept])


def seen(packets: Conversations) -> Samples:
    """Bytes that pass for the first time: of UDP all, of TCP those beyond the highest sequence number so far."""
    udp = np.flatnonzero(~packets.is_tcp)
    rows = _data_rows(packets)
    before, highest = _passed(packets, rows)
    fresh = np.minimum(highest - before, packets.columns["payload"][rows])
    kept = fresh > 0
    return Samples(
        np.concatenate([udp, rows[kept]]),
        np.concatenate([packets.code[udp], packets.code[rows[kept]]]),
        np.concatenate([packets.columns["payload"][udp], fresh[kept]]),
    )


def sent_again(packets: Conversations) -> Samples:
    """Segments that begin below the highest sequence number so far. Super-segments count as many as they are cut into,
    if the capture has the SYN with the size of a segment.
    """
    rows = _data_rows(packets)
    before, _ = _passed(packets, rows)
    seq, end = packets.seq[rows], packets.end[rows]
    alive = (packets.columns["payload"][rows] <= 1) & (seq == before - 1)
    again = (seq < before) & ~alive
    rows, overlap = rows[again], (np.minimum(end, before) - seq)[again]
    segment = _segment_sizes(packets)[packets.code[rows]]
    count = np.where(segment > 0, -(-overlap // np.maximum(segment, 1)), 1)
    return Samples(rows, packets.code[rows], np.maximum(count, 1))


def round_trips(packets: Conversations) -> Samples:
    """The time from each segment to its ACK in ns; the rows are the ACKs, the directions those of the data."""
    segments = _segments(packets)
    rows = _ack_rows(packets)
    rows = rows[packets.back[packets.code[rows]] >= 0]
    if not len(rows) or not len(segments.rows):
        empty = np.zeros(0, dtype=np.int64)
        return Samples(empty, empty, empty)
    values, code = packets.ack[rows], packets.code[rows]
    before, highest = grown(values, code)
    heads = np.ones(len(code), dtype=bool)
    heads[1:] = code[1:] != code[:-1]
    before[heads] = np.minimum(values[heads], 0)
    moved = (highest > before) & (values == highest)
    rows, before, values = rows[moved], before[moved], values[moved]
    data = packets.back[packets.code[rows]]
    place = np.searchsorted(segments.end_keys, segments.key(data, before), side="right")
    found = np.minimum(place, len(segments.rows) - 1)
    whole = (place < len(segments.rows)) & (segments.directions[found] == data) & (segments.ends[found] <= values)
    sent, t_ns = packets.t_ns[segments.rows[found]], packets.t_ns[rows]
    plain = whole & (segments.again_ns[found] > t_ns)
    echoed = _by_time_stamp(packets, rows, data)
    started = np.where(plain, sent, np.where(whole, echoed, -1))
    good = (started >= 0) & (t_ns > started)
    return Samples(rows[good], data[good], (t_ns - started)[good])


def answers(packets: Conversations) -> Samples:
    """The time from the first packet with a time stamp to each data segment that echoes it, in ns: how long the sender
    takes, and the path to it and back from the place of the capture. Stamps have steps of about a millisecond.
    """
    rows = _data_rows(packets)
    rows = rows[packets.back[packets.code[rows]] >= 0]
    started = _by_time_stamp(packets, rows, packets.back[packets.code[rows]], data_only=False)
    good = (started >= 0) & (packets.t_ns[rows] >= started)
    rows = rows[good]
    return Samples(rows, packets.code[rows], packets.t_ns[rows] - started[good])


@dataclass(frozen=True, eq=False)
class _Segments:
    """The first transmissions, by direction and sequence number."""

    rows: Ints
    directions: Ints
    ends: Ints
    end_keys: Ints
    offsets: Ints
    lows: Ints
    highs: Ints
    again_ns: Ints
    """When it was sent again for the first time; `NEVER`."""

    def key(self, directions: Ints, numbers: Ints) -> Ints:
        """One number for a direction and a sequence number in it; the order of both."""
        within = np.clip(numbers, self.lows[directions], self.highs[directions])
        return self.offsets[directions] + within - self.lows[directions]


def _segments(packets: Conversations) -> _Segments:
    flags = packets.columns["flags"]
    counts = packets.is_tcp & (packets.end > packets.seq) & ((flags & RST) == 0)
    rows = packets.order[counts[packets.order]]
    seq, end, code = packets.seq[rows], packets.end[rows], packets.code[rows]
    before, _ = _passed(packets, rows)
    lows, highs = np.zeros(len(packets), np.int64), np.zeros(len(packets), np.int64)
    np.minimum.at(lows, code, seq)
    np.maximum.at(highs, code, end)
    spans = highs - lows + 2
    offsets = np.cumsum(spans) - spans
    fresh = end > before
    kept = _Segments(
        rows[fresh], code[fresh], end[fresh], offsets[code[fresh]] + end[fresh] - lows[code[fresh]], offsets, lows,
        highs, np.full(int(fresh.sum()), NEVER),
    )  # fmt: skip
    again = seq < before
    if again.any():
        _mark(packets, kept, rows[again], np.minimum(end, before)[again])
    return kept


def _mark(packets: Conversations, segments: _Segments, rows: Ints, ends: Ints) -> None:
    """Notes when each segment was sent again."""
    code = packets.code[rows]
    low = np.searchsorted(segments.end_keys, segments.key(code, packets.seq[rows]), side="right")
    high = np.searchsorted(segments.end_keys, segments.key(code, ends), side="left") + 1
    counts = np.maximum(np.minimum(high, len(segments.rows)) - low, 0)
    if int(counts.sum()) > MOST_OVERLAPS * (len(rows) + len(segments.rows)):
        # Each covers many: all that any covers count as sent again from the beginning.
        edges = np.zeros(len(segments.rows) + 1, dtype=np.int64)
        np.add.at(edges, low, 1)
        np.add.at(edges, low + counts, -1)
        segments.again_ns[np.cumsum(edges[:-1]) > 0] = 0
        return
    places = np.repeat(low - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    np.minimum.at(segments.again_ns, places, np.repeat(packets.t_ns[rows], counts))


def _by_time_stamp(packets: Conversations, rows: Ints, data: Ints, *, data_only: bool = True) -> Ints:
    """When the first packet (of the data) passed whose time stamp these rows echo; −1 if none did."""
    tsval = packets.columns["tsval"]
    stamped = np.flatnonzero((tsval > 0) & packets.is_tcp & ((packets.end > packets.seq) | (not data_only)))
    keys = packets.code[stamped] << 32 | tsval[stamped]
    distinct, first = np.unique(keys, return_index=True)
    if not len(distinct):
        return np.full(len(rows), -1, dtype=np.int64)
    echo = packets.columns["tsecr"][rows]
    wanted = data << 32 | echo
    place = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    there = (distinct[place] == wanted) & (echo > 0)
    return np.where(there, packets.t_ns[stamped[first[place]]], -1)


def _ack_rows(packets: Conversations) -> Ints:
    """The rows with an ACK, by direction and time. That of a RST may be anything."""
    known = (packets.ack != -1) & packets.is_tcp & ((packets.columns["flags"] & RST) == 0)
    known &= (packets.columns["flags"] & 0x10) > 0
    return np.asarray(packets.order[known[packets.order]], dtype=np.int64)


def _data_rows(packets: Conversations) -> Ints:
    """The TCP rows with data, by direction and time."""
    data = packets.is_tcp & (packets.columns["payload"] > 0)
    return packets.order[data[packets.order]]


def _passed(packets: Conversations, rows: Ints) -> tuple[Ints, Ints]:
    """The highest sequence number before each of these rows, and with it; before the first its own beginning."""
    code = packets.code[rows]
    before, highest = grown(packets.end[rows], code)
    heads = np.ones(len(code), dtype=bool)
    heads[1:] = code[1:] != code[:-1]
    before[heads] = packets.seq[rows][heads]
    return before, highest


def _segment_sizes(packets: Conversations) -> Ints:
    """Data bytes of a full segment of each direction: what the other end's SYN allows; 0 if it is not captured."""
    opens = np.flatnonzero(((packets.columns["flags"] & SYN) > 0) & (packets.columns["mss"] > 0))
    allowed = np.zeros(len(packets) + 1, dtype=np.int64)
    stamps = np.where(packets.columns["tsval"][opens] > 0, TIMESTAMPS_BYTES, 0)
    allowed[packets.back[packets.code[opens]]] = np.maximum(packets.columns["mss"][opens] - stamps, 1)
    allowed[-1] = 0
    return allowed[:-1]
