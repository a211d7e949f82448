"""A sweep that is killed and restarted ends with the results of an undisturbed one."""

import random
import signal
import subprocess
import sys
from pathlib import Path

from e2e.conftest import Run
from sweep.same import lasting
from waiting import GENEROUS_S, alive, until

KILLS = 6
"""As many as make it likely that each step of writing a run is hit once in a while."""

COUNTED = """
import itertools, os, signal, sys
last, counted = int(sys.argv.pop(1)), itertools.count(1)
def changed(event, arguments):
    if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir") or event == "open" and writes(arguments):
        if next(counted) == last:
            os.kill(os.getpid(), signal.SIGKILL)
def writes(arguments):
    return bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR))
sys.addaudithook(changed)
sys.dont_write_bytecode = True
from tailback.cli import main
try:
    main()
finally:
    print(next(counted) - 1, file=sys.stderr)
"""
"""The command, killed by itself right before its nth change of the file system; if it gets to its end it says how many
changes there were. A moment that is counted in changes is the same on a machine of any speed."""


def sweep(folder: Path, out: str, last: int) -> subprocess.CompletedProcess[str]:
    """The sweep, killed by SIGKILL before its change number `last`."""
    command = [sys.executable, "-c", COUNTED, str(last), "run", "two.yaml", "--out", out, "--jobs", "2"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def complete(folder: Path) -> dict[str, int]:
    """When each complete run was written, by its name."""
    runs = folder / "out" / "runs"
    there = [run for run in runs.iterdir() if not run.name.startswith(".")] if runs.is_dir() else []
    return {run.name: (run / "manifest.json").stat().st_mtime_ns for run in there}


def test_after_a_kill_at_any_moment_only_missing_runs_are_repeated(tailback: Run, tmp_path: Path) -> None:
    changes = int(sweep(tmp_path, "undisturbed", 0).stderr.splitlines()[-1])
    assert changes > 8 * 5, "each of the eight runs is several files"
    moments = random.Random(4)
    statuses = []
    for _ in range(KILLS):
        before = complete(tmp_path)
        # Complete runs are not written again, so a later sweep makes fewer changes.
        left = changes * (8 - len(before)) // 8
        statuses.append(sweep(tmp_path, "out", moments.randint(1, max(left // 2, 1))).returncode)
        assert before.items() <= complete(tmp_path).items(), "a complete run was written again"
    assert statuses.count(-signal.SIGKILL) == KILLS
    before = complete(tmp_path)
    tailback("run", "two.yaml", "--out", "out", "--jobs", "2")
    assert before.items() <= complete(tmp_path).items()
    assert lasting(tmp_path / "out") == lasting(tmp_path / "undisturbed")


PATIENT = f"""
from tailback.cli import interrupts, main
interrupts.SHUTDOWN_S = {GENEROUS_S}
main()
"""
"""The command, which is not ended before it has shut down: a busy machine may take longer for it than a user waits, and
the next sweep then removes what is incomplete.
"""


def test_an_interrupted_sweep_reports_that_complete_runs_are_kept(tmp_path: Path, tailback: Run) -> None:
    del tailback
    # Every other run takes some ten seconds of a processor, so that none of a hundred processors ends the sweep first.
    long = ["--set", "vary.duration=[3s, 20000s]", "--set", "traffic[0].stop=null"]
    sweep = subprocess.Popen(
        [sys.executable, "-c", PATIENT, "run", "two.yaml", *long, "--out", "out"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: complete(tmp_path), while_=alive(sweep))
    sweep.send_signal(signal.SIGINT)
    _, told = sweep.communicate()
    assert sweep.returncode == 130
    assert "interrupted\n  hint: complete runs are kept" in told
    assert [run for run in (tmp_path / "out" / "runs").iterdir() if run.name.startswith(".")] == []
