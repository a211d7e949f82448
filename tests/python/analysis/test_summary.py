"""The summary of a run, against design §4."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fake_backend import events, scenario, tables
from tailback.analysis import Measure, Window, configurations, summarise, values
from tailback.analysis.measured import Measured
from tailback.analysis.quantities import quantity
from tailback.analysis.table import Table

SECOND = 1_000_000_000
PERCENTILES = ["n", "mean", "min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"]
COST = {"wall_s": 0.5, "cpu_s": 0.4, "sim_s": 40.0, "events": 12, "packets": 6, "segments": 3}

MEASURE = Measure(
    window=Window(5 * SECOND, 15 * SECOND),
    bin_ns=SECOND // 10,
    tcp_flows=("upload.1", "upload.2"),
    other_flows=(),
    directions={"upload.1": "up", "upload.2": "down"},
    competing=(("upload.1", "upload.2"),),
)


def frames() -> dict[str, pd.DataFrame]:
    return {name: table.to_arrow().to_pandas() for name, table in tables(scenario()).items()}


def test_a_summary_has_the_keys_of_the_contract_in_its_order() -> None:
    summary = summarise(frames(), COST, MEASURE)
    assert list(summary)[:12] == [
        "goodput_mbps", "ping_ms", "tcp_rtt_ms", "tcp_rtt_up_ms", "tcp_rtt_down_ms", "cwnd_segments", "jain",
        "retransmits", "drops", "marks", "airtime_share", "cost",
    ]  # fmt: skip
    assert list(summary["goodput_mbps"]) == ["total", "up", "down", "flows"]
    assert list(summary["ping_ms"]) == PERCENTILES
    assert list(summary["tcp_rtt_up_ms"]) == PERCENTILES
    assert list(summary["cwnd_segments"]["upload.1"]) == PERCENTILES
    assert summary["drops"] == {"client -> router": {"tail_full": 1}}
    assert summary["marks"] == 1
    assert summary["cost"] == {"wall_s": 0.5, "sim_s": 40.0, "events": 12, "packets": 6}


def test_directions_add_up_to_the_total() -> None:
    goodput = summarise(frames(), COST, MEASURE)["goodput_mbps"]
    assert goodput["total"] == pytest.approx(goodput["up"] + goodput["down"], abs=2e-6)
    assert goodput["up"] == goodput["flows"]["upload.1"]


def test_a_metric_whose_table_is_missing_is_absent() -> None:
    assert summarise({}, {}, MEASURE) == {}


def test_a_direction_without_traffic_is_absent() -> None:
    measure = Measure(MEASURE.window, MEASURE.bin_ns, MEASURE.tcp_flows, (), dict.fromkeys(MEASURE.tcp_flows, "up"))
    summary = summarise(frames(), COST, measure)
    assert "down" not in summary["goodput_mbps"]
    assert "tcp_rtt_down_ms" not in summary


def test_a_flow_that_received_nothing_is_known_to_have_received_nothing() -> None:
    measure = Measure(MEASURE.window, MEASURE.bin_ns, (*MEASURE.tcp_flows, "idle"), (), {})
    assert summarise(frames(), COST, measure)["goodput_mbps"]["flows"]["idle"] == 0.0


def test_events_without_a_drop_say_that_there_was_none() -> None:
    quiet = {"events": events([(1.0, "ca_state", "client", "recovery")]).to_arrow().to_pandas()}
    assert summarise(quiet, {}, MEASURE) == {"drops": {}, "marks": 0}


def test_configurations_are_the_means_of_their_repetitions_with_their_intervals() -> None:
    def summary(goodput: float, dropped: int | None) -> Mapping[str, Any]:
        drops = {} if dropped is None else {"drops": {"a -> b": {"tail_full": dropped}}}
        return {"goodput_mbps": {"total": goodput}, **drops}

    table = configurations(
        [
            ({"cc": "cubic"}, summary(1.0, 3)),
            ({"cc": "bbr"}, summary(9.0, None)),
            ({"cc": "cubic"}, summary(5.0, 4)),
            ({"cc": "cubic"}, summary(2.0, 8)),
        ]
    )
    cubic, bbr = table.iloc[0], table.iloc[1]
    assert (cubic["cc"], cubic["runs"], bbr["cc"], bbr["runs"]) == ("cubic", 3, "bbr", 1)
    # t with 2 degrees of freedom is 4.303, s/√3 of 1, 5 and 2 is 1.202.
    assert cubic["goodput"] == pytest.approx(8 / 3)
    assert cubic["goodput high"] - cubic["goodput"] == pytest.approx(4.30265 * 1.20185, rel=1e-4)
    # It would be -2.5, and no goodput is negative.
    assert cubic["goodput low"] == 0
    assert cubic["drops"] == 5
    assert pd.isna(bbr["goodput low"])
    assert pd.isna(bbr["drops"])
    assert pd.isna(bbr["ping p50"])


def test_the_interval_of_a_utilisation_far_above_one_holds_its_mean() -> None:
    """In a short window the ring of a slow link takes many times what the wire carries."""
    runs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"utilisation": {"a -> b": used}}) for used in (7.5, 8.0, 8.5)
    ]
    found = configurations(runs, [quantity("utilisation")]).iloc[0]
    assert found["utilisation low"] < found["utilisation"] == 8.0 < found["utilisation high"]


def jain_of(received: dict[str, int], competing: tuple[tuple[str, ...], ...], sizes: dict[str, int]) -> float | None:
    flows = Table.of({"t": [1.5] * len(received), "flow": list(received), "bytes": list(received.values())})
    measure = Measure(
        Window(10**9, 2 * 10**9), 10**8, tuple(received), (), {}, competing, tuple(sizes), sizes_bytes=sizes
    )
    return values.jain(Measured({"flows": flows}, {}, measure))


def test_jains_index_of_several_groups_that_compete_is_that_of_the_less_equal_one() -> None:
    received = {"up.1": 100, "up.2": 300, "down.1": 5000, "down.2": 5000, "alone": 7}
    groups = (("up.1", "up.2"), ("down.1", "down.2"), ("alone",))
    assert jain_of(received, groups, {}) == pytest.approx(0.8, abs=1e-3)


def test_a_flow_that_competes_with_none_has_no_index() -> None:
    assert jain_of({"up": 100, "down": 300}, (("up",), ("down",)), {}) is None


def test_flows_with_a_size_count_only_if_all_have_the_same() -> None:
    received, one = {"a": 100, "b": 300, "c": 300}, (("a", "b", "c"),)
    assert jain_of(received, one, {"a": 100, "b": 300, "c": 900}) is None
    assert jain_of(received, one, {"a": 100}) == 1.0
    assert jain_of(received, one, {"a": 100, "b": 900}) is None
    assert jain_of({**received, "c": 0}, one, dict.fromkeys(received, 300)) == pytest.approx(0.8)


def test_a_flow_with_a_size_has_the_goodput_of_its_own_time_and_a_sum_that_of_the_window() -> None:
    flows = Table.of({"t": [1.5, 1.5], "flow": ["short", "long"], "bytes": [25_000, 100_000]})
    begun = {"t": [1.25, 1.5], "what": ["flow_start", "flow_end"], "flow": ["short", "short"]}
    measure = Measure(
        Window(10**9, 2 * 10**9),
        10**8,
        ("short", "long"),
        (),
        {},
        sized_flows=("short",),
        sizes_bytes={"short": 25_000},
    )
    found = values.goodput(Measured({"flows": flows, "events": Table.of(begun)}, {}, measure))
    assert found == {"total": pytest.approx(1.0), "flows": {"short": pytest.approx(0.8), "long": pytest.approx(0.8)}}


def test_a_mark_is_of_the_discipline_of_its_device_and_of_an_aqm_on_a_radio() -> None:
    events = {"t": [1.5] * 3, "what": ["mark"] * 3, "where": ["a -> b", "a -> b", "ap -> air"], "reason": [None] * 3}
    rows = {"t": [1.0, 2.0], "device": ["a -> b"] * 2, "kind": ["fq_codel"] * 2, "depth": [0, 0]}
    qdisc = Table.of({**rows, "dropped": [0, 0], "marked": [0, 2]})
    measure = Measure(Window(10**9, 2 * 10**9), 10**8, (), (), {})
    found = values.marks_by(Measured({"events": Table.of(events), "qdisc": qdisc}, {}, measure))
    assert found == {"a -> b": {"fq_codel": 2}, "ap -> air": {"aqm": 1}}


def test_a_flow_converges_with_those_that_it_competes_with_and_not_with_others() -> None:
    def convergence(*competing: tuple[str, ...]) -> dict[str, float] | None:
        names = [*["old"] * 200, *["new"] * 120]
        times = [*np.arange(0.1, 20.05, 0.1), *np.arange(8.1, 20.05, 0.1)]
        received = [*[1000] * 80, *[500] * 120, *[500] * 120]
        flows = Table.of({"t": np.round(times, 1), "flow": names, "bytes": received})
        measure = Measure(Window(0, 20 * SECOND), SECOND // 10, ("old", "new", "idle"), (), {}, competing)
        return values.convergence(Measured({"flows": flows}, {}, measure))

    assert set(convergence(("old", "new", "idle")) or {}) == {"new"}
    assert convergence(("old", "idle"), ("new",)) is None
    assert convergence(("idle", "still")) is None
