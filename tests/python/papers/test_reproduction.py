"""Reproduces one figure with the simulator, end to end: its scorecard, and no run twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailback.cli.app import app
from tailback.papers import UnknownPaper
from tailback.papers.reproduction import experiment_file

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def reproduced(folder: Path, *options: str) -> str:
    found = RUNNER.invoke(app, ["reproduce", "access21", "7", "--quick", "--out", str(folder), *options])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_figure_7_is_reproduced_and_its_runs_are_kept(folder: Path) -> None:
    (claim,) = json.loads(reproduced(folder, "--json"))["claims"]
    assert (claim["id"], claim["status"]) == ("access21-f7-tsq", "pass")
    runs = {path.name: path.stat().st_mtime_ns for path in (folder / "access21/fig7/runs").glob("*/manifest.json")}
    again = reproduced(folder)
    assert "access21-f7-tsq" in again
    assert "1 of 1 claims of access21 hold" in again
    assert "Figure 7" in (folder / "reproduction.html").read_text()
    assert runs == {
        path.name: path.stat().st_mtime_ns for path in (folder / "access21/fig7/runs").glob("*/manifest.json")
    }


def test_an_experiment_that_a_paper_does_not_have_is_named() -> None:
    with pytest.raises(UnknownPaper, match="there is no experiment `papers/access21/fig40`"):
        experiment_file("access21", "fig40")
