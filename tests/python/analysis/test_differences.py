"""Differences over repetitions: intervals, effect sizes, missing values."""

import math
from typing import Any

import numpy as np
import pytest

from tailback.analysis.differences import (
    METRICS,
    SIGNIFICANT,
    SummaryPair,
    difference,
    differences,
    fewest,
    interval,
    of_runs,
    paired_metrics,
)
from tailback.analysis.metric import Metric, Number, Test
from tailback.analysis.registry import METRICS as REGISTRY

SUMMARY = {
    "goodput_mbps": {"total": 9.5, "flows": {"upload": 9.5}},
    "ping_ms": {"p50": 2.0, "p90": 3.0},
    "cwnd_segments": {"a": {"mean": 10.0}, "b": {"mean": 30.0}},
    "drops": {"client -> router": {"tail_full": 3, "aged": 1}, "router -> server": {"tail_full": 2}},
    "retransmits": 6,
    "marks": 0,
}


def values(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, dtype=np.float64)


def test_the_difference_is_the_mean_of_those_of_the_pairs() -> None:
    found = difference(values(1, 2, 3, 4), values(2, 4, 3, 7))
    assert (found.pairs, found.reference, found.candidate, found.difference) == (4, 2.5, 4.0, 1.5)
    assert found.relative == pytest.approx(0.6)


@pytest.mark.parametrize("pairs", [5, 10, 30])
def test_an_interval_covers_the_true_mean_about_as_often_as_it_says(pairs: int) -> None:
    draws = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        low, high = interval(draws.normal(1.0, 1.0, size=pairs))
        covered += low <= 1.0 <= high
    # 190 are expected; three standard deviations of a binomial are 9.
    assert 179 <= covered <= 199


def test_the_same_values_have_the_same_interval() -> None:
    sample = values(1.2, 0.7, 1.9, 1.1, 0.4)
    assert interval(sample) == interval(sample)
    low, high = interval(sample)
    assert 0.4 < low < sample.mean() < high < 1.9


def test_one_repetition_has_no_interval_and_no_effect() -> None:
    found = difference(values(10), values(11))
    assert found.difference == 1
    assert all(map(math.isnan, (found.low, found.high, found.effect)))


def test_equal_differences_have_an_interval_without_width() -> None:
    found = difference(values(1, 2, 3), values(2, 3, 4))
    assert (found.low, found.high) == (1.0, 1.0)


@pytest.mark.parametrize("sample", [(0.0, 0.0, 1.0), (1.0, 2.0), (0.0, 1e-300, 1.0), (5.0, 5.0, 5.0, 5.0, 9.0)])
def test_an_interval_of_few_or_similar_values_is_finite_and_within_their_range(sample: tuple[float, ...]) -> None:
    low, high = interval(values(*sample))
    assert min(sample) <= low <= high <= max(sample)


def test_effect_is_in_standard_deviations_over_repetitions() -> None:
    # Both sides have a variance of 1; the means are 2 apart.
    assert difference(values(0, 1, 2), values(2, 3, 4)).effect == pytest.approx(2.0)
    assert math.isnan(difference(values(1, 1), values(2, 2)).effect)


def test_a_repetition_with_an_unknown_value_does_not_count() -> None:
    found = difference(values(1, math.nan, 3), values(2, 9, math.nan))
    assert (found.pairs, found.reference, found.candidate) == (1, 1.0, 2.0)


def test_a_metric_is_read_where_the_summary_has_it() -> None:
    table = paired_metrics([SummaryPair(0, SUMMARY, SUMMARY)]).set_index("metric")["reference"]
    assert table["goodput_mbps.total"] == 9.5
    assert table["cwnd_segments.mean"] == 20.0
    assert table["drops"] == 6
    assert table["marks"] == 0
    assert not {"tcp_rtt_ms.p50", "tcp_rtt_ms.p90"} & set(table.index)
    assert set(table.index) < set(METRICS)


def test_a_metric_that_one_side_lacks_has_a_row_without_a_difference() -> None:
    blind = {name: value for name, value in SUMMARY.items() if name != "drops"}
    table = differences(paired_metrics([SummaryPair(0, SUMMARY, blind)])).set_index("metric")
    assert table.loc["drops", "pairs"] == 0
    assert table.loc["drops", "reference"] == 6
    assert math.isnan(float(table.loc["drops", "difference"]))  # type: ignore[arg-type]


def test_configurations_are_kept_apart() -> None:
    more = {**SUMMARY, "retransmits": 9}
    table = differences(paired_metrics([SummaryPair(0, SUMMARY, SUMMARY), SummaryPair(1, SUMMARY, more)]))
    assert table[table["metric"] == "retransmits"]["difference"].to_list() == [0, 3]


def test_the_p_value_is_that_of_a_permutation_test() -> None:
    # Of 252 ways to divide ten values into five and five, two are as far apart.
    found = difference(values(1, 2, 3, 4, 5), values(11, 12, 13, 14, 15))
    assert found.test == "permutation"
    assert found.p == pytest.approx(2 / 252)
    assert difference(values(1, 2), values(8, 9)).p == pytest.approx(1 / 3)


def test_tests_of_a_whole_table_are_those_of_each_metric() -> None:
    random = np.random.default_rng(1)

    def summary() -> dict[str, object]:
        return {**SUMMARY, "goodput_mbps": {"total": float(random.choice([8, 9, 9.5, random.normal(9, 1)]))}}

    sizes = {0: 1, 1: 2, 2: 3, 3: 5, 4: 5, 5: 7, 6: 9, **dict.fromkeys(range(7, 70), 4)}
    pairs = [SummaryPair(number, summary(), summary()) for number, count in sizes.items() for _ in range(count)]
    pairs.append(SummaryPair(3, {"goodput_mbps": {}}, summary()))
    paired = paired_metrics(pairs)
    found = differences(paired)
    for row in found.to_dict("records"):
        rows = paired[(paired["configuration"] == row["configuration"]) & (paired["metric"] == row["metric"])]
        reference, candidate = (rows[side].to_numpy(np.float64) for side in ("reference", "candidate"))
        alone = difference(reference, candidate, METRICS[row["metric"]].number.test or "permutation")
        assert row["pairs"] == alone.pairs
        assert repr([row["p"], row["low"], row["effect"]]) == repr([alone.p, alone.low, alone.effect])


def test_counts_are_tested_by_ranks_so_that_one_burst_does_not_decide() -> None:
    calm, burst = values(3, 1, 4, 2, 5), values(6, 7, 8, 9, 9000)
    assert difference(calm, burst, "Mann–Whitney").p == pytest.approx(2 / 252)
    assert difference(calm, burst).p == pytest.approx(2 / 252)
    outlier = values(1.5, 2.5, 3.5, 4.5, 9000)
    assert difference(calm, outlier, "Mann–Whitney").p > 0.3


def test_ties_do_not_make_three_repetitions_significant() -> None:
    assert difference(values(3, 3, 3), values(0, 0, 0), "Mann–Whitney").p == pytest.approx(0.1)


def test_equal_values_have_a_p_value_of_one_and_one_repetition_has_none() -> None:
    assert difference(values(2, 2, 2), values(2, 2, 2)).p == 1
    alone = difference(values(2), values(3))
    assert alone.test is None
    assert math.isnan(alone.p)


def test_false_positives_are_as_frequent_as_the_level_says() -> None:
    draws = np.random.default_rng(11)
    found = sum(difference(draws.normal(size=5), draws.normal(size=5)).p <= 0.05 for _ in range(200))
    # At most 10 are expected (12 of 252 divisions are at or below 0.05).
    assert found <= 20


def test_the_false_discovery_rate_is_that_of_the_whole_table() -> None:
    more = {**SUMMARY, "retransmits": 9}
    pairs = [SummaryPair(0, {**SUMMARY, "retransmits": n}, {**more, "retransmits": n + 50}) for n in range(5)]
    table = differences(paired_metrics(pairs)).set_index("metric")
    assert table.loc["retransmits", "p"] == pytest.approx(2 / 252)
    # One cell of seven differs: its q is seven times its p.
    assert table.loc["retransmits", "q"] == pytest.approx(7 * 2 / 252)
    assert table.loc["marks", "q"] == 1


def test_a_paired_test_sees_what_the_repetitions_have_in_common() -> None:
    before = values(10, 50, 90, 130)
    found = difference(before, before + values(5, 6, 5, 4))
    # t = 5 / (0.8165 / 2) = 12.247; with 3 degrees of freedom, 2 · P(T > t) is 1.172e-3.
    assert found.paired_p == pytest.approx(1.172e-3, abs=1e-6)
    assert found.p > 0.5
    assert math.isnan(difference(before, before + 5).paired_p)
    assert math.isnan(difference(before, before + values(5, 6, 5, 4), "Mann–Whitney").paired_p)


def test_too_few_repetitions_are_said_to_be_too_few() -> None:
    assert fewest() == 4
    assert difference(values(1, 2, 3), values(8, 9, 10)).p >= SIGNIFICANT
    assert difference(values(1, 2, 3, 4), values(8, 9, 10, 11)).p < SIGNIFICANT


def test_an_interval_ends_where_everything_is_lost() -> None:
    summaries = [
        SummaryPair(0, {**SUMMARY, "retransmits": there, "jain": 0.98}, {**SUMMARY, "retransmits": 0, "jain": jain})
        for there, jain in ((1, 0.999), (1, 0.99), (2, 1.0), (3, 0.98), (4, 0.97))
    ]
    table = differences(paired_metrics(summaries)).set_index("metric")
    lost = table.loc["retransmits"]
    assert lost["relative"] == -1
    assert (lost["low"], lost["least"]) == (-lost["reference"], -lost["reference"])
    assert -lost["reference"] < lost["high"] < 0


@pytest.mark.parametrize("repetitions", [2, 4, 7, 10])
def test_tests_that_are_made_together_have_the_p_of_each_alone(repetitions: int) -> None:
    """And that of Mann and Whitney's test is scipy's, whose permutations it shares."""
    from scipy import stats

    from tailback.analysis.differences import _tested, chance
    from tailback.analysis.resampling import RESAMPLES, SEED, chances

    random = np.random.default_rng(repetitions)
    sides = [random.poisson(mean, size=(6, repetitions)).astype(float) for mean in (3, 5)]
    rows = [(reference, candidate) for reference, candidate in zip(*sides, strict=True)]
    kinds: tuple[Test, ...] = ("permutation", "Mann–Whitney")
    for by in kinds:
        pairs = [_tested(*sides_, by) for sides_ in rows]
        together = chances(*map(np.array, zip(*pairs, strict=True)))
        assert together.tolist() == [chance(*sides_, by) for sides_ in rows]
    for reference, candidate, p in zip(*sides, together, strict=True):
        method = stats.PermutationMethod(n_resamples=RESAMPLES, rng=np.random.default_rng(SEED))
        assert stats.mannwhitneyu(candidate, reference, method=method).pvalue == p


@pytest.mark.parametrize("metric", [row for row in REGISTRY.values() if row.rank in ("outcome", "network")])
def test_a_comparison_has_every_result_that_the_table_of_the_runs_has(metric: Metric) -> None:
    """A camera's loss that rises from 0.05 to 4.5 % is no detail."""
    summary = {**SUMMARY, **_with(metric)}
    shown = [number.key for number in metric.numbers if number.heading and number.read(summary) is not None]
    assert shown
    assert set(shown) <= set(of_runs([summary]))
    assert set(METRICS) <= set(of_runs([summary]))


def _with(metric: Metric) -> dict[str, Any]:
    """A summary with all numbers of a metric."""
    samples = {"n": 5000, "p50": 1.0, "p90": 2.0, "p95": 3.0, "p99": 4.0}
    shapes = (
        {"x": samples} if metric.of_each else samples, 5.0, {"a": 1.0, "b": 2.0},
        {"total": 1.0, "idle": 2.0, "up": 1.0, "down": 1.0},
        {"x": {"bitrate_mbps": 1.0, "stalled_s": 1.0, "startup_s": 1.0, "switches": 1, "qoe": 1.0}},
    )  # fmt: skip
    found = [{str(metric.key): shape} for shape in shapes]
    return max(found, key=lambda each: sum(_is_known(number, each) for number in metric.numbers))


def _is_known(number: Number, summary: dict[str, Any]) -> bool:
    try:
        return number.read(summary) is not None
    except (AttributeError, TypeError):
        return False


def test_a_comparison_of_two_directions_has_the_goodput_of_each() -> None:
    one, both = {"goodput_mbps": {"total": 9.5}}, {"goodput_mbps": {"total": 9.5, "up": 9.0, "down": 0.5}}
    assert [key for key in of_runs([one]) if key.startswith("goodput")] == ["goodput_mbps.total"]
    assert {"goodput_mbps.up", "goodput_mbps.down"} < set(of_runs([both]))
