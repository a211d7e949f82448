"""Runs of two folders paired by axes and repetition."""

from pathlib import Path

import pytest

from fake_backend import FakeBackend, Nobody, experiment, planned, scenario
from tailback.results import NotComparable, Results, claim, open_results, pair
from tailback.sweep import Sweep, run_all


def results(folder: Path, grid: list[dict[str, str]], repetitions: int = 1) -> Results:
    runs = [
        planned(axes, scenario(str(axes), seed=repetition), repetition)
        for axes in grid
        for repetition in range(1, repetitions + 1)
    ]
    with claim(folder, experiment(runs)) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return open_results(folder)


CC = [{"cc": "reno"}, {"cc": "bbr"}]


def test_runs_are_paired_by_axes_and_repetition(tmp_path: Path) -> None:
    found = pair(results(tmp_path / "a", CC, 3), results(tmp_path / "b", CC[::-1], 2))
    assert found.configurations == CC
    assert [(each.configuration, each.repetition) for each in found.pairs] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert all(each.reference.labels == each.candidate.labels for each in found.pairs)
    assert [run.repetition for run in found.unpaired["reference"]] == [3, 3]
    assert found.unpaired["candidate"] == []


def test_configurations_of_one_side_only_are_not_paired(tmp_path: Path) -> None:
    found = pair(results(tmp_path / "a", CC), results(tmp_path / "b", [*CC, {"cc": "cubic"}]))
    assert found.configurations == CC
    assert [run.axes for run in found.unpaired["candidate"]] == [{"cc": "cubic"}]


def test_an_axis_with_one_other_value_on_each_side_tells_the_folders_apart(tmp_path: Path) -> None:
    before = results(tmp_path / "a", [{**axes, "kernel": "stock"} for axes in CC])
    after = results(tmp_path / "b", [{**axes, "kernel": "mine"} for axes in CC])
    found = pair(before, after)
    assert found.configurations == CC
    assert found.apart == {"kernel": ("stock", "mine")}
    assert len(found.pairs) == 2


def test_an_axis_with_one_value_that_the_other_side_lacks_does_too(tmp_path: Path) -> None:
    found = pair(results(tmp_path / "a", [{}]), results(tmp_path / "b", [{"tsq": "off"}]))
    assert found.configurations == [{}]
    assert found.apart == {"tsq": ("", "off")}


def test_an_axis_that_varies_on_one_side_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotComparable, match=r"only `.*/b` has the axis `cc`, with bbr, reno"):
        pair(results(tmp_path / "a", [{}]), results(tmp_path / "b", CC))


def test_folders_without_a_common_run_are_refused_with_their_axes(tmp_path: Path) -> None:
    other = [{"cc": "cubic"}, {"cc": "vegas"}]
    with pytest.raises(NotComparable, match="cc: reno, bbr and cc: cubic, vegas"):
        pair(results(tmp_path / "a", CC), results(tmp_path / "b", other))
