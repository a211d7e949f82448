"""Congestion controls that the user wrote, in the experiment file: `cc: {python: mine.py}`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tailback import scenario
from tailback.resolved import of_json, to_json
from tailback.scenario import Run, ScenarioError

TEXT = "class Mine:\n    def on_ack(self, flow, sample): pass\n    def on_loss(self, flow): pass\n"

FILE = """\
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: client -> server, name: upload, stop: 2s}]
duration: 3s
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(TEXT)
    return tmp_path


def runs(folder: Path, more: str, *overrides: str) -> list[Run]:
    (folder / "experiment.yaml").write_text(FILE + more)
    return scenario.load(folder / "experiment.yaml", overrides).runs()


def refusal(folder: Path, more: str, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        runs(folder, more, *overrides)
    return str(caught.value)


def control(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = to_json(run.scenario)["traffic"][0]["cc"]
    return found


def test_the_run_contains_the_text_of_the_file_and_its_digest(folder: Path) -> None:
    [run] = runs(folder, "cc: {python: mine.py, beta: 0.7}")
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    source = {"name": "mine.py", "language": "python", "sha256": digest, "text": TEXT}
    assert to_json(run.scenario)["controls"] == [source]
    assert control(run) == {"name": "mine.py", "options": {}, "parameters": {"beta": 0.7}}
    assert of_json(to_json(run.scenario)) == run.scenario


def test_another_text_is_another_run(folder: Path) -> None:
    [before] = runs(folder, "cc: {python: mine.py}")
    (folder / "mine.py").write_text(TEXT + "\n")
    [after] = runs(folder, "cc: {python: mine.py}")
    assert before.scenario != after.scenario


def test_a_run_without_one_has_no_key_for_it(folder: Path) -> None:
    [run] = runs(folder, "cc: cubic")
    assert "controls" not in to_json(run.scenario)
    assert control(run) == {"name": "cubic", "options": {}}


def test_it_is_a_value_of_an_axis_with_the_name_of_its_file(folder: Path) -> None:
    found = runs(folder, "vary: {cc: [cubic, {python: mine.py}, {python: ./mine.py, beta: 0.7}]}")
    assert [run.axes["cc"] for run in found] == ["cubic", "mine.py", "mine.py beta 0.7"]


def test_its_parameters_vary_by_their_paths(folder: Path) -> None:
    found = runs(folder, "cc: {python: mine.py}\nvary: {cc.beta: [0.5, 0.7]}")
    assert [control(run)["parameters"] for run in found] == [{"beta": 0.5}, {"beta": 0.7}]


@pytest.mark.parametrize("more", ["", "vary: {cc: [reno]}", "cc: bbr"])
def test_set_makes_an_axis_of_a_list_and_finds_the_file_from_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own.py").write_text(TEXT)
    monkeypatch.chdir(elsewhere)
    found = runs(folder, more, "cc=[cubic, {python: ./own.py}]")
    assert [run.axes["cc"] for run in found] == ["cubic", "own.py"]
    assert [control(run)["name"] for run in found] == ["cubic", "own.py"]


def test_set_keeps_it_of_an_axis_by_its_label(folder: Path) -> None:
    [run] = runs(folder, "vary: {cc: [cubic, {python: mine.py}]}", "cc=mine.py")
    assert control(run)["name"] == "mine.py"


def test_a_flow_may_have_its_own(folder: Path) -> None:
    more = "traffic: [{tcp: client -> server, cc: {python: mine.py}, stop: 2s}, {tcp: client -> server, name: b}]"
    (folder / "experiment.yaml").write_text("\n".join(FILE.splitlines()[:1]) + f"\nduration: 3s\n{more}\n")
    [run] = scenario.load(folder / "experiment.yaml").runs()
    assert [entry.cc.name for entry in run.scenario.tcp] == ["mine.py", "cubic"]


def test_a_wrong_file_is_refused_with_its_line(folder: Path) -> None:
    (folder / "mine.py").write_text("class Mine:\n    def on_ack(self\n")
    assert "`mine.py`, line 2: '(' was never closed" in refusal(folder, "cc: {python: mine.py}")
    assert "the control `other.py` cannot be read: No such file" in refusal(folder, "cc: {python: other.py}")
    assert "`7` is not the name of a Python file" in refusal(folder, "cc: {python: 7}")


def test_two_files_of_one_name_are_refused(folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "mine.py").write_text(TEXT + "\n")
    more = "vary: {A: {x: {traffic: [{tcp: client -> server, name: a, cc: {python: mine.py}}, "
    more += "{tcp: client -> server, name: b, cc: {python: b/mine.py}}]}}}"
    assert "two flows have controls of different files named `mine.py`" in refusal(folder, more)


def test_a_kernel_module_is_read_as_text(folder: Path) -> None:
    (folder / "tcp_mine.c").write_text("int x;\n")
    [run] = runs(folder, "cc: {module: tcp_mine.c, beta: 717}")
    [source] = run.scenario.controls
    assert (source.name, source.language, source.text) == ("tcp_mine.c", "c", "int x;\n")
    assert run.scenario.tcp[0].cc.parameters == {"beta": 717}
    assert "`mine.py` is not the name of a C file" in refusal(folder, "cc: {module: mine.py}")
    assert "not both" in refusal(folder, "cc: {module: tcp_mine.c, python: mine.py}")
