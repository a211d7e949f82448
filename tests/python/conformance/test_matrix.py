"""Compares the simulator with the recorded figures of a kernel, for a part of the conformance matrix. The whole matrix,
its picture and the cells out of tolerance: `python -m conformance.matrix.report`, conformance/results/matrix.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from conformance.grid import Place
from conformance.judge import Cell, Run, judge, share_within
from conformance.matrix.criteria import CAMPAIGN
from conformance.matrix.grid import MATRIX
from conformance.matrix.known import REASONS
from conformance.matrix.report import disciplines, picture, red, shares

RUNS = CAMPAIGN.runs()
GRID = [run for run in RUNS if run.experiment.part == "grid" and run.experiment.labels["rtt"] == "10ms"]
COSTLY = ("L100M", "R100M")
"""The bottlenecks at which a run costs ten times what it costs at the others."""
AQM = [run for run in RUNS if run.experiment.key.startswith("aqm10 ") and "10ms cubic" in run.experiment.key]
"""One path of those that the AQM disciplines were measured on."""
FLOOR = 0.95
"""Share of cells within tolerance; 99 % when it was set. What is lost below it is a mechanism, not chance."""


def cut() -> list[Run[Place]]:
    """Every other cell of the costly bottlenecks: each pair of discipline, control and small queue is kept."""
    values = {axis: list(dict.fromkeys(run.experiment.labels[axis] for run in GRID)) for axis in ("qdisc", "cc", "tsq")}

    def steps(place: Place) -> int:
        return sum(found.index(place.labels[axis]) for axis, found in values.items())

    return [run for run in GRID if run.experiment.labels["bottleneck"] not in COSTLY or steps(run.experiment) % 2 == 0]


@pytest.fixture(scope="module")
def found() -> list[Cell[Place]]:
    return list(judge(CAMPAIGN, cut(), 2).cells)


def test_the_share_of_cells_within_tolerance_does_not_fall(found: list[Cell[Place]]) -> None:
    within, judged = share_within(found)
    assert judged > 100
    assert within / judged >= FLOOR, "\n".join(red(found))


@pytest.mark.campaign
def test_the_share_of_cells_within_tolerance_of_the_whole_grid_of_this_path_does_not_fall() -> None:
    cells = judge(CAMPAIGN, GRID, 2).cells
    within, judged = share_within(cells)
    assert judged > 140
    assert within / judged >= FLOOR, "\n".join(red(cells))


@pytest.mark.parametrize("pair", list(combinations(("qdisc", "cc", "tsq"), 2)), ids="-".join)
def test_the_cut_has_each_pair_of_values_at_each_bottleneck(pair: tuple[str, str]) -> None:
    def pairs(runs: Sequence[Run[Place]]) -> set[tuple[str, ...]]:
        return {tuple(run.experiment.labels[axis] for axis in ("bottleneck", *pair)) for run in runs}

    assert pairs(cut()) == pairs(GRID)


def test_every_aqm_agrees_with_that_of_the_kernel() -> None:
    cells = judge(CAMPAIGN, AQM, 2).cells
    assert {"pie", "fq_pie", "sfq", "cake", "codel"} <= {cell.experiment.labels["qdisc"] for cell in cells}
    assert red(cells)[2:] == []
    assert len(disciplines(cells)) > 8


def test_the_page_shows_each_control_and_each_cell_that_is_off(found: list[Cell[Place]]) -> None:
    assert [row.split(" | ")[0] for row in shares(found)[2:]] == ["| **all**", "| reno", "| cubic", "| bbr"]
    assert len(red(found)) == 2 + sum(cell.outcome == "off" for cell in found)
    assert picture(found).startswith(b"\x89PNG")


def test_every_part_of_the_matrix_is_an_experiment_on_its_axes() -> None:
    for _, experiment in MATRIX.experiments():
        assert tuple(experiment.axes) == MATRIX.axes
    assert {part.name for part in MATRIX.parts} >= set(MATRIX.read()["part"])


def test_every_reason_covers_a_cell_that_was_measured() -> None:
    measured = [{str(axis): str(value) for axis, value in row.items()} for row in MATRIX.read().to_dict("records")]
    for reason in REASONS:
        assert any(reason.covers(cell, figure) for cell in measured for figure in reason.figures), reason.words
