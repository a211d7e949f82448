"""Distances between distributions."""

import numpy as np
import pytest

from tailback.analysis.distances import SamplePair, distances


def one(reference: list[float], candidate: list[float]) -> dict[str, float]:
    pair = SamplePair(0, "tcp_rtt_ms", "ms", np.array(reference), np.array(candidate))
    return {str(key): value for key, value in distances([pair]).iloc[0].items()}


def test_the_distance_of_a_shifted_sample_is_the_shift() -> None:
    found = one([1, 2, 3, 4], [3, 4, 5, 6])
    assert found["wasserstein"] == pytest.approx(2.0)
    assert found["relative"] == pytest.approx(0.8)
    assert found["ks"] == pytest.approx(0.5)


def test_the_order_of_samples_does_not_change_their_distance() -> None:
    found = one([1, 5, 2], [5, 2, 1])
    assert (found["wasserstein"], found["ks"]) == (0, 0)


def test_samples_with_equal_medians_and_other_spreads_are_apart() -> None:
    found = one([9, 10, 11], [5, 10, 15])
    assert found["wasserstein"] == pytest.approx(8 / 3)
    assert found["ks"] == pytest.approx(1 / 3)


def test_a_side_without_samples_has_no_row() -> None:
    empty = SamplePair(0, "cwnd_segments", "segments", np.array([]), np.array([1.0]))
    assert distances([empty]).empty
