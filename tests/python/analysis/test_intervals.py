"""Intervals over repetitions, and the rule that ends repetitions."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback.analysis import Stopping, Window, configurations, half_width, mser5, steady_from, student, t_interval
from tailback.analysis.intervals import quantile, spread_in_words
from tailback.analysis.metric import at
from tailback.analysis.warmup import bias, unsettled

READ = {"goodput": at("goodput_mbps", "total")}


def summaries(*goodput: float) -> list[dict[str, dict[str, float]]]:
    return [{"goodput_mbps": {"total": value}} for value in goodput]


def stopping(share: float = 0.05, fewest: int = 5, most: int = 30) -> Stopping:
    return Stopping(share, READ, fewest, most)


def test_the_interval_is_that_of_the_t_distribution() -> None:
    # Quantile of t with 4 degrees of freedom: 2.776; s = √2.5.
    low, high = t_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (high - low) / 2 == pytest.approx(2.776445 * math.sqrt(2.5 / 5), rel=1e-6)
    assert (low + high) / 2 == 3


@pytest.mark.parametrize("tail", [0.001, 0.025, 0.05, 0.4])
def test_students_quantiles_and_tails_are_those_of_scipy(tail: float) -> None:
    from scipy.special import stdtr, stdtrit

    freedoms = [1.0, 1.3, 2.0, 2.7, 7.77, 30.0, 45.6, 167.0, 171.5, 1000.0]
    found = [student.quantile(freedom, tail) for freedom in freedoms]
    assert found == pytest.approx([stdtrit(freedom, 1 - tail) for freedom in freedoms], rel=1e-12)
    exceeded = [student.exceeded(freedom, t) for freedom, t in zip(freedoms, found, strict=True)]
    assert exceeded == pytest.approx(
        [1 - stdtr(freedom, t) for freedom, t in zip(freedoms, found, strict=True)], rel=1e-12
    )


def test_the_quantiles_of_few_repetitions_are_those_of_scipy() -> None:
    from scipy.special import stdtrit

    freedoms = range(1, 41)
    assert [quantile(freedom) for freedom in freedoms] == pytest.approx(
        [stdtrit(f, 0.975) for f in freedoms], rel=1e-12
    )


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_it_covers_the_true_mean_as_often_as_it_says(n: int) -> None:
    draws = np.random.default_rng(3).normal(1.0, 1.0, size=(2000, n))
    covered = sum(low <= 1.0 <= high for low, high in map(t_interval, draws))
    # 1900 are expected; three standard deviations of a binomial are 29.
    assert 1870 <= covered <= 1930


def test_an_interval_ends_where_the_possible_values_end() -> None:
    low, high = t_interval(np.array([0.6, 0.9]), 0.0, 1.0)
    assert (low, high) == (0.0, 1.0)
    assert spread_in_words(0.75, (low, high)) == "[0, 1]"
    assert spread_in_words(10.0, t_interval(np.array([9.0, 10.0, 11.0]), 0.0)) == "±2.5"
    assert spread_in_words(3.0, t_interval(np.array([3.0, 3.0]), 0.0)) == "±0"
    table = configurations([({"cc": "reno"}, {"jain": value}) for value in (0.55, 0.97)])
    assert table[["Jain low", "Jain high"]].to_numpy().tolist() == [[0.0, 1.0]]


def test_one_repetition_has_no_interval() -> None:
    assert all(map(math.isnan, t_interval(np.array([4.0]))))


def test_repetitions_go_on_until_the_interval_is_narrow() -> None:
    rule = stopping()
    assert rule.next_count([]) == 5
    narrow, wide = summaries(100, 101, 99, 100, 100), summaries(100, 150, 50, 120, 80)
    assert (rule.next_count(narrow), rule.narrow(narrow)) == (5, True)
    assert (rule.next_count(wide), rule.narrow(wide)) == (10, False)


def test_repetitions_end_at_the_maximum_and_the_interval_is_reported_as_wide() -> None:
    wide = summaries(*[50.0, 150.0] * 15)
    assert stopping().next_count(wide) == 30
    assert not stopping().narrow(wide)


def test_equal_repetitions_and_absent_metrics_need_no_more_runs() -> None:
    assert stopping().narrow(summaries(0, 0, 0, 0, 0))
    assert Stopping(0.03, {"ping": at("ping_ms", "p50")}, 2, 9).narrow(summaries(1, 9))


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.floats(0.001, 0.9), st.integers(2, 40), st.integers(0, 40))
def test_the_next_number_never_falls_never_passes_the_cap_and_moves_unless_done(
    values: list[float], share: float, fewest: int, extra: int
) -> None:
    rule = stopping(share, fewest, fewest + extra)
    given_ = summaries(*values[: rule.max])
    count = rule.next_count(given_)
    assert len(given_) <= count <= rule.max
    assert count > len(given_) or rule.narrow(given_) or len(given_) == rule.max


def test_a_sequence_stopped_at_its_rule_has_the_width_that_was_asked_for() -> None:
    draws = np.random.default_rng(5).normal(100.0, 8.0, size=200)
    rule = stopping(0.02, most=200)
    seen = 0
    while (count := rule.next_count(summaries(*draws[:seen]))) > seen:
        seen = count
    assert 20 < seen < 120
    assert half_width(draws[:seen]) <= 0.02 * draws[:seen].mean()


def test_mser5_cuts_a_ramp_and_little_of_noise() -> None:
    noise = np.random.default_rng(1).normal(size=300)
    ramp = np.concatenate([np.linspace(-30, 0, 60), np.zeros(240)])
    assert 45 <= (mser5(noise + ramp) or 0) <= 75
    assert (mser5(noise) or 0) <= 60


@pytest.mark.parametrize("series", [np.linspace(0, 1, 300), np.ones(49)])
def test_mser5_finds_nothing_in_a_series_that_never_settles_or_is_short(
    series: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    assert mser5(series) is None


def test_mser5_is_the_minimum_of_its_definition() -> None:
    values = np.cumsum(np.random.default_rng(9).normal(size=100))
    batches = values.reshape(20, 5).mean(axis=1)
    errors = [((batches[d:] - batches[d:].mean()) ** 2).sum() / (20 - d) ** 2 for d in range(16)]
    best = int(np.argmin(errors))
    assert mser5(values) == (best * 5 if best <= 10 else None)


SECOND = 1_000_000_000


def frames_of(rtts: list[float]) -> dict[str, pd.DataFrame]:
    """One sample per second of goodput, constant to a byte, and of RTT."""
    times = [number + 1.0 for number in range(len(rtts))]
    # The rounding of segments to sampling intervals adds a byte to some samples; here only at the beginning.
    read = [1001 if number in (3, 40) else 1000 for number in range(len(rtts))]
    return {"flows": pd.DataFrame({"t": times, "bytes": read}), "tcp_info": pd.DataFrame({"t": times, "rtt": rtts})}


def test_an_initial_standing_queue_moves_the_mean_and_rounding_does_not() -> None:
    frames = frames_of([30.0] * 40 + [20.0, 21.0] * 40)
    assert steady_from(frames, Window(0, 120 * SECOND), SECOND) == {"goodput_mbps": 45.0, "tcp_rtt_ms": 40.0}
    # 20 of 100 values are 30, the mean of the others is 20.5.
    found = bias(frames, Window(20 * SECOND, 120 * SECOND), SECOND)
    assert found["tcp_rtt_ms"] == pytest.approx(0.2 * 9.5 / 20.5, abs=1e-6)
    assert 0 < found["goodput_mbps"] < 1e-4
    assert set(unsettled({"warm_up_bias": found})) == {"tcp_rtt_ms"}
    assert bias(frames, Window(50 * SECOND, 120 * SECOND), SECOND) == {}
