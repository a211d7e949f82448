"""Numbers as text."""

import math
import re
from pathlib import Path

import pytest

import tailback
from tailback.analysis import digits
from tailback.analysis.bounds import bounds, quantity
from tailback.analysis.intervals import spread_in_words
from tailback.analysis.metric import Column
from tailback.analysis.repetitions import Mean
from tailback.analysis.tradeoffs import Number
from tailback.cli import advised, live, sheets, sweeps
from tailback.cli import means as cli_means
from tailback.cli.sheets import Field, Sheet
from tailback.sweep import Verdict
from tailback.validation.words import number

SMALL = 0.001264
"""The completion time of a small flow in a data centre, in s."""


@pytest.mark.parametrize(
    ("value", "count", "text"),
    [(SMALL, 3, "0.00126"), (4.75, 3, "4.75"), (116.2, 3, "116"), (43875.3, 4, "43875"), (0, 3, "0"), (-0.0, 3, "0"),
     (-0.034, 2, "−0.034"), (95.6, 4, "95.6"), (1.2e-7, 2, "0.00000012"), (100, 3, "100"), (99.96, 3, "100")],
)  # fmt: skip
def test_a_number_has_its_significant_digits_in_fixed_notation(value: float, count: int, text: str) -> None:
    assert digits.significant(value, count) == text


def test_small_times_in_seconds_are_said_in_milliseconds() -> None:
    unit, values = digits.readable("s", (SMALL, 0.0017))
    assert unit == "ms"
    assert values == pytest.approx([1.264, 1.7])
    assert digits.readable("s", (SMALL, 1.5)) == ("s", [SMALL, 1.5])
    assert digits.readable("ms", (SMALL,)) == ("ms", [SMALL])


def test_small_values_keep_their_digits_wherever_they_are_printed() -> None:
    """Table, live table, advice, expectation, bound and report of a comparison."""
    column = Column("completion p50", "s", lambda _: SMALL)
    mean = Mean(SMALL, SMALL - 2e-5, SMALL + 2e-5)
    verdict = Verdict({}, bounds("completion p50 < 2ms")[0], SMALL, mean.low, mean.high)
    printed = [
        cli_means._mean(mean, column).text,
        sheets.number(SMALL).text,
        live._number(SMALL),
        advised._mean(Number(column, SMALL, mean.low, mean.high)),
        sweeps._mean_of(verdict).text,
        number(SMALL),
    ]
    assert [text[:7] for text in printed] == ["0.00126"] * len(printed)
    assert [text for text in printed if "e-" in text] == []
    whole = sheets.written(Sheet("", [Field("completion p50")], [[cli_means._mean(mean, column)]]))
    assert whole.rows[0][0].text.endswith(" ±0.00002")
    assert str(verdict.bound) == "completion p50 < 0.002 s"
    assert str(bounds("completion p50 < 1264us")[0]) == "completion p50 < 0.001264 s"
    assert quantity("completion p50").unit == "s"


def test_large_values_have_no_exponent_either() -> None:
    assert advised._mean(Number(quantity("rpm"), 43875.3, math.nan, math.nan)) == "43875"
    assert spread_in_words(1e-4, (0.8e-4, 1.2e-4)) == "±0.00002"
    assert spread_in_words(1e6, (9e5, 1.1e6)) == "±100000"
    assert spread_in_words(1e-4, (0, 3e-4)) == "[0, 0.0003]"


def test_no_number_of_a_result_is_printed_with_an_exponent() -> None:
    """`.4g` writes 43875 as 4.388e+04 and 0.00001 as 1e-05; `significant` does not. `least_p` is a probability."""
    packages = [Path(tailback.__file__).parent / name for name in ("cli", "plots", "validation", "report", "papers")]
    found = [
        line.strip()
        for package in packages
        for file in package.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if re.search(r":\.\d+g\}", line) and "least_p" not in line
    ]
    assert found == []


@pytest.mark.parametrize(
    ("mean", "ends", "text"),
    [(19.87, (19.851, 19.8899), "[19.851, 19.89]"), (643.6, (639.8, 647.5), "[639.8, 647.5]"),
     (0.5674, (0, 1.607), "[0, 1.61]"),
     (18.81, (18.81, 18.81), "[18.81, 18.81]"), (0.0, (0.0, 0.0), "[0, 0]"), (0.9, (0.7, 1.0), "[0.7, 1]")],
)  # fmt: skip
def test_both_ends_of_an_interval_have_the_places_that_tell_them_apart(
    mean: float, ends: tuple[float, float], text: str
) -> None:
    said = spread_in_words(mean, ends, form="[]")
    assert said == text
    low, high = (float(each) for each in said.strip("[]").split(", "))
    assert low <= mean <= high
