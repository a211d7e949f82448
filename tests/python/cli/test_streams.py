"""Narrow and dumb terminals, and closed pipes: no traceback, and escapes only where they are supported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLI = [sys.executable, "-c", "from tailback.cli import main; main()"]


def on_terminal(words: list[str], columns: int, **environment: str) -> tuple[int, str]:
    """The status of a command and its output on its own terminal."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "TERM")}
    done = subprocess.Popen([*CLI, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=known | environment)
    os.close(theirs)
    said = b""
    # At its end a terminal raises EIO, where a pipe would return nothing.
    try:
        while piece := os.read(ours, 1 << 16):
            said += piece
    except OSError:
        pass
    os.close(ours)
    return done.wait(), said.decode()


def test_a_dumb_terminal_receives_no_escapes(file: Path) -> None:
    status, said = on_terminal(["run", str(file), "--set", "repeat=1"], 80, TERM="dumb")
    assert status == 0
    assert "\x1b" not in said
    assert "4 complete runs" in said


def test_a_terminal_of_twenty_columns_shows_the_progress(file: Path) -> None:
    status, said = on_terminal(["run", str(file), "--set", "repeat=1"], 20, TERM="xterm", COLUMNS="20")
    assert status == 0
    assert "Traceback" not in said
    assert "4 complete runs" in said


@pytest.mark.parametrize(
    "words", [["explain", "cubic"], ["list", "metric"], ["schema"], ["check", "FILE"], ["run", "FILE", "--json"]]
)
def test_a_closed_pipe_is_not_reported_as_a_defect(words: list[str], file: Path) -> None:
    given = [str(file) if word == "FILE" else word for word in words]
    reader, writer = os.pipe()
    # Closed before anything is written, as by `head -0`.
    os.close(reader)
    done = subprocess.run([*CLI, *given], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 1
