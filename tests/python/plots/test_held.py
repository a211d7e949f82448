"""What holds each sender over time, as figures draw it."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

import tailback
from tailback import _core, columns
from tailback.analysis.sockets import BY_KERNEL, HELD, held_in_bins
from tailback.plots import held
from tailback.results import Results

EXPERIMENT = """\
links: [{ends: [a, b], rate: 1gbit, delay: 250us}, {ends: [b, c], rate: 1gbit, delay: 250us}]
qdiscs: {a -> b: htb rate 100mbit | pfifo_fast}
traffic: [{tcp: a -> c, name: up, flows: FLOWS, jitter: 10ms}]
duration: 4s
measure: {warmup: 2s}
vary: {tsq: [1ms, off]}
"""


def results(folder: Path, flows: int) -> Results:
    (folder / "x.yaml").write_text(EXPERIMENT.replace("FLOWS", str(flows)))
    return tailback.simulate(folder / "x.yaml")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results(tmp_path_factory.mktemp("held"), 2)


def largest(table: pd.DataFrame) -> Mapping[str, str]:
    """The cause that holds the flows most, by the setting of the small queue."""
    means = table.groupby(["tsq", "series"])["value"].mean()
    return {str(tsq): str(means[tsq].idxmax()) for tsq in table["tsq"].unique()}


def test_a_strip_says_that_small_queues_hold_a_flow_and_without_them_its_window(two: Results) -> None:
    assert largest(held.data(two)) == {"1ms": "small_queue", "off": "cwnd"}


def test_the_causes_of_a_bin_add_up_and_their_mean_is_the_metric(two: Results) -> None:
    table = held.data(two, bin_ns=500_000_000)
    sums = table.groupby(["tsq", "flow", "t"])["value"].sum()
    assert sums.to_numpy() == pytest.approx(100)
    measured = table[(table["t"] > 2) & (table["t"] <= 4) & (table["tsq"] == "off") & (table["flow"] == "up.1")]
    told = two.configurations[1][1][0].summary["held"]["up.1"]
    means = measured.groupby("series")["value"].mean()
    assert means["cwnd"] == pytest.approx(told["cwnd"], abs=0.5)


def test_a_kernel_tells_what_the_network_holds_as_one(two: Results) -> None:
    frame = two.runs[0].tcp_info.drop(columns=list(HELD.values()))
    kinds = {name: columns.TEXT if name == "flow" else columns.NUMBER for name in ("t", "flow", *BY_KERNEL)}
    table = columns.table(frame[list(kinds)], {name: (kind, "") for name, kind in kinds.items()})
    assert isinstance(table, _core.Table)
    for each in held_in_bins(table, 1_000_000_000).values():
        assert set(each.shares) == {"receive_window", "send_buffer", "network", "no_data"}
        assert (each.shares["network"] > 90).all()


def test_of_many_flows_there_is_one_strip(tmp_path: Path) -> None:
    table = held.data(results(tmp_path, 9))
    assert set(table["flow"]) == {"mean of 9 flows"}
    assert table.groupby(["tsq", "t"])["value"].sum().to_numpy() == pytest.approx(100)
    assert held.draw(table).axes[0].get_yticklabels()[0].get_text() == "mean of 9 flows"
