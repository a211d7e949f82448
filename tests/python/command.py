"""Runs the command line without a new process, which would spend most of its time on loading pandas. Behaviour of
processes (signals, failing streams, imports) is tested with a process, and so is each command once.
"""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from unittest import mock

from tailback.cli.app import main


def in_process(*words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `tailback WORDS` in this process and checks its exit status."""
    command = ["tailback", *map(str, words)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = _status()
    done = subprocess.CompletedProcess(command, ended, *(_written(stream) for stream in (out, err)))
    assert done.returncode == status, done.stderr
    return done


def _status() -> int:
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
