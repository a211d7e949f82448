"""The time that a run had to get on with: what a run that stands still is judged by.

Wall time would say that a run stands still which only gets no processor: on a machine with other work, or on a cluster.
So that counts which the run used of a processor, and the wall time in which nothing of it wanted one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

EVERY_S = 0.5
"""Wall time between two looks, which read a file per process of the machine."""

WANTING = frozenset("RD")
"""States of a process that would run if it could: runnable, and waiting for a disk. [proc(5)]"""

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """What the processes of a run have used of processors, and whether one of them wants to run."""

    cpu_s: float
    wants: bool


@dataclass
class OwnTime:
    """The seconds that a run had to get on with, since the first call."""

    folder: Path
    """Its folder, in which all of its processes work: the kernel, its processes, and the air."""
    _total_s: float = 0.0
    _looked: float = field(default_factory=time.monotonic)
    _before: Used | None = None

    def __call__(self) -> float:
        """The sum until now; it is as old as the last look."""
        now = time.monotonic()
        if self._before is None or now - self._looked >= EVERY_S:
            used = used_by(self.folder)
            if self._before is not None:
                self._total_s += had(self._before, used, now - self._looked)
            self._looked, self._before = now, used
        return self._total_s


def had(before: Used, now: Used, wall_s: float) -> float:
    """The time that a run had between two looks."""
    cpu_s = now.cpu_s - before.cpu_s
    if cpu_s >= TICK_S:
        return cpu_s
    return 0.0 if before.wants or now.wants else wall_s


def used_by(folder: Path) -> Used:
    """What the processes that work in a folder have used."""
    found = [_state_and_cpu_s(process) for process in working_in(folder.resolve())]
    return Used(sum(cpu_s for _, cpu_s in found), any(state in WANTING for state, _ in found))


def cpu_s_of(process: int) -> float:
    """The CPU time of a process; 0 if it is gone."""
    return _state_and_cpu_s(process)[1]


def working_in(folder: Path) -> Iterator[int]:
    """The processes of this machine that work in a folder."""
    for process in Path("/proc").iterdir():
        # Processes end meanwhile, and others belong to somebody else.
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "cwd").readlink() == folder:
                yield int(process.name)


def _state_and_cpu_s(process: int) -> tuple[str, float]:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "X", 0.0
    fields = text.rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) * TICK_S
