"""Web pages and videos: load times, and what a viewer sees."""

import pandas as pd
import pytest

from tailback.analysis import browsing
from tailback.analysis.watching import Playback, fetch_times, watched
from tailback.analysis.window import NANOSECONDS, Window

SECOND = NANOSECONDS
WHOLE = Window(0, 100 * SECOND)


def test_the_byte_index_is_the_mean_load_time_of_the_bytes() -> None:
    rows = [(1.0, "page", 0, 100, 50.0), (1.0, "page", 1, 300, 150.0)]
    objects = pd.DataFrame(rows, columns=["t", "page", "object", "bytes", "loaded_ms"])
    assert list(browsing.load_times(objects, WHOLE)) == [pytest.approx(0.150)]
    assert list(browsing.byte_indices(objects, WHOLE)) == [pytest.approx(0.125)]
    assert browsing.unloaded(objects, WHOLE) == 0


def test_a_page_that_lacks_an_object_has_no_load_time() -> None:
    rows = [(1.0, "page", 0, 100, 50.0), (1.0, "page", 1, 300, None)]
    objects = pd.DataFrame(rows, columns=["t", "page", "object", "bytes", "loaded_ms"])
    assert not len(browsing.load_times(objects, WHOLE))
    assert browsing.unloaded(objects, WHOLE) == 1


def segments(*rows: tuple[float, float, float, float]) -> pd.DataFrame:
    """Of each segment: t in s, bitrate in Mbit/s, fetch_ms, waited_ms."""
    numbered = [(t, "v", number, rate * 1e6, fetch, wait) for number, (t, rate, fetch, wait) in enumerate(rows)]
    return pd.DataFrame(numbered, columns=["t", "video", "segment", "bitrate", "fetch_ms", "waited_ms"])


def test_the_qoe_takes_off_switches_stalls_and_the_startup_delay() -> None:
    """1, 3 and 2 Mbit/s, a startup of 0.5 s and a stall of 1 s: (6 - 3 - 3 * 1.5) / 3."""
    video = segments((0.1, 1, 400, 400), (0.5, 3, 1000, 0), (1.5, 2, 3000, 1000))
    found = watched(video, {"v": Playback(0, 2 * SECOND, 2 * SECOND, 3_000_000)}, WHOLE)["v"]
    assert found == {
        "startup_s": pytest.approx(0.5), "stalled_s": pytest.approx(1), "stalls": 1, "bitrate_mbps": pytest.approx(2),
        "switches": 2, "segments": 3, "qoe": pytest.approx((6 - 3 - 4.5) / 3),
    }  # fmt: skip


def test_the_time_to_fetch_a_segment_counts_if_it_was_asked_for_in_the_window_and_arrived() -> None:
    video = segments((0.1, 1, 400, 400), (0.5, 3, 1000, 0), (1.5, 2, float("nan"), 1000))
    assert fetch_times(video, Window(SECOND // 4, 100 * SECOND)).tolist() == [1000]


def test_a_video_that_never_plays_is_stalled_the_whole_time() -> None:
    found = watched(segments((0.1, 1, float("nan"), 5000)), {"v": Playback(0, SECOND, SECOND, 10**6)}, WHOLE)["v"]
    assert found == {"stalled_s": 5.0, "stalls": 1}


def test_a_stall_that_lasts_over_segments_counts_once_if_playing_needs_several() -> None:
    rows = [(0.0, 1, 100, 100), (0.1, 1, 100, 100), (0.2, 1, 900, 500), (1.1, 1, 100, 100), (2.0, 1, 100, 0)]
    found = watched(segments(*rows), {"v": Playback(0, SECOND, 2 * SECOND, 10**6)}, WHOLE)["v"]
    assert found["stalls"] == 1
    assert found["stalled_s"] == pytest.approx(0.6)
