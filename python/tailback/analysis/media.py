"""Calls and games: what arrives of a stream of datagrams at a fixed interval, what a listener hears, and how it sounds.

A listener plays each frame at a fixed time after it was sent. This time is

    fixed buffer      smallest delay so far + the buffer
    adaptive buffer   d + the larger of 4 v and one frame

where d and v are the mean delay and mean deviation of the frames that arrived before, each a moving average with weight
0.998002 of the old value [ramjee1994 §3]; the time may change with each frame. A frame that arrives after its time is
late and counts as lost.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis import emodel
from tailback.analysis.metrics import Samples
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window
from tailback.resolved.codecs import CODECS

MEMORY = 0.998002
"""The weight of the old value in the averages of the adaptive buffer. [ramjee1994 §3]"""

MS = 1_000_000

Floats = npt.NDArray[np.float64]


class Stream(Struct, frozen=True):
    """One direction of a call or a game; times in ns."""

    codec: str
    """The name of one of `CODECS`, or `game`."""
    buffer_ns: int | None
    """The listener's jitter buffer; `None` adapts."""
    gap_ns: int
    """The time between two datagrams."""
    start_ns: int
    stop_ns: int

    def due(self, window: Window, longest_ms: float) -> int:
        """Datagrams sent in the window. Those of its end that a delay of `longest_ms` carries past it do not count."""
        first = max(window.start_ns, self.start_ns)
        end = min(self.stop_ns, max(window.end_ns - round(longest_ms * MS), first))
        return _ticks(end - self.start_ns, self.gap_ns) - _ticks(first - self.start_ns, self.gap_ns)


def _ticks(lasts_ns: int, gap_ns: int) -> int:
    """Datagrams of the first `lasts_ns`: one at 0, gap, 2 · gap, ..."""
    return -(-max(0, lasts_ns) // gap_ns)


class Heard(Struct, frozen=True):
    """A stream in the window: delays and play times of its datagrams in order of arrival, and how many were due."""

    stream: Stream
    delays_ms: Floats
    """One-way delays of those that were sent in the window and arrived."""
    playout_ms: Floats
    """For each of them, the time from when it was sent to when the listener plays it."""
    due: int

    @property
    def played(self) -> npt.NDArray[np.bool_]:
        """Which of the datagrams that arrived are played."""
        return np.asarray(self.delays_ms <= self.playout_ms)

    @property
    def lost(self) -> float | None:
        """Share of the datagrams that did not arrive."""
        return _missing(len(self.delays_ms), self.due)

    @property
    def unheard(self) -> float | None:
        """Share of the datagrams that did not arrive or arrived late."""
        return _missing(int(self.played.sum()), self.due)


def _missing(found: int, due: int) -> float | None:
    return max(0.0, 1 - found / due) if due else None


def heard(datagrams: Columns, streams: Mapping[str, Stream], window: Window) -> dict[str, Heard]:
    """Each stream as its listener hears it."""
    table = Table.of(datagrams)
    flows = table.words("flow")
    return {flow: _heard(table.where(flows.are(flow)), stream, window) for flow, stream in streams.items()}


def _heard(rows: Table, stream: Stream, window: Window) -> Heard:
    delays = rows.numbers("delay_ms")
    sent_ns = rows.t_ns - np.rint(delays * MS).astype(np.int64)
    # A copy that the network made of a datagram is not played again.
    _, first = np.unique(sent_ns, return_index=True)
    first.sort()
    delays, sent_ns = delays[first], sent_ns[first]
    playout = _playout_ms(delays, stream)
    inside = (sent_ns >= window.start_ns) & (sent_ns < window.end_ns)
    longest = float(delays[inside].max()) if inside.any() else 0.0
    inside &= sent_ns < max(window.end_ns - round(longest * MS), window.start_ns)
    return Heard(stream, delays[inside], playout[inside], stream.due(window, longest))


def _playout_ms(delays: Floats, stream: Stream) -> Floats:
    """For each datagram in order of arrival, the delay at which it is played."""
    if not len(delays):
        return delays
    if stream.buffer_ns is not None:
        return np.minimum.accumulate(delays) + stream.buffer_ns / MS
    frame = stream.gap_ns / MS
    mean, deviation = float(delays[0]), 0.0
    found = []
    for delay in delays:
        found.append(mean + max(4 * deviation, frame))
        mean += (1 - MEMORY) * (float(delay) - mean)
        deviation += (1 - MEMORY) * (abs(float(delay) - mean) - deviation)
    return np.array(found)


def losses(streams: Mapping[str, Heard]) -> dict[str, float]:
    """Share of the datagrams of each call or game sent in the window that did not arrive, by direction, no unit."""
    return {name: share for name, each in streams.items() if (share := each.lost) is not None}


def unheard(streams: Mapping[str, Heard]) -> dict[str, float]:
    """Share of the frames of each call sent in the window that were lost or arrived after the listener's jitter buffer
    would have played them, by direction, no unit.
    """
    return {name: share for name, each in _calls(streams).items() if (share := each.unheard) is not None}


def delays(streams: Mapping[str, Heard]) -> dict[str, Samples]:
    """One-way delays in ms of the datagrams of each call or game that were sent in the window and arrived, by
    direction.
    """
    return {name: each.delays_ms for name, each in streams.items() if len(each.delays_ms)}


def jitters(streams: Mapping[str, Heard]) -> dict[str, float]:
    """Jitter in ms of each call or game, by direction: mean difference between the one-way delays of one datagram and
    the next that arrives. RFC 3550 defines a moving average of these differences; this is their mean over the window.
    """
    differences = {name: np.abs(np.diff(each.delays_ms)) for name, each in streams.items()}
    return {name: float(each.mean()) for name, each in differences.items() if len(each)}


def mouth_to_ear(streams: Mapping[str, Heard]) -> dict[str, float]:
    """Delay in ms from mouth to ear of each call, by direction: the length of a frame, the look-ahead of the codec, and
    the mean time from when a frame is sent to when it is played.
    """
    return {
        name: each.stream.gap_ns / MS + CODECS[each.stream.codec].look_ahead_ms + float(played.mean())
        for name, each in _calls(streams).items()
        if len(played := each.playout_ms[each.played])
    }


def ratings(streams: Mapping[str, Heard]) -> dict[str, float]:
    """R of each call by the E-model of ITU-T G.107 (June 2015), by direction, no unit: at most 93.2; from 80 on users
    are satisfied, below 60 nearly all are not. It depends on the mouth-to-ear delay, the share of frames that were not
    played, and the codec's Ie and Bpl in G.113. 0 if no frame was played. A call with Opus has no rating, because G.113
    has no values for it.
    """
    late = mouth_to_ear(streams)
    found = {}
    for name, each in _calls(streams).items():
        codec, share = CODECS[each.stream.codec], each.unheard
        if codec.impairment is None or codec.robustness is None or share is None:
            continue
        rated = emodel.rating(late[name], share, codec.impairment, codec.robustness) if name in late else 0.0
        found[name] = max(0.0, rated)
    return found


def opinions(rated: Mapping[str, float]) -> dict[str, float]:
    """Estimated mean opinion score of each call, by direction: from 1 (bad) to 4.5, by ITU-T G.107 (June 2015) from its
    R; G.711 without loss and delay has 4.41.
    """
    return {name: emodel.mos(rating) for name, rating in rated.items()}


def _calls(streams: Mapping[str, Heard]) -> dict[str, Heard]:
    return {name: each for name, each in streams.items() if each.stream.codec in CODECS}
