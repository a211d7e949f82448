"""Runs a compiler on a module that others wrote, with limits on memory, CPU time and patience.

A source may include what has no end: `/dev/zero` takes all memory, and a FIFO keeps a compiler waiting for ever.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MEMORY_KB = 2_000_000
"""Address space of each process; compiling a control of Linux takes 0.3 GB."""
CPU_S = 60
PATIENCE_S = 180.0
"""How long a compiler may take; the longest takes seconds, and minutes on a machine that is busy."""

_LIMITED = """
(ulimit -v "$0") 2>/dev/null && ulimit -v "$0"
(ulimit -t "$1") 2>/dev/null && ulimit -t "$1"
shift
exec "$@"
"""
"""Where a limit that is there is lower, it stays."""


def compiling(
    command: Sequence[str], environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a compiler, or `make`; what it printed says so if a limit ended it."""
    words = ["sh", "-c", _LIMITED, str(MEMORY_KB), str(CPU_S), *command]
    with subprocess.Popen(
        words, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, told = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            _end(process)
            out, told = process.communicate()
            told += f"\nerror: it did not end within {PATIENCE_S:.0f} s: does it include what has no end?\n"
        finally:
            # Ctrl-C does not reach a session of its own, and the children of a compiler outlive it.
            if process.poll() is None:
                _end(process)
    return subprocess.CompletedProcess(words, process.returncode, out, told)


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
