"""Delays of datagrams: what is counted together tells the same as each of them."""

import numpy as np
import pandas as pd
import pytest

from sampled_experiments import finished
from tailback.analysis import summarise
from tailback.analysis.measured import Measure
from tailback.analysis.metrics import PERCENTILES, Alike, percentiles
from tailback.analysis.udp import udp_delays, udp_loss
from tailback.analysis.window import Window

SECOND = 1_000_000_000
BIN = SECOND // 10


def test_percentiles_of_groups_are_those_of_their_samples() -> None:
    random = np.random.default_rng(5)
    groups = [
        np.full(count, value) for count, value in zip(random.integers(1, 9, 300), random.random(300), strict=True)
    ]
    counts, values = (np.array(each, dtype=float) for each in ([len(g) for g in groups], [g[0] for g in groups]))
    assert Alike(counts, values, values, values).percentiles() == pytest.approx(percentiles(np.concatenate(groups)))


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_percentiles_of_single_samples_are_those_of_the_samples(count: int) -> None:
    samples = np.random.default_rng(count).lognormal(3, 2, count)
    assert Alike.each(samples).percentiles() == pytest.approx(percentiles(samples))


def test_the_extremes_and_the_mean_of_groups_are_exact() -> None:
    found = Alike(np.array([2.0, 1.0]), np.array([3.0, 9.0]), np.array([2.5, 9.0]), np.array([3.5, 9.0])).percentiles()
    assert found is not None
    assert (found["n"], found["min"], found["mean"], found["max"]) == (3, 2.5, 5.0, 9.0)


CROWDED = """\
links:
  - {{ends: [client, server], rate: 10mbit, delay: 10ms}}
qdiscs: {{client -> server: pfifo limit 60}}
traffic:
  - {{tcp: client -> server}}
  - {{udp: client -> server, name: flood, rate: 3mbit, size: 300b}}
duration: 10s
measure: {{warmup: 2s, interval: {interval}}}
"""


@pytest.mark.parametrize("interval", ["20ms", "1s"])
def test_percentiles_are_within_a_hundred_and_twenty_eighth_of_those_of_the_datagrams(interval: str) -> None:
    done = finished(CROWDED.format(interval=interval))
    found = done.summary["udp_delay_ms"]["flood"]
    delays = pd.DataFrame(done.tables["delays"].to_arrow().to_pandas())
    inside = delays[(delays["t"] >= 2) & (delays["t"] < 10)]
    assert found["n"] == int(inside["packets"].sum()) == pytest.approx(10_000, rel=0.1)
    assert (found["min"], found["max"]) == pytest.approx((inside["shortest_ms"].min(), inside["longest_ms"].max()))
    low, high = (np.repeat(inside[column], inside["packets"]) for column in ("shortest_ms", "longest_ms"))
    for share in PERCENTILES:
        bounds = np.percentile(low, share) * (1 - 1 / 128), np.percentile(high, share) * (1 + 1 / 128)
        assert bounds[0] <= found[f"p{share}"] <= bounds[1], share


def test_results_without_delays_of_datagrams_say_what_their_percentiles_are_of() -> None:
    table = pd.DataFrame(
        {"t": [1.1, 1.2], "flow": ["a", "a"], "sent": [3, 1], "received": [3, 1], "delay_ms": [10.0, 30.0],
         "longest_ms": [40.0, 31.0]}
    )  # fmt: skip
    measure = Measure(Window(SECOND, 2 * SECOND), BIN, (), ("a",), {})
    found = summarise({"udp": table}, {}, measure)["udp_delay_ms"]["a"]
    assert found["intervals"] == 2
    assert (found["n"], found["mean"], found["p50"], found["max"]) == (4, 15.0, 10.0, 40.0)
    of_datagrams = pd.DataFrame({"t": [1.15], "flow": ["a"], "delay_ms": [7.0]})
    found = summarise({"udp": table, "datagrams": of_datagrams}, {}, measure)["udp_delay_ms"]["a"]
    assert "intervals" not in found
    assert found["p50"] == 7.0


def test_a_bin_that_begins_before_the_window_counts_in_proportion() -> None:
    table = pd.DataFrame({"t": [1.0, 2.0], "flow": ["a", "a"], "sent": [100, 100], "received": [100, 50]})
    assert udp_loss(table, Window(SECOND // 2, 2 * SECOND), SECOND) == {"a": pytest.approx(1 / 3)}
    assert udp_loss(table, Window(SECOND, 2 * SECOND), SECOND) == {"a": 0.5}


def test_only_datagrams_that_arrived_in_the_window_count() -> None:
    rows = {"t": [0.9, 1.0, 1.9, 2.0], "flow": ["a"] * 4, "packets": [1, 2, 3, 4], "delay_ms": [1.0, 2.0, 3.0, 4.0]}
    table = pd.DataFrame({**rows, "shortest_ms": rows["delay_ms"], "longest_ms": rows["delay_ms"]})
    assert udp_delays({"delays": table}, Window(SECOND, 2 * SECOND))["a"].counts.tolist() == [2, 3]
