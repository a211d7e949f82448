"""Compares the model of aggregation with numbers worked out from its equations, and fits it to its own output."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tailback.analysis.aggregation import (
    Cell,
    backlog,
    bandwidth_mbps,
    fit,
    r_squared,
    rtt_ms,
    throughput_mbps,
    transmission_ms,
)

TABLE_1 = Cell()


def one(value: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([value], dtype=np.float64)


def test_four_milliseconds_at_216_megabits_are_72_packets() -> None:
    assert TABLE_1.max_aggregate == 72
    assert transmission_ms(one(1), TABLE_1) == pytest.approx(0.5573, abs=1e-4)
    assert transmission_ms(one(72), TABLE_1) == pytest.approx(4.5018, abs=1e-4)
    assert throughput_mbps(one(72), TABLE_1) == pytest.approx(191.9, abs=0.05)


@pytest.mark.parametrize(
    ("limit", "pacing", "mbps", "ms"),
    [(1, 1.2, 20.8, 3.61), (10, 1.2, 111.3, 4.57), (20, 1.6, 159.7, 6.35), (75, 1.2, 191.9, 11.50),
     (150, 1.2, 191.9, 11.50), (200, 1.2, 191.9, 16.01), (400, 1.2, 191.9, 29.51), (400, 1.6, 191.9, 38.51)],
)  # fmt: skip
def test_the_worked_numbers_of_table_1(limit: float, pacing: float, mbps: float, ms: float) -> None:
    packets = backlog(one(limit), one(pacing), TABLE_1)
    assert bandwidth_mbps(packets, TABLE_1) == pytest.approx(mbps, abs=0.05)
    assert rtt_ms(packets, TABLE_1) == pytest.approx(ms, abs=0.01)


def test_the_rtt_is_continuous_where_the_aggregate_is_full_and_then_rises_in_steps() -> None:
    at = rtt_ms(np.array([71.999, 72.0, 72.001, 144.0, 144.001]), TABLE_1)
    assert at[:4] == pytest.approx([11.5] * 4, abs=0.01)
    assert at[4] - at[3] == pytest.approx(4.5018, abs=1e-4)


def test_a_fit_finds_the_share_with_which_the_data_was_made() -> None:
    limits, ratios = np.tile([1.0, 5, 20, 60, 90, 150, 250, 400], 2), np.repeat([1.2, 1.6], 8)
    made = Cell(share=0.65)
    packets = backlog(limits, ratios, made)
    sweep = pd.DataFrame(
        {
            "limit": limits,
            "pacing": ratios,
            "goodput_mbps": bandwidth_mbps(packets, made),
            "rtt_ms": rtt_ms(packets, made),
        }
    )
    found = fit(sweep, TABLE_1)
    assert found.cell.share == pytest.approx(0.65, abs=0.003)
    assert min(found.r2_throughput, found.r2_rtt) > 0.999


def test_r_squared_is_one_for_the_data_itself_and_zero_for_its_mean() -> None:
    data = np.array([1.0, 2.0, 4.0])
    assert r_squared(data, data) == 1
    assert r_squared(data, np.full(3, data.mean())) == 0
