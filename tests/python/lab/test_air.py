"""The air of a cell over time, as the page draws it."""

import numpy as np

from tailback import scenario, sweep
from tailback.analysis.wifi import COLLISIONS, air_in_bins
from tailback.lab.picture import picture

CELL = """\
links: [{wifi: {ap: router, stations: [a, b]}, standard: 802.11n, width: 20MHz, mcs: 4, driver: ath9k},
        {ends: [router, server], rate: 1gbit, delay: 1ms}]
traffic: [{tcp: a -> server, name: up}, {tcp: server -> b, name: down}]
duration: 2s
measure: {warmup: 0s}
"""


def test_the_air_of_a_cell_is_shared_by_its_senders_and_a_long_time_reaches_into_the_next_bin() -> None:
    wifi = {
        "t": [0.0, 0.09, 0.25, 0.25],
        "from": ["a", "b", "a", "b"],
        "duration_us": [10_000.0, 20_000.0, 40_000.0, 40_000.0],
        "colliders": [0, 0, 2, 2],
    }
    shares = air_in_bins(wifi, 100_000_000, 300_000_000)
    assert {name: np.round(each).tolist() for name, each in shares.items()} == {
        "a": [10, 0, 0],
        "b": [10, 10, 0],
        COLLISIONS: [0, 0, 40],
    }


def test_a_picture_of_a_cell_has_the_shares_of_its_senders() -> None:
    _, results = sweep.simulate(scenario.loads(CELL), 1, sweep.Silent())
    air = picture(results)["air"]
    assert set(air["flows"]["air"]["shares"]) >= {"a", "router"}
    assert all(sum(parts) <= 100.5 for parts in zip(*air["flows"]["air"]["shares"].values(), strict=True))
