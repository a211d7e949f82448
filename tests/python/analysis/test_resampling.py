"""Tests and intervals by resampling say what scipy's say, of values with and without ties."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
import scipy

from tailback.analysis import resampling, student
from tailback.analysis.distances import ks, wasserstein

Values = npt.NDArray[np.float64]


def samples(count: int, tied: int = 0) -> Values:
    """Random values, of which few differ if `tied` says how many."""
    random = np.random.default_rng(count)
    return random.integers(0, tied, count).astype(np.float64) if tied else random.normal(20, 3, count)


def pairs() -> Iterator[tuple[Values, Values]]:
    for tied in (0, 3):
        for ours, theirs in ((2, 2), (3, 3), (5, 5), (4, 6), (9, 9)):
            together = samples(ours + theirs, tied)
            yield together[:ours], together[ours:] + (0.5 if ours % 2 else 0)


@pytest.mark.parametrize("pair", list(pairs()), ids=lambda pair: f"{len(pair[0])} and {len(pair[1])}")
def test_a_permutation_test_finds_what_scipys_finds(pair: tuple[Values, Values]) -> None:
    def apart(ours: Values, theirs: Values, axis: int) -> Values:
        return np.asarray(np.mean(ours, axis=axis) - np.mean(theirs, axis=axis))

    reference, candidate = pair
    expected = scipy.stats.permutation_test(
        (candidate, reference), apart, vectorized=True, n_resamples=resampling.RESAMPLES, axis=-1,
        rng=np.random.default_rng(resampling.SEED),
    )  # fmt: skip
    assert float(resampling.chances(reference, candidate)) == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30])
def test_an_interval_is_the_one_of_scipys_bootstrap(count: int) -> None:
    values = samples(count)
    tail = scipy.stats.norm.cdf(-np.sqrt(count / (count - 1)) * scipy.stats.t.ppf(0.975, count - 1))
    expected = scipy.stats.bootstrap(
        (values,), np.mean, confidence_level=1 - 2 * tail, n_resamples=resampling.RESAMPLES, method="percentile",
        rng=np.random.default_rng(resampling.SEED),
    )  # fmt: skip
    assert resampling.bootstrap_interval(values, 0.95) == pytest.approx(tuple(expected.confidence_interval), rel=1e-12)


@pytest.mark.parametrize("tied", [0, 3])
def test_ranks_and_rates_of_false_discoveries_are_scipys(tied: int) -> None:
    values = samples(20, tied)
    assert resampling.ranks(values).tolist() == scipy.stats.rankdata(values).tolist()
    p = np.random.default_rng(1).random(20).round(1 if tied else 9)
    np.testing.assert_allclose(resampling.discovery_rates(p), scipy.stats.false_discovery_control(p), rtol=1e-12)


@pytest.mark.parametrize("tied", [0, 3])
@pytest.mark.parametrize(("ours", "theirs"), [(1, 2), (3, 7), (50, 20)])
def test_distances_are_scipys(ours: int, theirs: int, tied: int) -> None:
    one, other = samples(ours, tied), samples(theirs, tied) + 1
    assert wasserstein(one, other) == pytest.approx(scipy.stats.wasserstein_distance(one, other), rel=1e-12)
    assert ks(one, other) == pytest.approx(scipy.stats.ks_2samp(one, other, method="asymp").statistic, rel=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 4.7, 29])
def test_the_tail_of_students_distribution_is_scipys(freedom: float) -> None:
    for t in (0.0, 0.3, 2.0, 40.0):
        assert student.exceeded(freedom, t) == pytest.approx(scipy.stats.t.sf(t, freedom), rel=1e-10)
