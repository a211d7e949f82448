"""Which quantiles a number of samples can tell."""

import pytest

from tailback.analysis.tails import enough, needed


@pytest.mark.parametrize(("quantile", "least"), [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1000), (0.01, 1000)])
def test_ten_samples_beyond_a_quantile_are_enough_and_nine_are_not(quantile: float, least: int) -> None:
    assert needed(quantile) == least
    assert enough(least, quantile)
    assert not enough(least - 1, quantile)


def test_no_samples_tell_nothing() -> None:
    assert not enough(0, 0.5)
