"""If a run fails, the command line reports it, keeps the others, and exits with 1."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fake_backend import FakeBackend
from tailback import backends
from tailback.backends import RunFailed, RunResult
from tailback.cli import main
from tailback.resolved import Scenario

Printed = pytest.CaptureFixture[str]


class NoReno(FakeBackend):
    """A backend that fails at every run with reno."""

    def run(self, scenario: Scenario, progress: Any) -> RunResult:
        if scenario.tcp[0].cc.name == "reno":
            raise RunFailed("the ring of client -> router is on fire")
        return super().run(scenario, progress)


def tailback(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Runs the command line in this process on a backend that fails with reno; returns its exit status."""
    monkeypatch.setattr(backends, "_BACKENDS", {"sim": NoReno})
    monkeypatch.setattr(sys, "argv", ["tailback", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_a_failed_run_gives_status_1_and_its_message(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "run", str(file)) == 1
    printed = capsys.readouterr()
    # As it comes, and at the end with the number of those that failed alike.
    assert printed.err.count("on fire") == 2
    assert "and 3 more" in printed.err
    assert "4 complete runs" in printed.err


def test_the_document_tells_failed_runs_from_good_ones(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "run", str(file), "--json") == 1
    runs: list[Mapping[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    assert [run["status"] for run in runs] == ["ok"] * 4 + ["failed"] * 4
    assert list(runs[-1]) == ["axes", "seed", "backend", "status", "error"]
    assert runs[-1]["error"] == "the ring of client -> router is on fire"


def test_a_run_that_is_not_valid_gives_status_1_and_is_distinguished(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    words = ("run", str(file), "--set", "title=overloaded")
    assert tailback(monkeypatch, *words) == 1
    printed = capsys.readouterr()
    assert "invalid: run " in printed.err
    assert "0 complete runs" in printed.err
    assert tailback(monkeypatch, *words, "--json") == 1
    runs: list[Mapping[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    assert {run["status"] for run in runs if run["axes"]["cc"] != "reno"} == {"invalid"}
    assert all("summary" not in run and "dir" not in run for run in runs)


def test_an_experiment_the_backend_cannot_run_is_wrong_input(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    assert tailback(monkeypatch, "run", str(file), "--set", "title=unsuitable") == 2
    assert "too many rings" in capsys.readouterr().err
    assert not Path("results").exists()
