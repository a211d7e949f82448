"""Wi-Fi metrics of a table small enough to compute by hand."""

import pandas as pd
import pytest

from tailback.analysis import Window
from tailback.analysis.wifi import airtime_share, ampdu_samples

WINDOW = Window(10**9, 2 * 10**9)
PAIRS = [("ap", "near"), ("ap", "far")]
TABLE = pd.DataFrame(
    [
        (0.5, "near", "ap", 99, 999.0),
        (1.1, "near", "ap", 32, 100.0),
        (1.2, "ap", "near", 2, 20.0),
        (1.3, "far", "ap", 4, 360.0),
        (2.5, "far", "ap", 99, 999.0),
    ],
    columns=["t", "from", "to", "mpdus", "duration_us"],
)


def test_aggregates_are_distinguished_by_direction() -> None:
    sizes = ampdu_samples(TABLE, PAIRS, WINDOW)
    assert {way: list(found) for way, found in sizes.items()} == {"up": [32, 4], "down": [2]}


def test_a_direction_that_was_never_used_is_absent() -> None:
    assert list(ampdu_samples(TABLE[TABLE["from"] != "ap"], PAIRS, WINDOW)) == ["up"]


def test_airtime_counts_both_directions_of_a_station() -> None:
    assert airtime_share(TABLE, PAIRS, WINDOW) == {"near": pytest.approx(0.25), "far": pytest.approx(0.75)}


def test_a_silent_cell_has_no_shares() -> None:
    assert airtime_share(TABLE.iloc[:0], PAIRS, WINDOW) == {}
