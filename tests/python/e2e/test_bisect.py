"""`tailback run --bisect` under a real `git bisect run`: only what the results say is a bad commit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import in_process
from tailback.analysis.bounds import bounds
from tailback.cli import bisection
from tailback.sweep import Verdict, judgement

GOOD = """\
links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]
qdiscs: {a -> b: pfifo limit 10}
traffic: [{tcp: a -> b}, {ping: a -> b, interval: 20ms}]
duration: 1s
expect: {"ping p50": "< 20ms"}
"""
BAD = GOOD.replace("1ms", "30ms")
BROKEN = GOOD.replace("pfifo", "pffifo")

HISTORY = (GOOD, BROKEN, BROKEN, GOOD, BAD, BROKEN, BAD)
"""The files of successive commits; some cannot be run."""


def git(folder: Path, *words: str) -> str:
    mine = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
    who = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ("git", *words), cwd=folder, env={**os.environ, **mine, **who}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_git_finds_the_commit_that_broke_it_and_skips_those_that_cannot_be_run(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for number, text in enumerate(HISTORY):
        (tmp_path / "x.yaml").write_text(f"{text}title: commit {number}\n")
        git(tmp_path, "add", "x.yaml")
        git(tmp_path, "commit", "-q", "-m", f"commit {number}")
    git(tmp_path, "bisect", "start", "main", "main~6")
    told = git(tmp_path, "bisect", "run", sys.executable, "-m", "tailback", "run", "x.yaml", "--bisect")
    first = told.partition(" is the first bad commit")[0].split()[-1]
    assert git(tmp_path, "log", "-1", "--format=%s", first).strip() == "commit 4", told
    assert "bisect: bad: ping p50 < 20 ms does not hold" in told
    assert "`pffifo` is not a queue discipline" in told


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)
    Path("broken.yaml").write_text(BROKEN)
    Path("silent.yaml").write_text(GOOD.partition("expect")[0])
    Path("file").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("good.yaml",), 0),
        (("bad.yaml",), 1),
        (("good.yaml", "bad.yaml"), 1),
        (("broken.yaml",), 125),
        (("missing.yaml",), 125),
        (("silent.yaml",), 125),
        (("good.yaml", "--out", "file/folder"), 125),
        (("good.yaml", "--backend", "uml:nowhere"), 125),
        (("good.yaml", "--backend", "nothing"), 125),
        (("good.yaml", "--set", "expect.rpm=> 5"), 125),
        (("good.yaml", "--set", "expect.pong=< 5ms"), 125),
        (("good.yaml", "--dry-run"), 125),
        (("good.yaml", "--no-such-option"), 125),
        (("good.yaml", "--seed", "1", "--seed", "2"), 125),
        ((), 125),
    ],
)
def test_every_end_that_says_nothing_about_the_commit_is_125(here: Path, words: tuple[str, ...], status: int) -> None:
    assert here.is_dir()
    in_process("run", "--bisect", *words, status=status)


def test_without_bisect_the_status_is_as_ever(here: Path) -> None:
    assert here.is_dir()
    in_process("run", "good.yaml", status=0)
    in_process("run", "bad.yaml", status=1)
    in_process("run", "broken.yaml", status=2)


def verdict(mean: float, low: float, high: float) -> Verdict:
    return Verdict({"cc": "cubic"}, bounds("ping < 20ms")[0], mean, low, high)


def test_an_interval_across_the_bound_cannot_tell_and_a_certain_failure_is_bad() -> None:
    nan = float("nan")
    crossing, failing, holding = verdict(19, 15, 23), verdict(30, 28, 32), verdict(10, 9, 11)
    assert judgement([crossing, holding]) == (
        "cannot tell",
        "the 95 % interval crosses ping p50 < 20 ms with cubic: add repetitions",
    )
    assert judgement([crossing, failing])[0] == "bad"
    assert judgement([holding, holding]) == ("good", "2 conditions hold")
    assert judgement([verdict(30, nan, nan)])[0] == "bad"
    assert judgement([verdict(nan, nan, nan), holding]) == ("cannot tell", "no run has ping p50 with cubic")
    assert judgement([])[0] == "cannot tell"


@pytest.mark.parametrize("failure", [RuntimeError("a defect"), ImportError("no extension"), MemoryError()])
def test_a_defect_of_the_program_is_no_bad_commit(failure: Exception) -> None:
    with pytest.raises(SystemExit) as ended, bisection.answered(["tailback", "run", "--bisect"]):
        raise failure
    assert ended.value.code == 125


@pytest.mark.parametrize("status", [130, 137])
def test_an_interruption_ends_the_bisection(status: int) -> None:
    with pytest.raises(SystemExit) as ended, bisection.answered(["tailback", "run", "--bisect"]):
        sys.exit(status)
    assert ended.value.code == status


def test_a_verdict_stands_although_its_output_cannot_be_written() -> None:
    with pytest.raises(SystemExit) as ended, bisection.answered(["tailback", "run", "--bisect"]):
        bisection.decide(0)
        sys.exit(1)
    assert ended.value.code == 0
