"""Verdicts of a comparison in words."""

from collections.abc import Mapping
from typing import Any

import pytest

from tailback.analysis.news import ROWS, SHARE, relevant
from tailback.analysis.registry import METRICS
from tailback.analysis.wording import amount, in_words

RATE: Mapping[str, Any] = {
    "metric": "retransmission_rate.total", "unit": "%", "outcome": "shown", "reference": 0.02, "candidate": 0.05,
    "difference": 0.03, "low": 0.02, "high": 0.04, "pairs": 5, "p": 0.008, "paired_p": 0.001, "effect": 3.0,
}  # fmt: skip
"""Three packets more of ten thousand, which every repetition has."""


def test_a_difference_of_a_metric_in_per_cent_is_in_percentage_points() -> None:
    assert amount(RATE, [0.03]) == "+0.03 pp"
    assert amount({**RATE, "unit": "ms"}, [0.03]) == "+150 %"
    assert "higher: +0.03 pp (+0.02 … +0.04 pp; " in in_words(RATE)


def test_some_packets_more_are_as_negligible_as_a_rate_as_they_are_as_a_count() -> None:
    assert "negligible in practice" in in_words(RATE)
    count = {
        **RATE, "metric": "retransmits", "unit": "segments", "reference": 2.0, "candidate": 5.0, "difference": 3.0,
        "low": 2.0, "high": 4.0,
    }  # fmt: skip
    assert "negligible in practice" in in_words(count)
    assert "large effect" in in_words({**RATE, "candidate": 1.5, "difference": 1.48, "low": 1.4, "high": 1.6})


def test_a_negligible_difference_with_a_small_p_is_said_to_be_significant() -> None:
    assert in_words(RATE).endswith("; p 0.008, paired p 0.001, significant, but negligible in practice)")
    by_chance = {**RATE, "p": 0.4, "paired_p": 0.3}
    assert in_words(by_chance).endswith("p 0.4, paired p 0.3, negligible in practice)")
    small = {**RATE, "metric": "ping_ms.p50", "unit": "ms", "candidate": 12.0, "reference": 10.0, "effect": 0.1,
             "difference": 2.0, "low": 0.1, "high": 3.9}  # fmt: skip
    assert in_words(small).endswith("p 0.008, paired p 0.001, significant, but negligible effect)")
    assert in_words({**small, "effect": 0.3}).endswith("paired p 0.001, small effect)")


@pytest.mark.parametrize("metric", sorted({row.metric for row in ROWS if row.allowed is SHARE}))
def test_half_a_percentage_point_is_half_a_percentage_point_in_the_unit_of_each_share(metric: str) -> None:
    one = 1.0 if METRICS[metric].unit == "%" else 0.01
    assert relevant(metric).allowed(0.0, 0.0) == pytest.approx(0.5 * one)
