"""A lab as a user starts it, for tests."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TEXT = """\
title: a short line
let: {buffer: 50}
links:
  - {ends: [client, router], rate: 100mbit, delay: 5ms}
  - {ends: [router, server], rate: 100mbit, delay: 5ms}
qdiscs:
  router -> server: htb rate 10mbit | pfifo limit ${buffer}
traffic:
  - {tcp: client -> server, name: upload, flows: 2}
  - {ping: client -> server, interval: 100ms}
duration: 4s
measure: {warmup: 1s}
vary:
  cc: [cubic, reno]
  buffer: [50, 100]
"""


@dataclass(frozen=True)
class Served:
    """A lab that answers."""

    address: str
    process: "subprocess.Popen[str]"

    @property
    def port(self) -> int:
        """The port that it has."""
        return int(self.address.split(":")[2].split("/")[0])


@contextlib.contextmanager
def served(folder: Path, *words: str) -> Iterator[Served]:
    """Starts a lab in a folder and ends it."""
    command = [sys.executable, "-m", "tailback", "lab", *words, "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Served(process.stdout.readline().strip(), process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
