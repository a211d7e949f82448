"""The time by which a run that stands still is judged does not move with the load of the machine."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tailback.backends.backend import RunFailed
from tailback.backends.linux import process
from tailback.backends.uml import own_time
from tailback.backends.uml.own_time import OwnTime, Used, had, used_by


@pytest.mark.parametrize(
    ("before", "now", "wall_s", "expected"),
    [
        pytest.param(Used(1.0, True), Used(3.5, True), 4.0, 2.5, id="what it used, where others also run"),
        pytest.param(Used(1.0, True), Used(1.0, True), 900.0, 0.0, id="nothing, while it gets no processor"),
        pytest.param(Used(1.0, False), Used(1.0, False), 2.0, 2.0, id="wall time, where nothing of it wants to run"),
        pytest.param(Used(1.0, False), Used(1.0, True), 2.0, 0.0, id="nothing, if it woke up without a processor"),
        pytest.param(Used(5.0, True), Used(1.0, True), 2.0, 0.0, id="nothing, if a process of it ended"),
    ],
)
def test_the_time_of_a_run_is(before: Used, now: Used, wall_s: float, expected: float) -> None:
    assert had(before, now, wall_s) == expected


def test_hours_without_a_processor_do_not_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(wall)))
    monkeypatch.setattr(own_time, "used_by", lambda _folder: Used(7.0, True))
    clock = OwnTime(tmp_path)
    assert [clock() for _ in range(5)] == [0.0] * 5


def test_the_processes_of_a_run_are_those_that_work_in_its_folder(tmp_path: Path) -> None:
    assert used_by(tmp_path) == Used(0.0, False)
    # A process that waits to be written to, and one of its session elsewhere.
    with subprocess.Popen(["cat"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as there:
        assert there.stdin is not None and there.stdout is not None
        there.stdin.write(b"x")
        there.stdin.flush()
        assert there.stdout.read(1) == b"x"
        found = [there.pid]
        assert list(own_time.working_in(tmp_path)) == found
        assert own_time._state_and_cpu_s(os.getpid())[0] == "R"
        there.stdin.close()


def test_a_process_that_gets_nowhere_is_judged_by_the_clock_of_its_backend(tmp_path: Path) -> None:
    (clock, stalled) = iter([0.0, 0.0, 0.0, 9.0]), RunFailed("stuck")

    def words(_passed_s: float) -> str:
        return str(stalled)

    watch = process.Watch(10**9, process.Progress(), 5.0, words, clock=lambda: next(clock))
    with pytest.raises(RunFailed, match="stuck"):
        process.run(process.Command(["sleep", "1000"], {}), tmp_path, watch)
    assert list(clock) == []
