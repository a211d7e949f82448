"""The first sample at which two runs diverge."""

import numpy as np
import pandas as pd
import pytest

from counted import calls_per_item
from tailback.analysis import divergence
from tailback.analysis.divergence import (
    AT_EACH_ACK,
    AT_INTERVALS,
    Sampling,
    Threshold,
    Traces,
    aligned,
    around,
    events_between,
    first_divergences,
    interval_before,
)

INTERVAL_NS = 100_000_000


def trace(flow: str = "upload", samples: int = 50) -> pd.DataFrame:
    """A window that grows by ten segments at each sample."""
    step = np.arange(1, samples + 1)
    return pd.DataFrame(
        {
            "t": step / 10,
            "flow": flow,
            "snd_cwnd": 10 * step,
            "snd_ssthresh": np.nan,
            "unacked": 10 * step,
            "bytes_acked": 14_480 * step,
            "total_retrans": 0,
            "rtt": 10_000,
            "sacked": 0,
        }
    )


def changed(table: pd.DataFrame, row: int, **values: float) -> pd.DataFrame:
    copy = table.astype(dict.fromkeys(values, np.float64))
    for column, value in values.items():
        copy.loc[row, column] = value
    return copy


def traces(reference: pd.DataFrame, candidate: pd.DataFrame, sampling: Sampling = "interval") -> Traces:
    return Traces(reference, candidate, sampling, INTERVAL_NS)


def firsts(found: Traces, threshold: Threshold = AT_INTERVALS) -> list[tuple[object, ...]]:
    table = first_divergences(aligned(found), threshold)
    assert_same_rows(divergence.firsts(found, threshold), table)
    return [tuple(row) for row in table[["flow", "column", "place", "t"]].itertuples(index=False)]


def assert_same_rows(rows: list[divergence.First], table: pd.DataFrame) -> None:
    """Rows that were found column by column are those of the joined table, to the bit."""
    columns = ["flow", "column", "place", "t", "reference", "candidate"]
    assert list(table.columns) == columns
    pd.testing.assert_frame_equal(
        pd.DataFrame(rows, columns=columns), pd.DataFrame([*table.itertuples(index=False)], columns=columns),
        check_exact=True,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_samples_at_intervals_are_compared_as_in_the_joined_table(seed: int) -> None:
    random = np.random.default_rng(seed)

    def side(flows: list[str]) -> pd.DataFrame:
        rows = random.integers(1, 80)
        numbers = {name: random.choice([0.0, 5.0, 5.4, 100.0, np.nan], rows) for name in divergence.JUDGED}
        times = np.sort(random.integers(0, 40, rows) / 10 + random.choice([0, 6e-5, 0.03], rows))
        return pd.DataFrame({"t": times, "flow": random.choice(flows, rows), **numbers})

    reference, candidate = side(["b", "a", "c"]), side(["d", "c", "a"]).drop(columns="unacked")
    for threshold in (AT_INTERVALS, AT_EACH_ACK):
        firsts(traces(reference, candidate), threshold)


def test_what_is_around_a_sample_is_read_without_the_joined_table() -> None:
    late = trace("b", 30).assign(t=lambda table: table["t"] + 2e-6, ca_state="Open")
    both = traces(
        pd.concat([trace("a", 40), late.iloc[3:]]).assign(ca_state="Loss"),
        pd.concat([late, trace("a").iloc[::2].assign(ca_state=None)]),
    )
    joined = aligned(both)
    for flow, place in joined.index:
        near = divergence.surroundings(both, flow, place)
        assert near.between == interval_before(joined, flow, place)
        pd.testing.assert_frame_equal(near.rows, around(joined, flow, place), check_dtype=False, check_exact=True)


def test_equal_traces_do_not_diverge() -> None:
    assert firsts(traces(trace(), trace())) == []
    assert firsts(traces(trace(), trace(), "ack"), AT_EACH_ACK) == []


def test_the_first_sample_that_differs_is_found_column_by_column() -> None:
    candidate = changed(changed(trace(), 20, snd_cwnd=99), 30, unacked=1)
    assert firsts(traces(trace(), candidate)) == [("upload", "snd_cwnd", 21, 2.1), ("upload", "unacked", 31, 3.1)]


def test_at_the_same_sample_the_window_is_reported_first() -> None:
    candidate = changed(trace(), 20, total_retrans=9, snd_ssthresh=50, snd_cwnd=50, unacked=50)
    columns = [column for _, column, *_ in firsts(traces(trace(), candidate))]
    assert columns == ["snd_cwnd", "snd_ssthresh", "unacked", "total_retrans"]


def test_a_difference_below_the_relative_or_the_absolute_threshold_is_ignored() -> None:
    nearly = changed(changed(trace(), 40, snd_cwnd=440), 0, snd_cwnd=11)
    assert firsts(traces(trace(), nearly)) == []
    assert firsts(traces(trace(), nearly), Threshold(0.05, AT_INTERVALS.slack)) == [("upload", "snd_cwnd", 41, 4.1)]
    assert firsts(traces(trace(), nearly), AT_EACH_ACK)[0] == ("upload", "snd_cwnd", 1, 0.1)


def test_counters_without_a_sign_may_be_less_than_the_reference() -> None:
    kinds = {"snd_cwnd": np.uint32, "bytes_acked": np.uint64}
    little = changed(trace(), 40, snd_cwnd=406)
    much = changed(little, 45, snd_cwnd=360)
    reference = trace().astype(kinds)
    assert firsts(traces(reference, little.astype(kinds))) == []
    assert firsts(traces(reference, much.astype(kinds))) == [("upload", "snd_cwnd", 46, 4.6)]


def test_a_value_that_is_infinite_on_one_side_only_differs() -> None:
    both = changed(trace(), 5, snd_ssthresh=30)
    assert firsts(traces(both, both)) == []
    assert firsts(traces(trace(), both)) == [("upload", "snd_ssthresh", 6, 0.6)]


def test_samples_some_microseconds_late_are_the_same_samples() -> None:
    late = trace().assign(t=lambda table: table["t"] + 60e-6)
    assert firsts(traces(late, trace())) == []


def test_a_side_sampled_at_each_ack_too_is_read_at_the_instants_of_the_other() -> None:
    between = trace().assign(t=lambda table: table["t"] + 0.03, snd_cwnd=1)
    mixed = pd.concat([trace(), between], ignore_index=True).sort_values("t", ignore_index=True)
    assert firsts(traces(trace(), mixed)) == []


def test_flows_are_distinguished() -> None:
    reference = pd.concat([trace("a"), trace("b")], ignore_index=True)
    candidate = pd.concat([trace("a"), changed(trace("b"), 7, snd_cwnd=1)], ignore_index=True)
    assert firsts(traces(reference, candidate)) == [("b", "snd_cwnd", 8, 0.8)]


def test_columns_that_one_side_lacks_are_not_judged() -> None:
    blind = changed(trace(), 20, unacked=1).drop(columns=["snd_cwnd", "snd_ssthresh"])
    assert firsts(traces(trace(), blind)) == [("upload", "unacked", 21, 2.1)]


def test_acks_are_matched_by_what_they_acknowledge_whenever_they_came() -> None:
    late = trace().assign(t=lambda table: table["t"] * 1.7)
    assert firsts(traces(trace(), late, "ack"), AT_EACH_ACK) == []
    assert firsts(traces(trace(), changed(late, 9, snd_cwnd=101), "ack"), AT_EACH_ACK) == [
        ("upload", "snd_cwnd", 9, 1.0)
    ]


def test_an_ack_that_only_one_side_saw_is_a_divergence() -> None:
    fewer = trace().drop(index=14)
    found = first_divergences(aligned(traces(trace(), fewer, "ack")), AT_EACH_ACK).iloc[0]
    assert (found["column"], found["place"], found["reference"]) == ("ack", 14, 1.5)
    assert np.isnan(found["candidate"])


def test_rows_between_acks_do_not_count_as_acks() -> None:
    repeated = pd.concat([trace(), trace().assign(t=lambda table: table["t"] + 0.01)]).sort_values("t")
    assert firsts(traces(trace(), repeated.reset_index(drop=True), "ack"), AT_EACH_ACK) == []


def test_duplicate_acks_are_distinguished_by_what_they_sack() -> None:
    hole = trace().assign(bytes_acked=lambda table: table["bytes_acked"].clip(upper=144_800))
    reference = hole.assign(sacked=(np.arange(50) - 9).clip(0))
    candidate = changed(reference, 30, snd_cwnd=7)
    assert firsts(traces(reference, candidate, "ack"), AT_EACH_ACK) == [("upload", "snd_cwnd", 30, 3.1)]


def test_rows_around_a_divergence_are_side_by_side() -> None:
    samples = aligned(traces(trace(), changed(trace(), 20, snd_cwnd=99)))
    table = around(samples, "upload", 21, rows=2)
    assert table["place"].to_list() == [19, 20, 21, 22, 23]
    assert table["snd_cwnd reference"].to_list() == [190, 200, 210, 220, 230]
    assert table["snd_cwnd candidate"].to_list() == [190, 200, 99, 220, 230]
    assert len(around(samples, "upload", 1, rows=2)) == 3


def test_the_cause_lies_between_the_sample_before_and_this_one() -> None:
    samples = aligned(traces(trace(), trace()))
    assert interval_before(samples, "upload", 21) == pytest.approx((2.0, 2.1))
    assert interval_before(samples, "upload", 1) == pytest.approx((0.0, 0.1))


def test_events_of_the_flow_in_that_time_are_found() -> None:
    events = pd.DataFrame(
        {
            "t": [2.0, 2.05, 2.06, 2.1, 2.11],
            "flow": ["upload", "upload", "other", "upload", "upload"],
            "what": ["drop", "drop", "drop", "ca_state", "drop"],
            "reason": ["1", "2", "3", "4", "5"],
        }
    )
    assert events_between(events, "upload", (2.0, 2.1))["reason"].to_list() == ["2", "4"]


def test_divergences_of_many_flows_take_a_few_calls_for_each_further_flow() -> None:
    def of_flows(flows: int) -> Traces:
        both = pd.concat([trace(f"upload.{number}", 5) for number in range(flows)], ignore_index=True)
        return traces(both, changed(both, 2, snd_cwnd=400).assign(unacked=both["unacked"] + 100))

    known = {flows: of_flows(flows) for flows in (100, 400)}
    assert len(first_divergences(aligned(known[100]), AT_INTERVALS)) == 101
    assert calls_per_item(lambda flows: divergence.firsts(known[flows], AT_INTERVALS)) < 20
