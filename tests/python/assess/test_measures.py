"""The language of measures."""

import pytest

from tailback.assess.errors import WrongSuite
from tailback.assess.measures import check, number

SUMMARY = {
    "ping_ms": {"p99": 90.0, "min": 40.0},
    "goodput_mbps": {"total": 18.0, "flows": {"test.1": 3.0, "test.2": 6.0, "other": 9.0, "testing": 5.0}},
    "utilisation": {"router -> server": 0.5},
}


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("ping_ms.p99 - ping_ms.min", 50.0),
        ('goodput("other") / goodput("test", "other")', 0.5),
        ('least("test") / most("test")', 0.5),
        ('jain("test")', 0.9),
        ('utilisation["router -> server"] * 2', 1.0),
        ("max(ping_ms.min, 3)", 40.0),
    ],
)
def test_a_measure_is_arithmetic_over_the_summary(measure: str, value: float) -> None:
    assert number(measure, SUMMARY) == pytest.approx(value)


@pytest.mark.parametrize("measure", ["ping_ms.p42", "mos.up", 'goodput("nobody")', "1 / (ping_ms.min - 40)", "a.b.c"])
def test_what_a_run_does_not_have_is_unknown(measure: str) -> None:
    assert number(measure, SUMMARY) is None


@pytest.mark.parametrize("measure", ["ping_ms", "open('x')", "(lambda: 1)()", "ping_ms.p99 +", "[x for x in (1,)]"])
def test_what_is_no_measure_is_refused(measure: str) -> None:
    with pytest.raises(WrongSuite, match="hint"):
        check(measure)
        number(measure, SUMMARY)
