"""The process of one run, in its own folder: starts, monitors and stops it.

The agent writes three files there: `progress` (ns of the run), and at the end `done`, or `failed` with the reason. The
process gets SIGKILL when the thread that started it ends, so nothing is left after a run. If the controller is killed,
the folder remains, until the next run on this machine removes it (`kernel/scratch.py`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tailback.backends.backend import RunCancelled, RunFailed
from tailback.kernel.scratch import scratch

LOOK_S = 0.05
"""Interval of checks of the process."""

CONSOLE_TAIL = 1200
"""Number of characters of the console in the message of a failure."""

Usage: TypeAlias = resource.struct_rusage


class Progress:
    """The progress of a run."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self._cancelled = threading.Event()
        self._notices: list[str] = []

    def cancel(self) -> None:
        """Cancels the run."""
        self._cancelled.set()

    def tell(self, notice: str) -> None:
        """Leaves a notice for the user."""
        self._notices.append(notice)

    def take_notices(self) -> list[str]:
        """The notices since the last call."""
        taken, self._notices = self._notices, []
        return taken

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled."""
        return self._cancelled.is_set()


@dataclass(frozen=True)
class Command:
    """The command to start in the folder."""

    words: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Watch:
    """How a process is monitored."""

    duration_ns: int
    progress: Progress
    stall_s: float
    """Time without progress after which the process counts as stuck."""
    stalled: Callable[[float], str]
    """The message in that case; the argument is the progress in seconds of the run."""
    look: Callable[[int], None] = lambda _process: None
    """Called with the process ID at each check."""
    clock: Callable[[], float] = time.monotonic
    """The time that counts."""


@contextlib.contextmanager
def run_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder for one run. Raises `RunFailed` if the disk is full or not writable."""
    try:
        with scratch(prefix, Path(tempfile.gettempdir())) as folder:
            yield folder
    except OSError as error:
        reason = error.strerror or str(error)
        hint = f"free some space, or point TMPDIR to a folder other than {tempfile.gettempdir()}"
        raise RunFailed(f"the folder of the run cannot be used: {reason}\n  hint: {hint}") from error


def place(agent: Path, folder: Path) -> None:
    """Copies the agent to `folder`, as `agent`. Raises `OSError`.

    A process of its own writes the copy: a child that another thread forks meanwhile would inherit a descriptor of
    ours, and nobody can execute the copy until that child has closed it (ETXTBSY). The mode is because wheels do not
    preserve file modes.
    """
    words = ["install", "-m", "755", str(agent), str(folder / "agent")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode:
        raise OSError(done.stderr.strip())


def run(command: Command, folder: Path, watch: Watch) -> tuple[int, Usage]:
    """Starts the process and waits until it ends; returns its status and its resource use."""
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(
            command.words,
            cwd=folder,
            env=command.environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return _watch(process, folder, watch)
    finally:
        end(process)


def cost(started: float, usage: Usage, duration_ns: int) -> dict[str, float]:
    """The cost of a run that began at `started` of the monotonic clock."""
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"wall_s": time.monotonic() - started, "cpu_s": cpu_s, "sim_s": duration_ns / 1e9}


def failure(folder: Path) -> str | None:
    """The error that the agent reported; `None` if it reported none."""
    with contextlib.suppress(OSError):
        return (folder / "failed").read_text(encoding="utf-8", errors="replace").strip() or None
    return None


def shown(console: str) -> str:
    """The console as part of a message."""
    return "\n".join(f"  | {line}" for line in console.splitlines())


def _watch(process: subprocess.Popen[bytes], folder: Path, watch: Watch) -> tuple[int, Usage]:
    moved, progress = watch.clock(), watch.progress
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if progress.cancelled:
            raise RunCancelled("cancelled")
        watch.look(process.pid)
        fraction = _fraction(folder, watch.duration_ns)
        if fraction > progress.fraction:
            progress.fraction, moved = fraction, watch.clock()
        elif watch.clock() - moved > watch.stall_s:
            raise RunFailed(watch.stalled(progress.fraction * watch.duration_ns / 1e9))
        time.sleep(LOOK_S)


def _fraction(folder: Path, duration_ns: int) -> float:
    try:
        text = (folder / "progress").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return min(int(text) / duration_ns, 1.0) if text.isdigit() else 0.0


def end(process: subprocess.Popen[bytes]) -> None:
    """Kills the process with its session, whatever its state."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait()
