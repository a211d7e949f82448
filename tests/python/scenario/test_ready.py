"""The included experiments have names, which can be used in place of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback.scenario import ScenarioError, file_of, load, ready


def test_an_experiment_has_the_path_below_the_folder_for_a_name() -> None:
    names = ready()
    assert {"demo", "papers/access21/fig5", "rfc7928/ecn"} <= set(names)
    assert all(file.is_file() for file in names.values())


@pytest.mark.parametrize("word", ["demo", "demo.yaml", "experiments/demo.yaml", "experiments/demo"])
def test_a_name_is_found_from_everywhere(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert file_of(Path(word)) == ready()["demo"]


def test_a_file_of_that_name_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").write_text("title: mine\n")
    assert file_of(Path("demo")) == Path("demo")


def test_a_folder_of_that_name_does_not_hide_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert file_of(Path("demo")) == ready()["demo"]


@pytest.mark.parametrize("word", ["demonstration", "../demo", "papers", "x" * 5000, "a\0b", ""])
def test_a_name_of_neither_kind_is_opened_as_a_file(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert file_of(Path(word)) == Path(word)


def test_a_trace_lies_beside_the_ready_experiment_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = load("cellular")
    assert found.name == "cellular"
    with pytest.raises(ScenarioError, match="no such file"):
        load("no-such-experiment")
