"""The digits of means in the table after a run."""

import pytest

from tailback.analysis.metric import Column
from tailback.analysis.repetitions import Mean
from tailback.cli.means import _mean


@pytest.mark.parametrize(
    ("mean", "low", "high", "text"),
    [
        (0.000550, 0.0, 0.007545, "0.0006 [0.0000, 0.0075]"),
        (0.00126, 0.00125, 0.00127, "0.00126 ±0.00001"),
        (3.41, 2.64, 4.18, "3.41 ±0.77"),
        (95.6, 95.6, 95.6, "95.6 ±0.0"),
    ],
)
def test_a_small_mean_has_no_more_places_than_its_interval_tells(
    mean: float, low: float, high: float, text: str
) -> None:
    column = Column("retransmission rate", "%", lambda _: None)
    assert _mean(Mean(mean, low, high), column).text == text
