"""Videos: what their viewers see.

    startup delay   from `connect()` until the buffer has its startup length
    stall           time without playing after that
    QoE             (sum of R_k - sum of |R_k+1 - R_k| - R_max · stalls - R_max · startup delay) / segments, R in Mbit/s

Source of the QoE: [yin2015], with the weights that the paper calls balanced: 1 for a switch, and the highest
bitrate for a second without playing. The sum is divided by the number of segments, so that videos of different lengths
compare.
"""

import math
from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tailback.analysis.metrics import Samples, known
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import NANOSECONDS, Window

MBIT = 1e6
MS = 1000


class Playback(Struct, frozen=True):
    """The facts about a video that its table does not have."""

    start_ns: int
    segment_ns: int
    startup_ns: int
    highest_bps: int

    @property
    def at_startup(self) -> int:
        """Segments with which it plays."""
        return math.ceil(self.startup_ns / self.segment_ns)


def watched(video: Columns, playbacks: Mapping[str, Playback], window: Window) -> dict[str, dict[str, float]]:
    """What the viewer of each video sees: `startup_s` (s from `connect()` to playing), and of the segments asked for in
    the window `stalls` and `stalled_s` (s), `bitrate_mbps` (mean), `switches` between bitrates, `segments`, and `qoe`
    (Mbit/s; Yin et al., balanced), which counts the startup delay if the video began in the window. If the video never
    plays, `stalled_s` is the whole time.
    """
    table, found = Table.of(video), {}
    for name, playback in playbacks.items():
        rows = table.where(table.words("video").are(name))
        rows = rows.where(np.argsort(rows.numbers("segment"), kind="stable"))
        if len(rows):
            found[name] = _watched(rows, playback, window)
    return found


def fetch_times(video: Columns, window: Window) -> Samples:
    """Times in ms to fetch each segment of a video, from the request to the last byte, if it was asked for in the
    window and arrived.
    """
    return known(window.samples(video).numbers("fetch_ms"))


def _watched(rows: Table, playback: Playback, window: Window) -> dict[str, float]:
    begins = rows.where(rows.numbers("segment") < playback.at_startup)
    loaded_s = begins.numbers("t") + begins.numbers("fetch_ms") / MS
    started = len(begins) == playback.at_startup and not np.isnan(loaded_s).any()
    seen: dict[str, float] = {}
    if started:
        played_s = float(loaded_s.max())
        seen["startup_s"] = played_s - playback.start_ns / NANOSECONDS
    inside = window.samples(rows)
    later = inside.where(inside.numbers("segment") >= playback.at_startup) if started else inside
    waited = later.numbers("waited_ms")
    seen["stalled_s"] = float(waited.sum()) / MS
    seen["stalls"] = _stalls(waited, playback)
    fetched = inside.known("fetch_ms")
    if not len(fetched):
        return seen
    rates = fetched.numbers("bitrate") / MBIT
    changes = np.abs(np.diff(rates))
    seen["bitrate_mbps"] = float(rates.mean())
    seen["switches"] = int((changes > 0).sum())
    seen["segments"] = len(fetched)
    early_s = seen.get("startup_s", 0.0) if window.start_ns <= playback.start_ns else 0.0
    lost = playback.highest_bps / MBIT * (seen["stalled_s"] + early_s)
    seen["qoe"] = (float(rates.sum() - changes.sum()) - lost) / len(rates)
    return seen


def _stalls(waited: np.ndarray[tuple[int, ...], np.dtype[np.float64]], playback: Playback) -> int:
    """Stalls among segments. A stall ends with one segment if playing needs one; else neighbours belong together."""
    stalled = waited > 0
    if playback.at_startup == 1:
        return int(stalled.sum())
    return int(stalled[:1].sum() + (stalled[1:] & ~stalled[:-1]).sum())
