"""Two one-sided tests at the tolerance, and the likeness of single runs."""

import math

import numpy as np
import pytest

from tailback.analysis.equivalence import decision, interval_of_means, likeness
from tailback.analysis.tolerances import Tolerance

FIVE_PERCENT = Tolerance(share=0.05)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_the_interval_is_that_of_two_one_sided_tests_of_unequal_variances() -> None:
    reference, candidate = array(100, 102, 98, 101, 99), array(101, 105, 97, 103)
    low, high = interval_of_means(reference, candidate)
    # By hand: means 100 and 101.5, variances 2.5 and 11.67, Welch's 4.04 degrees of freedom.
    error = math.sqrt(2.5 / 5 + 35 / 3 / 4)
    assert (low + high) / 2 == pytest.approx(1.5)
    assert (high - low) / 2 == pytest.approx(2.126 * error, rel=0.01)


@pytest.mark.parametrize(
    ("interval", "decided"),
    [
        ((-2.0, 4.9), "within"),
        ((-5.0, 5.0), "within"),
        ((4.0, 5.1), "undecided"),
        ((-9.0, 9.0), "undecided"),
        ((5.1, 9.0), "off"),
        ((-9.0, -5.1), "off"),
        ((math.nan, math.nan), "undecided"),
    ],
)
def test_an_interval_decides_unless_it_crosses_the_tolerance(interval: tuple[float, float], decided: str) -> None:
    assert decision(interval, 5.0) == decided


def test_repetitions_that_do_not_vary_decide_and_a_single_one_does_only_if_it_is_equal() -> None:
    assert interval_of_means(array(3, 3), array(4, 4)) == (1, 1)
    assert interval_of_means(array(3), array(3)) == (0, 0)
    assert np.isnan(interval_of_means(array(3), array(4))).all()
    assert np.isnan(interval_of_means(array(), array(4))).all()


def test_a_true_difference_beyond_the_tolerance_is_seldom_called_within() -> None:
    draws = np.random.default_rng(1)
    outcomes = [decision(interval_of_means(draws.normal(100, 3, 8), draws.normal(105, 3, 8)), 5.0) for _ in range(400)]
    # At the edge of the tolerance, each of the two wrong verdicts has a probability of 5 %.
    assert 0.02 < outcomes.count("within") / 400 < 0.09
    assert 0.02 < outcomes.count("off") / 400 < 0.09


def test_a_reference_that_jumps_is_as_unlike_itself_as_its_perfect_copy_is() -> None:
    reference, copy = array(10, 20, 10, 20), array(20, 10, 20, 10)
    found = likeness(reference, copy, FIVE_PERCENT)
    # Of the twelve pairs of different repetitions of the reference, four are equal.
    assert found.ceiling == pytest.approx(4 / 12)
    assert found.alike == pytest.approx(8 / 12)
    shifted = likeness(reference, copy + 5, FIVE_PERCENT)
    assert shifted.alike == 0
    assert shifted.ceiling == found.ceiling


def test_pairs_that_are_unknown_or_not_judged_do_not_count() -> None:
    assert likeness(array(1, math.nan, 1), array(1, 1, 9), FIVE_PERCENT).alike == pytest.approx(3 / 4)
    assert math.isnan(likeness(array(1, 2), array(1, 2), Tolerance()).alike)
