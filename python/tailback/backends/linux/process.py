"""The process of one run, in a folder of its own: starts, watches and stops it.

The agent leaves three files there: `progress` (ns of the run), at the end `done` or `failed` with the reason. The
process ends with whoever started it: SIGKILL reaches it when the thread that started it dies. Nothing of it is left
after a run, however that ends; of a run whose controller was killed the folder stays, until a next run on this machine
takes it away (`kernel/scratch.py`).
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tailback.backends import RunCancelled, RunFailed
from tailback.kernel.scratch import scratch

LOOK_S = 0.05
"""Between two looks at a process."""

CONSOLE_TAIL = 1200
"""Characters of the console that a failure shows."""

Usage: TypeAlias = resource.struct_rusage


class Progress:
    """How far a run is; anyone may cancel it."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Asks for an early end."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether that was asked."""
        return self._cancelled.is_set()


@dataclass(frozen=True)
class Command:
    """The command that is started in the folder."""

    words: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Watch:
    """How a process is monitored."""

    duration_ns: int
    progress: Progress
    stall_s: float
    """Wall time without any progress after which it counts as stuck."""
    stalled: Callable[[float], str]
    """What to say then; the argument is how many seconds of the run had passed."""
    look: Callable[[int], None] = lambda _process: None
    """Called with the number of the process at each look."""


@contextlib.contextmanager
def run_folder(prefix: str) -> Iterator[Path]:
    """A folder for one run, for the length of the block; a disk that is full or cannot be written is `RunFailed`."""
    try:
        with scratch(prefix, Path(tempfile.gettempdir())) as folder:
            yield folder
    except OSError as error:
        reason = error.strerror or str(error)
        hint = f"free some space, or point TMPDIR to a folder other than {tempfile.gettempdir()}"
        raise RunFailed(f"the folder of the run cannot be used: {reason}\n  hint: {hint}") from error


def place(agent: Path, folder: Path) -> None:
    """Puts the agent into `folder`, as `agent`."""
    shutil.copyfile(agent, folder / "agent")
    # A wheel need not keep the mode of what it carries.
    (folder / "agent").chmod(0o755)


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
        _end(process)


def cost(started: float, usage: Usage, duration_ns: int) -> dict[str, float]:
    """The cost of a run that began when the monotonic clock showed `started`."""
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"wall_s": time.monotonic() - started, "cpu_s": cpu_s, "sim_s": duration_ns / 1e9}


def failure(folder: Path) -> str | None:
    """The error that the agent reported; `None` if it reported none."""
    with contextlib.suppress(OSError):
        return (folder / "failed").read_text(encoding="utf-8", errors="replace").strip() or None
    return None


def shown(console: str) -> str:
    """Lines of the console, as part of a message."""
    return "\n".join(f"  | {line}" for line in console.splitlines())


def _watch(process: subprocess.Popen[bytes], folder: Path, watch: Watch) -> tuple[int, Usage]:
    moved, progress = time.monotonic(), watch.progress
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
            progress.fraction, moved = fraction, time.monotonic()
        elif time.monotonic() - moved > watch.stall_s:
            raise RunFailed(watch.stalled(progress.fraction * watch.duration_ns / 1e9))
        time.sleep(LOOK_S)


def _fraction(folder: Path, duration_ns: int) -> float:
    try:
        text = (folder / "progress").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return min(int(text) / duration_ns, 1.0) if text.isdigit() else 0.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left afterwards, whatever state it was in."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait()
