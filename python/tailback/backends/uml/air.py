"""The air of Wi-Fi cells: a process beside the guest, whose driver (`kernel/driver`) calls it over a socket.

It is the simulator's own code (`crates/air`, `crates/wifi`), and ends when the guest does. docs/kernel-wifi.md has the
protocol.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tailback.backends import RunFailed

SCENARIO, SOCKET, TABLE, MESSAGES = "scenario.json", "air", "wifi.arrow", "air.log"
"""Its files in the folder of the run. The driver knows the name of the socket."""

PATIENCE_S = 60.0
"""Wall time for its start and for its end."""


@contextlib.contextmanager
def beside(folder: Path, scenario: str, launcher: list[str]) -> Iterator[None]:
    """The air of `scenario` during the block; afterwards its table is in `folder`. Raises `RunFailed`.

    `launcher` begins the command; it must end the process with its parent.
    """
    (folder / SCENARIO).write_text(scenario, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (folder / MESSAGES).open("wb") as messages:
        command = [*launcher, sys.executable, "-c", f"from {__name__} import main; main()"]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
        )
    try:
        _wait_for_socket(process, folder)
        try:
            yield
        except RunFailed as failed:
            # The kernel panics when its air is gone, so the air is the cause if it has ended with an error.
            if process.poll():
                raise RunFailed(_why(folder)) from failed
            raise
        _wait_for_end(process, folder)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def read_air(folder: Path) -> dict[str, pa.Table]:
    """The table `wifi`, with a row for each PPDU."""
    return {"wifi": pa.ipc.open_stream((folder / TABLE).read_bytes()).read_all()}


def _wait_for_socket(process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (folder / SOCKET).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RunFailed(_why(folder))
        time.sleep(0.01)


def _wait_for_end(process: subprocess.Popen[bytes], folder: Path) -> None:
    try:
        status = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        status = 1
    if status:
        raise RunFailed(_why(folder))


def _why(folder: Path) -> str:
    messages = (folder / MESSAGES).read_text(encoding="utf-8", errors="replace").strip()
    last = messages.splitlines()[-1] if messages else "it was killed, or did not start"
    return f"the process with the air of the cells ended: {last}"


def main() -> None:
    """Serves the driver that connects to the socket in the current folder."""
    from tailback import _core

    table = _core.serve_air(Path(SCENARIO).read_text(encoding="utf-8"), SOCKET)
    Path(TABLE).write_bytes(table)
