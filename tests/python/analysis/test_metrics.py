"""Metrics on tables small enough to work out by hand."""

import numpy as np
import pandas as pd
import pytest

from tailback.analysis import (
    Window,
    cwnd_samples,
    drops,
    goodput,
    jain_index,
    marks,
    percentiles,
    ping_loss,
    ping_samples,
    retransmits,
    tcp_rtt_samples,
    throughput_bins,
)
from tailback.analysis.metrics import (
    PERCENTILES,
    counted_at_radios,
    drops_by_counters,
    losses_by_counters,
    marks_by_counters,
    marks_by_discipline,
    quantiles,
)
from tailback.analysis.registry import METRICS

MS = 1_000_000
SECOND = 1000 * MS
WINDOW = Window(1 * SECOND, 3 * SECOND)
BIN = 100 * MS


def flows(*rows: tuple[float, str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["t", "flow", "bytes"])


def tcp_info(*rows: tuple[float, str, float, float, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["t", "flow", "rtt", "snd_cwnd", "total_retrans"])


def test_goodput_counts_bins_that_end_in_the_window_and_divides_by_its_length() -> None:
    # Ends at 1.0 s: before the window. 250 kB in 2 s are 1 Mbit/s.
    table = flows((1.0, "a", 999), (1.1, "a", 125_000), (3.0, "a", 125_000), (3.1, "a", 999))
    assert goodput(table, WINDOW, BIN) == {"a": pytest.approx(1.0)}


def test_a_bin_half_in_the_window_counts_half() -> None:
    table = flows((1.1, "a", 500_000))
    assert goodput(table, Window(1050 * MS, 3050 * MS), BIN) == {"a": pytest.approx(1.0)}


def test_goodput_is_distinguished_by_flow() -> None:
    table = flows((2.0, "a", 250_000), (2.0, "b", 500_000))
    assert goodput(table, WINDOW, BIN) == {"a": pytest.approx(1.0), "b": pytest.approx(2.0)}


def test_throughput_has_a_zero_where_a_flow_read_nothing() -> None:
    table = throughput_bins(flows((1.1, "a", 12_500), (1.3, "a", 25_000)), Window(SECOND, 1300 * MS), BIN)
    assert table["t"].tolist() == [1.1, 1.2, 1.3]
    assert table["mbps"].tolist() == pytest.approx([1.0, 0.0, 2.0])


def test_throughput_in_wide_bins_adds_up_the_narrow_ones() -> None:
    table = throughput_bins(flows((1.1, "a", 100_000), (1.9, "a", 25_000), (2.0, "b", 125_000)), WINDOW, SECOND)
    assert table[table["flow"] == "a"]["mbps"].tolist() == pytest.approx([1.0, 0.0])
    assert table[table["flow"] == "b"]["mbps"].tolist() == pytest.approx([1.0, 0.0])


def test_a_last_bin_that_reaches_past_the_window_is_left_out() -> None:
    table = throughput_bins(flows((2.4, "a", 1)), Window(SECOND, 2500 * MS), SECOND)
    assert table["t"].tolist() == [2.0]


def test_pings_without_an_answer_are_lost_except_those_that_may_be_under_way() -> None:
    sent = [0.9, 1.0, 1.2, 1.4, 1.6, 2.5]
    rtts = [None, 1.0, None, 2.0, 3.0, None]
    ping = pd.DataFrame({"t": sent, "rtt_ms": rtts})
    assert ping_loss(ping, WINDOW) == 25.0
    # An answer took 1.5 s, so that one sent at 1.6 s may be under way.
    assert ping_loss(
        pd.DataFrame({"t": sent, "rtt_ms": [None, 1500.0, None, 2.0, None, None]}), WINDOW
    ) == pytest.approx(100 / 3)
    assert ping_loss(ping, Window(2400 * MS, 3000 * MS)) is None


def test_lost_pings_are_no_samples() -> None:
    ping = pd.DataFrame({"t": [0.9, 1.0, 1.2, 2.9, 3.0], "rtt_ms": [9.0, 1.0, None, 2.0, 9.0]})
    assert ping_samples(ping, WINDOW).tolist() == [1.0, 2.0]


def test_tcp_rtt_is_in_milliseconds_and_leaves_out_sockets_without_a_measurement() -> None:
    table = tcp_info((1.0, "a", 1500, 10, 0), (1.1, "a", 0, 10, 0), (1.2, "a", float("nan"), 10, 0))
    assert tcp_rtt_samples(table, WINDOW).tolist() == [1.5]


def test_cwnd_is_distinguished_by_flow() -> None:
    table = tcp_info((1.0, "a", 1, 10, 0), (1.0, "b", 1, 20, 0), (1.1, "a", 1, 11, 0))
    found = cwnd_samples(table, WINDOW)
    assert {flow: values.tolist() for flow, values in found.items()} == {"a": [10, 11], "b": [20]}


def test_percentiles_interpolate_linearly_between_order_statistics() -> None:
    found = percentiles(np.arange(1.0, 102.0))
    assert found == {
        "n": 101, "mean": 51.0, "min": 1.0, "p1": 2.0, "p5": 6.0, "p10": 11.0, "p25": 26.0, "p50": 51.0,
        "p75": 76.0, "p90": 91.0, "p95": 96.0, "p99": 100.0,
        "p99.9": 100.9, "max": 101.0,
    }  # fmt: skip
    halfway = percentiles(np.array([1.0, 2.0]))
    assert halfway is not None
    assert halfway["p50"] == 1.5


def test_a_single_sample_is_its_own_mean_and_percentiles() -> None:
    one, same = percentiles(np.array([0.1 + 0.2])), percentiles(np.array([0.1 + 0.2, 0.1 + 0.2]))
    assert one is not None and same is not None
    assert list(one.items()) == [*{**same, "n": 1}.items()]


@pytest.mark.parametrize("count", [1, 2, 3, 10, 99, 100, 101, 5000])
@pytest.mark.parametrize("digits", [0, 3, 17])
def test_quantiles_are_those_of_numpy_to_the_bit(count: int, digits: int) -> None:
    random = np.random.default_rng(count)
    samples = np.round(random.lognormal(3, 2, count), digits)
    assert quantiles(samples, PERCENTILES).tolist() == np.percentile(samples, PERCENTILES).tolist()


def test_an_unknown_sample_makes_all_quantiles_unknown() -> None:
    assert np.isnan(quantiles(np.array([1.0, np.nan, 2.0]), PERCENTILES)).all()


def test_no_samples_have_no_percentiles() -> None:
    assert percentiles(np.array([])) is None


@pytest.mark.parametrize(
    ("shares", "index"), [([5, 5, 5, 5], 1.0), ([1, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42), ([7], 1.0)]
)
def test_jain_index_of_known_shares(shares: list[float], index: float) -> None:
    assert jain_index(shares) == pytest.approx(index)


def test_fairness_is_undefined_if_no_flow_received_anything() -> None:
    assert jain_index([0, 0]) is None
    assert jain_index([]) is None


def test_retransmits_are_the_growth_of_the_counters_in_the_window() -> None:
    table = tcp_info(
        (0.5, "a", 1, 1, 2), (1.0, "a", 1, 1, 3), (2.0, "a", 1, 1, 7), (3.0, "a", 1, 1, 8), (3.1, "a", 1, 1, 50),
        (2.0, "b", 1, 1, 1),
    )  # fmt: skip
    # a: 8 - 3; b began in the window and closed in it: 1.
    assert retransmits(table, WINDOW) == 6


def test_drops_are_counted_by_device_and_reason_and_marks_apart() -> None:
    rows = [
        (0.9, "drop", "client -> router", "tail_full"),
        (1.0, "drop", "client -> router", "tail_full"),
        (2.0, "drop", "client -> router", "codel"),
        (2.0, "drop", "router -> server", "codel"),
        (2.5, "drop", "router -> server", "codel"),
        (2.5, "mark", "router -> server", "codel"),
        (2.6, "rto", "client", ""),
    ]
    events = pd.DataFrame(rows, columns=["t", "what", "where", "reason"])
    assert drops(events, WINDOW) == {
        "client -> router": {"codel": 1, "tail_full": 1},
        "router -> server": {"codel": 2},
    }
    assert marks(events, WINDOW) == 1


def test_without_events_drops_and_marks_are_those_the_disciplines_counted() -> None:
    columns = ["t", "device", "kind", "depth", "dropped", "marked"]
    rows = [
        (time, "client -> router", kind, depth, dropped * time, marked * time)
        for time in (0.5, 2.0, 9.0)
        # The root counts the drops of its children; marks count where they are made, in two leaves of one depth.
        for kind, depth, dropped, marked in (("htb", 0, 4, 0), ("fq_codel", 1, 2, 10), ("red", 1, 2, 6))
    ]
    qdisc = pd.DataFrame(rows, columns=columns)
    assert drops_by_counters(qdisc, WINDOW) == {"client -> router": {"unknown": 6}}
    assert marks_by_counters(qdisc, WINDOW) == 24
    assert marks_by_discipline(qdisc, WINDOW) == {"client -> router": {"fq_codel": 15, "red": 9}}
    unreported = qdisc.assign(marked=qdisc["marked"].where(qdisc["kind"] != "red"))
    assert marks_by_counters(unreported, WINDOW) is None


def test_losses_of_links_are_the_growth_of_their_counters_in_the_window() -> None:
    rows = [(0.9, "a -> b", 2), (1.0, "a -> b", 3), (3.0, "a -> b", 10), (3.1, "a -> b", 99), (3.0, "b -> a", 0)]
    losses = pd.DataFrame(rows, columns=["t", "device", "lost"])
    assert losses_by_counters(losses, WINDOW) == {"a -> b": {"link_loss": 7}}


def test_drops_and_marks_at_radios_are_the_growth_of_their_counters_by_reason() -> None:
    rows = [
        (0.1, "router -> air", "drop", "aqm", 2), (0.9, "router -> air", "drop", "aqm", 5),
        (0.5, "router -> air", "drop", "retry_limit", 1), (0.6, "router -> air", "mark", "aqm", 9),
        (1e4, "router -> air", "drop", "aqm", 70),
    ]  # fmt: skip
    radios = pd.DataFrame(rows, columns=["t", "device", "what", "reason", "count"])
    window = Window(200_000_000, 2_000_000_000)
    assert counted_at_radios(radios, "drop", window) == {"router -> air": {"aqm": 3, "retry_limit": 1}}
    assert counted_at_radios(radios, "mark", window) == {"router -> air": {"aqm": 9}}


def test_the_edges_of_the_window_are_compared_on_whole_nanoseconds() -> None:
    # 0.1 + 0.2 is not 0.3 in floating point.
    ping = pd.DataFrame({"t": [0.1 + 0.2], "rtt_ms": [1.0]})
    assert len(ping_samples(ping, Window(300 * MS, 400 * MS))) == 1
    assert len(ping_samples(ping, Window(200 * MS, 300 * MS))) == 0


def test_acks_that_cake_filtered_are_listed_but_not_in_the_total_of_drops() -> None:
    total = METRICS["drops"].numbers[0]
    assert total.read({"drops": {"client -> router": {"ack_filtered": 7, "codel": 2}}}) == 2.0
