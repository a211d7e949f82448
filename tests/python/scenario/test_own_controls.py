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


def test_a_bare_file_with_its_parameters_stands_for_a_control(folder: Path) -> None:
    (folder / "tcp_mine.c").write_text("int x;\n")
    found = runs(folder, "vary: {cc: [cubic, ./tcp_mine.c, mine.py, ./mine.py beta 0.7 n 3 kind fast on true]}")
    assert [run.axes["cc"] for run in found] == [
        "cubic", "tcp_mine.c", "mine.py", "mine.py beta 0.7 n 3 kind fast on true"
    ]  # fmt: skip
    assert [control(run)["name"] for run in found] == ["cubic", "tcp_mine.c", "mine.py", "mine.py"]
    assert control(found[3])["parameters"] == {"beta": 0.7, "n": 3, "kind": "fast", "on": True}
    assert "the parameter `beta` of `mine.py` has no value" in refusal(folder, "cc: mine.py beta")


@pytest.mark.parametrize("more", ["", "vary: {cc: [reno]}", "vary: {cc: [mine.py]}"])
def test_set_takes_a_bare_file_of_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    elsewhere = folder / "elsewhere here"
    elsewhere.mkdir()
    (elsewhere / "own.py").write_text(TEXT)
    monkeypatch.chdir(elsewhere)
    [run] = runs(folder, more, "cc=./own.py beta 0.7")
    assert (control(run)["name"], control(run)["parameters"]) == ("own.py", {"beta": 0.7})
    found = runs(folder, more, "cc=[cubic, own.py]")
    assert [run.axes["cc"] for run in found] == ["cubic", "own.py"]
    found = runs(folder, more, "traffic[0].cc=own.py") if "cc" not in more else found
    assert control(found[-1])["name"] == "own.py"


def test_set_tells_files_of_one_name_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "mine.py").write_text(TEXT + "# b\n")
    monkeypatch.chdir(folder / "b")
    more = "vary: {cc: [cubic, {python: mine.py}]}"
    for word, b in (("{python: ./mine.py}", True), ("{python: ../mine.py}", False), ("../mine.py", False),
                    ("./mine.py", True), ("mine.py", False)):  # fmt: skip
        [run] = runs(folder, more, f"cc={word}")
        assert run.scenario.controls[0].text.endswith("# b\n") == b, word


def test_a_python_control_is_not_taken_for_the_module_of_its_label(folder: Path) -> None:
    (folder / "tcp_mine.c").write_text("int x;\n")
    more = "vary: {cc: [cubic, {module: tcp_mine.c}]}"
    assert "is not the name of a Python file" in refusal(folder, more, "cc={python: ./tcp_mine.c}")
    assert "is not the name of a Python file" in refusal(folder, more, "cc=[{python: ./tcp_mine.c}]")


def test_labels_are_the_remedy_for_two_files_of_one_name(folder: Path) -> None:
    text = refusal(folder, "vary: {cc: [{python: mine.py}, {python: b/mine.py}]}")
    assert "has the value `mine.py` twice" in text
    assert "give them labels: cc: {old: {python: mine.py}, new: {python: b/mine.py}}" in text
    assert "remove one of the two" in refusal(folder, "vary: {cc: [mine.py, mine.py]}")
