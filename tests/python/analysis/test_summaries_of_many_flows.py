"""A summary takes no step for each pair of flows."""

from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest

from counted import calls_per_item
from tailback.analysis import Measure, Window, throughput_bins
from tailback.analysis.rates import sliding_throughput
from tailback.analysis.sharing import convergence_times, jain_over_time
from tailback.analysis.summary import summarise

SECOND = 10**9
BIN_NS = SECOND // 2


@cache
def tables(flows: int) -> dict[str, pd.DataFrame]:
    """Flows that start one after the other within 10 s and stay for 20 s, and as many that end after two samples."""
    endless = [(f"upload.{number}", 10 * number / flows, 20.0) for number in range(flows)]
    short = [(f"page.{number}", 10 * number / flows, 1.0) for number in range(flows)]
    rows = [
        (start + step / 2, flow, 1e5, 20_000.0, 10.0, 0.0)
        for flow, start, seconds in endless + short
        for step in range(1, int(2 * seconds) + 1)
    ]
    info = pd.DataFrame(rows, columns=["t", "flow", "bytes", "rtt", "snd_cwnd", "total_retrans"]).sort_values("t")
    edges = [(start + (seconds if end else 0), flow, f"flow_{'end' if end else 'start'}")
             for flow, start, seconds in short for end in (False, True)]  # fmt: skip
    events = pd.DataFrame(edges, columns=["t", "flow", "what"]).assign(where=None, reason=None).sort_values("t")
    return {"flows": info[["t", "flow", "bytes"]], "tcp_info": info.drop(columns="bytes"), "events": events}


def summary(flows: int) -> object:
    """The summary of these."""
    sized = tuple(f"page.{number}" for number in range(flows))
    names = tuple(f"upload.{number}" for number in range(flows)) + sized
    measure = Measure(
        Window(0, 30 * SECOND), BIN_NS, names, (), dict.fromkeys(names, "up"),
        sized_flows=sized, sizes_bytes=dict.fromkeys(sized, 20_000), least_s=dict.fromkeys(sized, 0.02),
    )  # fmt: skip
    return summarise(tables(flows), {}, measure)


def test_a_summary_takes_no_more_calls_for_a_further_flow_beside_many_than_beside_few() -> None:
    beside_few, beside_many = calls_per_item(summary, 50, 100), calls_per_item(summary, 200, 400)
    assert beside_many <= beside_few < 700


@pytest.mark.parametrize(
    ("series", "most"),
    [
        (lambda flows: throughput_bins(flows, Window(0, 30 * SECOND), SECOND), 5),
        (lambda flows: sliding_throughput(flows, Window(0, 30 * SECOND), BIN_NS), 150),
    ],
)
def test_a_series_of_many_flows_takes_a_few_calls_for_each(series: Callable[[pd.DataFrame], object], most: int) -> None:
    assert calls_per_item(lambda flows: series(tables(flows)["flows"]), 50, 200) < most


def test_flows_that_join_converge_though_they_are_many() -> None:
    found = convergence_times(tables(50)["flows"], 30 * SECOND, BIN_NS)
    assert len(jain_over_time(tables(50)["flows"], Window(0, 30 * SECOND), BIN_NS)) > 0
    assert all(0 < seconds < 30 for seconds in found.values())
