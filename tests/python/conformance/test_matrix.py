"""The simulator beside the figures a kernel left of the conformance matrix: a cut of it with every test.

The whole matrix, its picture and its red cells: `python -m conformance.matrix.report`, docs/fidelity.md.
"""

from __future__ import annotations

import pandas as pd
import pytest

from conformance.matrix import golden
from conformance.matrix.grid import AQM_DISCIPLINES, AXES, PARTS, Part, parts
from conformance.matrix.known import REASONS
from conformance.matrix.report import disciplines, picture, red, shares
from conformance.matrix.simulate import compared, simulated
from fake_backend import Nobody
from tailback.analysis.tolerances import share_within

CUT = Part("grid", ("bottleneck=[L10M, R10M, L100M, R100M]", "rtt=[10ms]", "tsq=[1ms, off]", "repeat=2"))
AQM = Part("aqm10", ("bottleneck=[R10M]", "rtt=[10ms]", "cc=[cubic]", "tsq=[1ms]", "repeat=3", AQM_DISCIPLINES))
"""One path of those that the AQM disciplines were measured on."""
FLOOR = 0.95
"""Share of cells within tolerance; 99 % when it was set. What is lost below it is a mechanism, not chance."""


@pytest.fixture(scope="module")
def cells() -> pd.DataFrame:
    kernel = golden.read()
    cut = kernel[(kernel["part"] == "grid") & (kernel["rtt"] == "10ms")]
    return compared(cut, simulated(CUT, CUT.experiment(), cut, 2, Nobody()))


def test_the_share_of_cells_within_tolerance_does_not_fall(cells: pd.DataFrame) -> None:
    whole = share_within(cells).set_index("tolerance").loc["all"]
    assert whole["judged"] > 140
    assert whole["within"] / whole["judged"] >= FLOOR, "\n".join(red(cells))


def test_every_aqm_discipline_does_what_the_kernel_s_does() -> None:
    kernel = golden.read()
    cut = kernel[(kernel["part"] == "aqm10") & (kernel["rtt"] == "10ms") & (kernel["cc"] == "cubic")]
    found = compared(cut, simulated(AQM, AQM.experiment(), cut, 2, Nobody()))
    assert {"pie", "fq_pie", "sfq", "cake", "codel"} <= set(found["qdisc"])
    assert red(found)[2:] == []
    assert len(disciplines(found)) > 8


def test_the_page_shows_each_control_and_each_cell_that_is_off(cells: pd.DataFrame) -> None:
    assert [row.split(" | ")[0] for row in shares(cells)[2:]] == ["| **all**", "| reno", "| cubic", "| bbr"]
    assert len(red(cells)) == 2 + int((cells["outcome"] == "off").sum())
    assert picture(cells).startswith(b"\x89PNG")


def test_every_part_of_the_matrix_is_an_experiment_on_its_axes() -> None:
    for _, experiment in parts():
        assert tuple(experiment.axes) == AXES
    assert {part.name for part in PARTS} >= set(golden.read()["part"])


def test_every_reason_covers_a_cell_that_was_measured() -> None:
    measured = [{str(axis): str(value) for axis, value in row.items()} for row in golden.read().to_dict("records")]
    for reason in REASONS:
        assert any(reason.covers(cell, figure) for cell in measured for figure in reason.figures), reason.words
