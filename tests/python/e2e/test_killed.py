"""A sweep that is killed and started again ends with what an undisturbed one gives."""

import random
import signal
import subprocess
import time
from pathlib import Path

from e2e.conftest import COMMAND, Run
from sweep.same import lasting

KILLS = 6
"""As many as make it likely that each step of writing a run is hit once in a while."""


def killed(folder: Path, after_s: float) -> bool:
    """Starts the sweep and kills it after a time; whether it was still there."""
    sweep = subprocess.Popen(
        [COMMAND, "run", "two.yaml", "--out", "out", "--jobs", "2"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(after_s)
    alive = sweep.poll() is None
    sweep.send_signal(signal.SIGKILL)
    sweep.wait()
    return alive


def complete(folder: Path) -> dict[str, int]:
    """When each complete run was written, by its name."""
    runs = folder / "out" / "runs"
    there = [run for run in runs.iterdir() if not run.name.startswith(".")] if runs.is_dir() else []
    return {run.name: (run / "manifest.json").stat().st_mtime_ns for run in there}


def test_killed_at_any_moment_it_does_again_only_what_was_missing(tailback: Run, tmp_path: Path) -> None:
    began = time.monotonic()
    tailback("run", "two.yaml", "--out", "undisturbed", "--jobs", "2")
    length = time.monotonic() - began
    moments = random.Random(4)
    hits = 0
    for _ in range(KILLS):
        before = complete(tmp_path)
        hits += killed(tmp_path, moments.uniform(0.3, 1.0) * length)
        after = complete(tmp_path)
        assert before.items() <= after.items(), "a complete run was written again"
    assert hits > 0
    before = complete(tmp_path)
    tailback("run", "two.yaml", "--out", "out", "--jobs", "2")
    assert before.items() <= complete(tmp_path).items()
    assert lasting(tmp_path / "out") == lasting(tmp_path / "undisturbed")


def test_interrupted_it_says_that_complete_runs_are_kept(tmp_path: Path, tailback: Run) -> None:
    del tailback
    sweep = subprocess.Popen(
        [COMMAND, "run", "two.yaml", "--set", "repeat=400", "--out", "out"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not complete(tmp_path):
        assert sweep.poll() is None
        time.sleep(0.02)
    sweep.send_signal(signal.SIGINT)
    _, told = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert "interrupted\n  hint: complete runs are kept" in told
    assert [run for run in (tmp_path / "out" / "runs").iterdir() if run.name.startswith(".")] == []
