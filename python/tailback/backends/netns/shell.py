"""A shell on a host in namespaces of this machine, in real time. Its terminal is one of this machine."""

import os
import subprocess
from pathlib import Path

from tailback.backends.backend import Unsuitable
from tailback.backends.linux import process
from tailback.backends.linux import shell as linux


def run(folder: Path, command: process.Command, wanted: linux.Wanted) -> int:
    """Runs the agent in `folder` and returns the status of its shell; raises `RunFailed`."""
    if wanted.still or wanted.speed != 1.0:
        what = "the time of `netns` is that of this machine, which neither stands still nor passes faster"
        raise Unsuitable(f"{what}\n  hint: remove --still and --speed, or use --backend uml")
    linux.write_input(wanted, folder)
    running = _on_terminal(folder, command) if wanted.terminal else _followed(folder, command)
    if running is None:
        return linux.LEFT
    said = (folder / "console").read_text(encoding="utf-8", errors="replace")[-process.CONSOLE_TAIL :]
    ending = f"the agent ended with status {running.returncode} before the shell did\n{process.shown(said)}"
    return linux.status_in(folder, "in the namespaces", lambda: ending)


def _followed(folder: Path, command: process.Command) -> subprocess.Popen[bytes]:
    running = linux.start(command, folder, subprocess.DEVNULL)
    try:
        linux.follow(running, folder)
    finally:
        process.end(running)
    return running


def _on_terminal(folder: Path, command: process.Command) -> subprocess.Popen[bytes] | None:
    """The process of a shell that has ended; `None` if the user has left it."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    size = linux.size_of_terminal()
    termios.tcsetwinsize(ours, size[::-1])
    running = linux.start(command, folder, theirs)
    os.close(theirs)

    def keep(_active: bool) -> None:  # noqa: FBT001
        nonlocal size
        now = linux.size_of_terminal()
        if now != size:
            termios.tcsetwinsize(ours, now[::-1])
            size = now

    try:
        ended = linux.converse(running, (ours, ours), keep)
    finally:
        process.end(running)
        os.close(ours)
    return running if ended else None
