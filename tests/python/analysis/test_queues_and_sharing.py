"""Queues, fairness over time, rates: against values computed by hand, and against the simulator."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tailback
from sampled_experiments import finished
from tailback.analysis import Measure, Window, summarise
from tailback.analysis.catalogue import as_markdown
from tailback.analysis.metric import Metric
from tailback.analysis.metrics import by_reason, recoveries
from tailback.analysis.queues import sojourn_samples, sojourns, utilisation
from tailback.analysis.rates import delivery_rate_samples, pacing_rate_samples, power, sliding_throughput
from tailback.analysis.registry import METRICS
from tailback.analysis.sharing import completion_times, convergence_times, jain_over_time
from tailback.analysis.table import Table

ROOT = Path(__file__).parents[3]
SECOND = 1_000_000_000
BIN = SECOND // 10

QUEUED = """\
links: [{{ends: [client, router], rate: 1gbit, delay: 5ms}}, {{ends: [router, server], rate: 10mbit, delay: 5ms}}]
qdiscs: {{router -> server: {root}}}
traffic: [{{tcp: client -> server, flows: 2}}, {{ping: client -> server, interval: 100ms}}]
duration: 5s
measure: {{warmup: 1s, interval: {interval}}}
"""


def flows(**rates: Sequence[float]) -> pd.DataFrame:
    """Bytes per bin of 100 ms from one rate per second (Mbit/s)."""
    rows = [
        (round(second + (tenth + 1) / 10, 1), flow, rate * 1e6 / 8 / 10)
        for flow, each in rates.items()
        for second, rate in enumerate(each)
        for tenth in range(10)
        if rate
    ]
    return pd.DataFrame(rows, columns=["t", "flow", "bytes"])


def test_sliding_windows_of_2_s_each_half_second_average_what_was_read_in_them() -> None:
    table = sliding_throughput(flows(a=[10, 10, 20, 20]), Window(0, 4 * SECOND), BIN)
    assert table["t"].tolist() == [2.0, 2.5, 3.0, 3.5, 4.0]
    assert table["mbps"].tolist() == pytest.approx([10, 12.5, 15, 17.5, 20])


def test_sliding_windows_may_be_narrow_and_split_bins() -> None:
    table = sliding_throughput(flows(a=[8] * 3), Window(0, 2 * SECOND), BIN, width_ns=BIN // 2, step_ns=BIN // 4)
    assert table["mbps"].tolist() == pytest.approx([8] * len(table))


def test_fairness_counts_the_flows_that_are_there() -> None:
    table = jain_over_time(flows(a=[10] * 10, b=[0] * 4 + [10] * 6), Window(0, 10 * SECOND), BIN)
    assert table[table["t"] <= 4]["flows"].unique().tolist() == [1]
    assert table[table["t"] >= 7]["flows"].unique().tolist() == [2]
    assert table["jain"].tolist() == pytest.approx([1.0] * len(table))


def test_a_new_flow_has_converged_when_the_shares_remain_similar() -> None:
    table = flows(a=[20] * 10 + [18] * 4 + [10] * 10, b=[0] * 10 + [2] * 4 + [10] * 10)
    found = convergence_times(table, 24 * SECOND, BIN)
    # From 14 s on both have the same; windows wholly after 15.1 s are even, those before shift.
    assert set(found) == {"b"}
    assert 4.5 <= found["b"] <= 6.0


def test_a_newcomer_that_never_gets_its_share_has_no_convergence_time() -> None:
    assert convergence_times(flows(a=[20] * 20, b=[0] * 10 + [1] * 10), 20 * SECOND, BIN) == {}


def test_the_sojourn_time_follows_from_littles_law() -> None:
    # 125 kB held while 1.25 MB leave per second: 100 ms.
    rows = [(t / 10, "a -> b", 0, 125_000, int(125_000 * t)) for t in range(21)]
    table = pd.DataFrame(rows, columns=["t", "device", "depth", "backlog_bytes", "sent_bytes"])
    samples = sojourn_samples(table, Window(SECOND, 2 * SECOND))["a -> b"]
    assert samples.tolist() == pytest.approx([100.0] * 9)
    assert utilisation(table, {"a -> b": 20_000_000, "b -> a": 1}, Window(SECOND, 2 * SECOND)) == {"a -> b": 0.5}


@pytest.mark.parametrize("edges", [(0.5, 2.5), (0.3, 1.1), (1.2, 1.8), (1.5, 9.0), (0.0, 3.0)])
def test_utilisation_does_not_depend_on_where_the_window_cuts_a_sampling_interval(edges: tuple[float, float]) -> None:
    rows = [(t, "a -> b", 0, 1_250_000 * t) for t in range(1, 4)]
    table = pd.DataFrame(rows, columns=["t", "device", "depth", "sent_bytes"])
    window = Window(*(round(edge * SECOND) for edge in edges))
    assert utilisation(table, {"a -> b": 20_000_000}, window)["a -> b"] == pytest.approx(0.5)


def test_a_device_that_never_held_anything_has_no_sojourn_time() -> None:
    rows = [(t / 10, "a -> b", 0, 0, 100 * t) for t in range(21)]
    table = pd.DataFrame(rows, columns=["t", "device", "depth", "backlog_bytes", "sent_bytes"])
    assert sojourn_samples(table, Window(0, 2 * SECOND)) == {}


def test_sojourn_times_are_those_of_packets_and_a_slot_partly_in_the_window_counts_in_proportion() -> None:
    table = pd.DataFrame(
        {"t": [1.0, 1.0, 2.0, 2.0, 1.0], "since": [0.0, 0.0, 1.0, 1.0, 0.0], "device": [*["a -> b"] * 4, "b -> a"],
         "packets": [80, 20, 30, 20, 7], "sojourn_ms": [0.0, 40.0, 4.0, 5.0, 0.0]}
    )  # fmt: skip
    found = sojourns({"sojourns": table}, Window(SECOND // 2, 2 * SECOND))
    assert found.keys() == {"a -> b"}, "no packet waited in the other one"
    each = found["a -> b"].percentiles()
    assert each is not None
    assert {name: each[name] for name in ("n", "mean", "p50", "max")} == {
        "n": 100, "mean": pytest.approx(6.2), "p50": 4.0, "max": 40.0,
    }  # fmt: skip


def test_a_device_whose_packets_are_not_known_has_means_of_intervals_and_says_so() -> None:
    rows = [(t / 10, "a -> b", 0, 125_000, int(125_000 * t)) for t in range(21)]
    qdisc = pd.DataFrame(rows, columns=["t", "device", "depth", "backlog_bytes", "sent_bytes"])
    measure = Measure(Window(SECOND, 2 * SECOND), BIN, (), (), {})
    [value] = summarise({"qdisc": qdisc}, {}, measure)["sojourn_ms"].values()
    assert (value["p50"], value["n"], value["intervals"]) == (pytest.approx(100.0), 9, 9)
    known = {"t": [2.0], "since": [1.0], "device": ["a -> b"], "packets": [3], "sojourn_ms": [0.0]}
    assert "sojourn_ms" not in summarise({"qdisc": qdisc, "sojourns": known}, {}, measure)


@pytest.mark.parametrize(
    "root", ["fq_codel", "htb rate 9mbit | fq_codel", "netem delay 3ms | fq_codel", "[netem delay 3ms, pfifo]", "cake"]
)
def test_every_packet_that_leaves_a_device_has_a_sojourn_time_whatever_the_interval_is(root: str) -> None:
    found = [finished(QUEUED.format(root=root, interval=interval)) for interval in ("100ms", "1s")]
    dense, coarse = (each.summary["sojourn_ms"]["router -> server"] for each in found)
    assert dense == coarse
    assert "intervals" not in dense
    table = Table.of(found[0].tables["sojourns"])
    theirs = table.where(table.words("device").among(["router -> server"]))
    sent = Table.of(found[0].tables["qdisc"])
    root_rows = sent.where(sent.words("device").among(["router -> server"]) & (sent.numbers("depth") == 0))
    assert theirs.numbers("packets").sum() == root_rows.numbers("sent_packets").max()
    assert dense["min"] >= (3 if "netem" in root else 0)


def test_rates_are_bits_and_sockets_without_pacing_have_none() -> None:
    info = pd.DataFrame({"t": [1.0, 1.1], "pacing_rate": [1_250_000.0, np.nan], "delivery_rate": [0, 2_500_000]})
    window = Window(0, 2 * SECOND)
    assert pacing_rate_samples(info, window).tolist() == [10.0]
    assert delivery_rate_samples(info, window).tolist() == [20.0]
    assert power(90.0, 30.0) == 3.0
    assert power(90.0, 0.0) is None


def test_events_are_counted_by_place_and_reason() -> None:
    table = pd.DataFrame(
        [(1.0, "mark", "r", "codel"), (1.5, "mark", "r", None), (1.6, "rto", "c", None), (9.0, "mark", "r", "codel")],
        columns=["t", "what", "where", "reason"],
    )
    window = Window(0, 5 * SECOND)
    assert by_reason(table, "mark", window) == {"r": {"codel": 1, "unknown": 1}}
    assert recoveries(table, window) == {"rto": 1}


def test_completion_times_are_those_of_transfers_of_a_given_size() -> None:
    rows = [
        (1.0, "flow_start", "page"), (1.5, "flow_end", "page"), (1.0, "flow_start", "bulk"), (4.0, "flow_end", "bulk"),
        (2.0, "flow_start", "film"),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["t", "what", "flow"])
    assert completion_times(table, ("page", "film"), Window(0, 5 * SECOND)) == {"page": 0.5}


STAGGERED = """
links:
  - {ends: [client, router], rate: 1gbit, delay: 1ms}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
qdiscs:
  router -> server: htb rate 10mbit | fq_codel
traffic:
  - {tcp: client -> server, name: first}
  - {tcp: client -> server, name: second, start: 10s}
  - {tcp: client -> server, name: page, start: 20s, bytes: 100kB}
duration: 25s
measure: {window: [5s, 25s]}
"""


@pytest.fixture(scope="module")
def staggered(tmp_path_factory: pytest.TempPathFactory) -> tailback.Results:
    folder = tmp_path_factory.mktemp("staggered")
    (folder / "x.yaml").write_text(STAGGERED)
    return tailback.run(folder / "x.yaml", out=folder / "out")


def test_the_metrics_of_two_staggered_flows_are_those_that_the_setting_implies(staggered: tailback.Results) -> None:
    summary = staggered.runs[0].summary
    # Flow queues share at once: what is left is the first sliding window that the newcomer fills.
    assert set(summary["convergence_s"]) == {"second"}
    assert summary["convergence_s"]["second"] <= 3.5
    assert summary["utilisation"]["router -> server"] == pytest.approx(1.0, abs=0.01)
    assert summary["flow_completion_s"]["n"] == 1
    # 100 kB at a third of 10 Mbit/s.
    assert 0.1 < summary["flow_completion_s"]["mean"] < 0.5
    assert 0 < summary["sojourn_ms"]["router -> server"]["p50"] < 20


def test_every_key_of_a_summary_is_described(staggered: tailback.Results) -> None:
    assert set(staggered.runs[0].summary) <= {row.key for row in METRICS.values()}


def test_the_page_of_metrics_is_what_the_docstrings_say() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == as_markdown()


@pytest.mark.parametrize("row", METRICS.values(), ids=lambda row: row.name)
def test_a_metric_has_a_definition_and_a_source(row: Metric) -> None:
    assert len(row.definition) > 40
    assert row.source
    assert not row.unit or row.unit.split("/")[0].split(" ")[0] in row.definition or row.unit in {"segments", "packets"}
