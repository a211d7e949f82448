"""The conformance matrix as a table."""

import pandas as pd
import pytest

from tailback.analysis.matrix import deviations, joined

CONFIGURATIONS = [{"cc": "reno", "metric": "x"}, {"cc": "bbr", "metric": "x"}]


def judged(rows: list[tuple[int, str, float, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["configuration", "metric", "excess", "outcome"])


ROWS = [
    (0, "goodput_mbps.total", 0.5, "within"),
    (0, "tcp_rtt_ms.p50", -2.0, "off"),
    (0, "ping_ms.p50", float("nan"), "shown"),
    (1, "goodput_mbps.total", -0.1, "within"),
]


def test_the_worst_of_a_configuration_is_the_largest_of_either_sign() -> None:
    table = deviations(judged(ROWS), CONFIGURATIONS)
    worst = table[table["metric"] == "worst"]
    assert worst["cc"].to_list() == ["reno", "bbr"]
    assert worst["deviation"].to_list() == pytest.approx([-2.0, -0.1])


def test_cells_that_were_not_judged_are_left_out_and_axes_keep_their_names() -> None:
    table = deviations(judged(ROWS), CONFIGURATIONS)
    assert set(table["metric"]) == {"goodput", "TCP RTT p50", "worst"}
    assert set(table["axis.metric"]) == {"x"}


def test_a_validation_that_judged_nothing_has_an_empty_matrix() -> None:
    assert deviations(judged(ROWS[2:3]), CONFIGURATIONS).empty


def test_matrices_of_several_validations_are_one() -> None:
    one = deviations(judged(ROWS), [{"cc": "reno"}, {"cc": "bbr"}])
    other = deviations(judged(ROWS[3:]), [{"cc": "cubic", "rtt": "1ms"}] * 2)
    table = joined([one, other])
    assert list(table) == ["cc", "rtt", "metric", "deviation"]
    assert len(table) == len(one) + len(other)
    assert set(table["rtt"]) == {"", "1ms"}
