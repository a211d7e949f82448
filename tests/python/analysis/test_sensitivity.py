"""Sobol' indices of a grid: known values, comparison with an analysis of variance, intervals."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tailback.analysis.metric import Column, at
from tailback.analysis.sensitivity import Sensitivity, sensitivity

AXES = {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"]}
Y = Column("y", "ms", at("y"))

Runs = list[tuple[Mapping[str, str], dict[str, Any]]]


def grid(value: Callable[[int, int, int], float], repetitions: int = 1, noise: float = 0.0) -> Runs:
    draws = np.random.default_rng(7)
    return [
        (dict(zip("abc", place, strict=True)), {"y": value(*map(int, place)) + noise * draws.normal()})
        for place in itertools.product(*AXES.values())
        for _ in range(repetitions)
    ]


def indices(found: Sensitivity, name: str) -> dict[str, float]:
    return dict(zip(found.indices["axis"], found.indices[name], strict=True))


def test_an_axis_alone_has_all_of_the_variance() -> None:
    found = sensitivity(AXES, grid(lambda a, _b, _c: 5.0 * a), Y, logarithmic=False)
    assert indices(found, "first") == pytest.approx({"a": 1, "b": 0, "c": 0})
    assert indices(found, "total") == pytest.approx({"a": 1, "b": 0, "c": 0})
    assert found.indices["axis"][0] == "a"
    assert (found.indices["least"][0], found.indices["most"][0]) == ("0", "2")
    assert found.indices["most mean"][0] == 10


def test_axes_that_matter_only_together_have_no_share_by_themselves() -> None:
    found = sensitivity(AXES, grid(lambda _a, b, c: float(b ^ c)), Y, logarithmic=False)
    assert indices(found, "first") == pytest.approx({"a": 0, "b": 0, "c": 0})
    assert indices(found, "total") == pytest.approx({"a": 0, "b": 1, "c": 1})


def test_first_order_indices_are_those_of_an_analysis_of_variance() -> None:
    # Here, because each process that runs tests imports all files of tests, and this takes a second.
    import statsmodels.api as sm
    from statsmodels.formula.api import ols

    runs = grid(lambda a, b, c: 3.0 * a + 2.0 * b + a * c, repetitions=4, noise=1.0)
    found = sensitivity(AXES, runs, Y, logarithmic=False)
    frame = pd.DataFrame([{**axes, **summary} for axes, summary in runs])
    table = sm.stats.anova_lm(ols("y ~ C(a) * C(b) * C(c)", data=frame).fit(), typ=2)
    eta_squared = table["sum_sq"] / table["sum_sq"].sum()
    assert indices(found, "first") == pytest.approx({axis: eta_squared[f"C({axis})"] for axis in "abc"})
    assert found.between == pytest.approx(eta_squared["Residual"])
    with_a = [name for name in eta_squared.index if "C(a)" in name]
    assert indices(found, "total")["a"] == pytest.approx(eta_squared[with_a].sum())


def test_the_interval_holds_the_index_and_narrows_with_repetitions() -> None:
    widths = []
    for repetitions in (3, 30):
        runs = grid(lambda a, b, _c: 3.0 * a + b, repetitions, noise=1.0)
        row = sensitivity(AXES, runs, Y, logarithmic=False).indices.iloc[0]
        assert row["first low"] < row["first"] < row["first high"]
        widths.append(row["first high"] - row["first low"])
    assert widths[1] < widths[0] / 2


def test_one_repetition_has_no_interval() -> None:
    found = sensitivity(AXES, grid(lambda a, b, _c: float(a + b)), Y, logarithmic=False)
    assert found.indices["first low"].isna().all()
    assert found.between == 0


def test_of_the_logarithm_factors_count_alike_wherever_they_act() -> None:
    found = sensitivity(AXES, grid(lambda a, b, _c: 10.0 ** (a + 2 * b)), Y, logarithmic=True)
    assert indices(found, "first")["a"] + indices(found, "first")["b"] == pytest.approx(1)


def test_missing_configurations_are_counted_and_the_others_used() -> None:
    runs = [run for run in grid(lambda a, _b, _c: float(a)) if run[0] != {"a": "2", "b": "1", "c": "1"}]
    found = sensitivity(AXES, runs, Y, logarithmic=False)
    assert found.missing == 1
    assert indices(found, "total")["b"] == pytest.approx(0)


def test_no_setting_affects_a_constant_number() -> None:
    found = sensitivity(AXES, grid(lambda _a, _b, _c: 1.0), Y, logarithmic=False)
    assert indices(found, "total") == {"a": 0, "b": 0, "c": 0}
