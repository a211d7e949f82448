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
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from tailback import _core, columns
from tailback.backends.backend import RunFailed
from tailback.backends.linux.tables import RADIOS

SCENARIO, SOCKET, TABLE, DROPS, MESSAGES = "scenario.json", "air", "wifi.arrow", "drops.arrow", "air.log"
"""The files of the air in the folder of the run. The driver knows the name of the socket."""

PATIENCE_S = 600.0
"""Wall time for its start and for its end. A busy machine takes seconds; this long takes only what never comes."""

GONE = "the process with the air is gone"
"""What the kernel says when it finds its end of the socket closed: before the process itself has ended."""

UNREACHED = "connecting the radios"
"""What the agent says if nobody listens."""

PROGRAM = Path(__file__).with_name("air_process.py")
"""What it runs."""


@contextlib.contextmanager
def running(folder: Path, scenario: str, launcher: list[str]) -> Iterator[None]:
    """The air of `scenario` during the block; afterwards its table is in `folder`. Raises `RunFailed`.

    `launcher` begins the command; it must end the process with its parent.
    """
    (folder / SCENARIO).write_text(scenario, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with (folder / MESSAGES).open("wb") as messages:
        # `-P`: without the folder of the program, whose files have the names of libraries.
        command = [*launcher, sys.executable, "-P", str(PROGRAM), SCENARIO, SOCKET, TABLE, DROPS]
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages
        )
    try:
        _wait_for_socket(process, folder)
        try:
            yield
        except RunFailed as failed:
            # After anything else that ends a guest, an air that fails does so because its driver is gone.
            said = str(failed)
            status = _status(process) if GONE in said else process.poll() if UNREACHED in said else None
            if status:
                raise RunFailed(_why(folder)) from failed
            raise
        if _status(process) != 0:
            raise RunFailed(_why(folder))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def read_air(folder: Path, counted: pd.DataFrame | None) -> dict[str, _core.Table]:
    """The table `wifi`, with a row per PPDU, and `radios`: what mac80211 has `counted`, and what the air dropped."""
    wifi, drops = (_core.Table((folder / name).read_bytes()) for name in (TABLE, DROPS))
    each = [frame for frame in (counted, as_counters(drops)) if frame is not None and len(frame)]
    return {"wifi": wifi, **({"radios": columns.table(pd.concat(each), RADIOS)} if each else {})}


def as_counters(drops: _core.Table) -> pd.DataFrame:
    """Single drops in the form of `radios`, whose last column counts since the start."""
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    times = np.frombuffer(drops.numbers("t"), dtype=np.float64).tolist()
    for t, where, reason in zip(times, _words(drops, "where"), _words(drops, "reason"), strict=True):
        seen[where, reason] += 1
        rows.append((t, where, "drop", reason, seen[where, reason]))
    return pd.DataFrame(rows, columns=list(RADIOS))


def _words(table: _core.Table, name: str) -> list[str]:
    places, known = table.words(name)
    return [known[place] for place in np.frombuffer(places, dtype=np.int64).tolist()]


def _wait_for_socket(process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not (folder / SOCKET).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RunFailed(_why(folder))
        time.sleep(0.01)


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """How it ended; `None` if it does not end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(PATIENCE_S)
    return None


def _why(folder: Path) -> str:
    messages = (folder / MESSAGES).read_text(encoding="utf-8", errors="replace").strip()
    last = messages.splitlines()[-1] if messages else "it was killed, or did not start"
    return f"the process with the air of the cells ended: {last}"
