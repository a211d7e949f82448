"""What stands between a terminal and a shell on a host: the gate of time, and what is passed on."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tailback.backends.backend import RunFailed
from tailback.backends.linux import shell


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    sent: list[signal.Signals] = []
    monkeypatch.setattr(os, "kill", lambda _process, each: sent.append(each))
    return sent


def clock(monkeypatch: pytest.MonkeyPatch, *times: float) -> None:
    left = list(times)
    monkeypatch.setattr(time, "monotonic", lambda: left.pop(0))


def gate(folder: Path) -> list[int]:
    return [int(word) for word in (folder / shell.GATE).read_text().split()]


def test_the_gate_opens_as_wall_time_passes_and_a_guest_that_waits_is_stopped(
    tmp_path: Path, signals: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 0.0, 1.0, 1.02, 1.03)
    found = shell.Gate(tmp_path, 2.0, had_s=lambda: 1.0, _looked=0.0)
    found.keep(active=False)
    assert gate(tmp_path) == [0, 24, 80]
    (tmp_path / shell.AT).write_text("5000000000 passes")
    found.keep(active=False)
    # It may have been late by a tenth of a second, and no more.
    assert gate(tmp_path)[0] == 4_800_000_000
    assert signals == [signal.SIGSTOP]
    (tmp_path / shell.AT).write_text("4810000000 passes")
    found.keep(active=False)
    assert gate(tmp_path)[0] == 4_840_000_000
    assert signals == [signal.SIGSTOP, signal.SIGCONT]
    found.keep(active=True)
    assert gate(tmp_path)[0] == 4_860_000_000


def test_at_a_gate_that_stays_closed_a_guest_goes_on_for_what_is_typed(
    tmp_path: Path, signals: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(monkeypatch, 1.0, 2.0, 2.01, 3.0)
    (tmp_path / shell.AT).write_text("5000000000 still")
    # Wall time does not matter: it is stopped once it has had time of its own after the last byte.
    found = shell.Gate(tmp_path, 1.0, had_s=iter((1.0, 2.0, 2.0, 2.0, 3.0)).__next__, _looked=0.0)
    for active in (False, True, False, False):
        found.keep(active=active)
    assert gate(tmp_path)[0] == 0
    assert signals == [signal.SIGSTOP, signal.SIGCONT, signal.SIGSTOP]


def test_a_file_that_is_half_written_says_nothing(tmp_path: Path, signals: list[signal.Signals]) -> None:
    found = shell.Gate(tmp_path, 1.0)
    for text in ("", "50", "x still"):
        (tmp_path / shell.AT).write_text(text)
        found.keep(active=False)
    assert gate(tmp_path)[0] == 0
    assert signals == []


def test_what_a_command_prints_is_passed_on_once_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    tail = shell.Tail(tmp_path / "out", out)
    tail.pass_on()
    for text in (b"one", b"onetwo", b"onetwo"):
        (tmp_path / "out").write_bytes(text)
        tail.pass_on()
    assert out.getvalue() == b"onetwo"
    monkeypatch.setattr(shell, "LARGEST", 5)
    with pytest.raises(RunFailed, match="printed more than"):
        tail.pass_on()


def test_a_command_without_a_terminal_gets_all_of_its_input(tmp_path: Path) -> None:
    lines = ("from pathlib import Path", "from tailback.backends.linux import shell as it")
    code = "; ".join((*lines, "it.write_input(it.Wanted('a'), Path())"))
    subprocess.run([sys.executable, "-c", code], input=b"\x00typed", check=True, cwd=tmp_path)
    assert (tmp_path / shell.INPUT).read_bytes() == b"\x00typed"
