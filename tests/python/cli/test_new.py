"""`tailback new`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command import in_process
from tailback import scenario, starters
from tailback.analysis.differences import fewest


def test_the_test_of_a_new_control_passes(tmp_path: Path) -> None:
    starters.control("my_reno", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_reno.py", "my_reno.yaml", "test_my_reno.py"]
    assert "class MyReno:" in (tmp_path / "my_reno.py").read_text()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_reno.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_new_module_is_a_control_of_its_name(tmp_path: Path) -> None:
    starters.module("my_reno", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_reno.yaml", "tcp_my_reno.c", "test_my_reno.py"]
    runs = scenario.load(tmp_path / "my_reno.yaml").runs()
    assert [source.name for source in runs[0].scenario.controls] == ["tcp_my_reno.c"]
    assert "$" not in runs[0].scenario.controls[0].text
    with pytest.raises(starters.NotStarted, match="in C"):
        starters.module("while", tmp_path)


def test_a_new_bpf_program_has_a_name_that_the_kernel_can_hold(tmp_path: Path) -> None:
    starters.program("my_reno", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my_reno.bpf.c", "my_reno.yaml", "test_my_reno.py"]
    runs = scenario.load(tmp_path / "my_reno.yaml").runs()
    assert [(source.name, source.language) for source in runs[0].scenario.controls] == [("my_reno.bpf.c", "bpf")]
    assert "$" not in runs[0].scenario.controls[0].text
    with pytest.raises(starters.NotStarted, match="up to 11"):
        starters.program("twelve_chars", tmp_path)


def test_one_control_is_named() -> None:
    for words in ((), ("--bpf", "mine", "--module", "mine")):
        assert "name one control" in in_process("new", "cc", *words, status=2).stderr


def test_a_control_without_its_language_is_answered_with_the_options_for_it() -> None:
    said = in_process("new", "cc", "zoom", status=2).stderr
    assert "tailback new cc --python zoom, --module zoom or --bpf zoom" in said


@pytest.mark.parametrize("name", ["cubic", "reno", "bbr"])
def test_a_module_has_no_name_that_linux_uses(name: str, tmp_path: Path) -> None:
    with pytest.raises(starters.NotStarted, match=f"name yours my_{name}"):
        starters.module(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
    starters.module(f"my_{name}", tmp_path)


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    with pytest.raises(starters.NotStarted, match="exists"):
        starters.control("mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_a_name_that_python_cannot_import_is_refused(tmp_path: Path) -> None:
    for name in ("my-reno", "class", "../mine"):
        with pytest.raises(starters.NotStarted, match="cannot be the name"):
            starters.control(name, tmp_path)


@pytest.mark.parametrize("kind", starters.EXPERIMENTS)
def test_an_experiment_to_start_with_runs_without_warnings(kind: str, tmp_path: Path) -> None:
    (path,) = starters.experiment(kind, tmp_path / "mine.yaml")
    assert "$FILE" not in path.read_text()
    assert f"tailback run {path}" in path.read_text()
    found = scenario.load(path)
    # A lab on buffers has some that are too small, and says so.
    expected = {"queue-below-bdp"} if kind == "lab" else set()
    assert {finding.code for finding in scenario.lint(found) if finding.severity == "warning"} == expected
    done = in_process("run", path, "--set", "vary=null", "--set", "repeat=1", "--out", tmp_path / "out")
    assert found.title in done.stdout


@pytest.mark.parametrize("kind", starters.EXPERIMENTS)
def test_an_experiment_to_start_with_has_repetitions_enough_to_decide(kind: str, tmp_path: Path) -> None:
    (path,) = starters.experiment(kind, tmp_path / "mine.yaml")
    assert scenario.load(path).configurations[0].keys.repeat.max >= fewest()


def test_an_experiment_is_written_by_its_name(tmp_path: Path) -> None:
    done = in_process("new", "home-link", tmp_path / "mine.yaml")
    assert done.stdout.strip() == str(tmp_path / "mine.yaml")
    assert "exists" in in_process("new", "home-link", tmp_path / "mine.yaml", status=2).stderr
    told = in_process("new", "home-link", tmp_path / "no" / "mine.yaml", status=2).stderr
    assert told.endswith(f"No such file or directory\n  hint: make its folder first: mkdir -p {tmp_path}/no\n")
    told = in_process("new", "home-link", tmp_path / "mine.yaml" / "x.yaml", status=2).stderr
    assert "mine.yaml/x.yaml: Not a directory" in told


def test_remarks_behind_commands_stand_in_one_column(tmp_path: Path) -> None:
    (file,) = starters.experiment("home-link", tmp_path / "a-long-name-of-a-file.yaml")
    commands = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#   tailback ")]
    assert len({line.rindex("#") for line in commands}) == 1 < len(commands)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "foo"), "new` has no command `foo`\n  hint: it has cc, home-link, wifi, "),
        (("new", "home"), "  hint: did you mean `home-link`? it has cc, "),
        (("plt", "results/demo"), "  hint: did you mean `plot`? it has run, "),
        (("kernel", "bulid"), "  hint: did you mean `build`? it has build, "),
    ],
)
def test_a_command_that_is_none_is_answered_with_those_that_are(words: tuple[str, ...], said: str) -> None:
    assert said in in_process(*words, status=2).stderr
