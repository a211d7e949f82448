"""One instance of the kernel: starts it on its own processor, watches and stops it.

It runs in a folder of its own, which is all it can write to. Whatever could make one run differ from the next is the
same in all: the command line, the environment, the addresses (`crates/agent/src/launch.rs`).

Its guest processes end when it does; how it is watched and stopped is in `linux/process.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailback.backends import RunFailed
from tailback.backends.linux import process
from tailback.backends.linux.process import Progress

MEMORY = "2G"
"""Of the guest; a file of holes, 60 to 80 MB of which are filled. Buffers of TCP depend on it."""

START_NS = 1_700_000_000_000_000_000
SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 512 << 20
"""Free space below which the shared memory is not used: a container often has 64 MB of it."""


class Processors:
    """The processors of this machine, lent one at a time; the one with the fewest instances first.

    Another process begins with another one, for what it has lent is not known here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        there = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(there)
        self._busy = dict.fromkeys(there[first:] + there[:first], 0)

    @contextlib.contextmanager
    def one(self) -> Iterator[int]:
        """A processor, for the length of the block."""
        with self._lock:
            processor = min(self._busy, key=lambda each: self._busy[each])
            self._busy[processor] += 1
        try:
            yield processor
        finally:
            with self._lock:
                self._busy[processor] -= 1


@dataclass(frozen=True)
class Machine:
    """The parts of an instance."""

    kernel: Path
    agent: Path
    stall_s: float = 600.0
    """Wall time without any progress of virtual time after which an instance counts as stuck."""
    processors: Processors = field(default_factory=Processors)


@dataclass(frozen=True)
class Order:
    """One run of an instance."""

    job: str
    seed: int
    duration_ns: int
    file: str = "job.json"
    """Where the agent finds it: the name says what kind of job it is."""


@contextlib.contextmanager
def finished(machine: Machine, order: Order, progress: Progress) -> Iterator[tuple[Path, dict[str, float]]]:
    """Executes `order`; yields the folder with the results, and the cost.

    Raises `RunFailed` or `RunCancelled`; nothing is left running in any case.
    """
    with process.run_folder("tailback-uml-") as folder:
        _furnish(folder, machine, order)
        with machine.processors.one() as processor:
            cost = _run_guest(folder, machine, processor, progress, order)
        yield folder, cost


def _furnish(folder: Path, machine: Machine, order: Order) -> None:
    (folder / order.file).write_text(order.job, encoding="utf-8")
    # By the same short names in every run, for the guest sees them.
    (folder / "linux").symlink_to(machine.kernel)
    process.place(machine.agent, folder)


def _command(machine: Machine, processor: int, seed: int) -> list[str]:
    guest = [
        "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"mem={MEMORY}",
        "time-travel=inf-cpu", f"time-travel-start={START_NS}", f"tailback_seed={seed}", "init=/proc/self/cwd/agent",
        "con=null", "con0=null,fd:1", "con1=null", "loglevel=4", "panic=1", "noreboot",
    ]  # fmt: skip
    # From its own place: while another thread starts a process, a copy just written may still be open there (ETXTBSY).
    return [str(machine.agent), "launch", str(processor), "./linux", *guest]


def _environment() -> dict[str, str]:
    """The same for all, and no longer than it must be; the memory of the guest lies in TMPDIR."""
    memory = "."
    with contextlib.suppress(OSError):
        if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES:
            memory = str(SHARED_MEMORY)
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": ".", "TMPDIR": memory}


def _run_guest(folder: Path, machine: Machine, processor: int, progress: Progress, order: Order) -> dict[str, float]:
    def stalled(passed_s: float) -> str:
        hint = "a process in the guest never becomes idle: try fewer flows, a lower rate or a shorter run"
        still = f"virtual time has not moved for {machine.stall_s:g} s of wall time"
        return f"{still}, after {passed_s:.1f} s of the run\n  hint: {hint}"

    started = time.monotonic()
    command = process.Command(_command(machine, processor, order.seed), _environment())
    watch = process.Watch(order.duration_ns, progress, machine.stall_s, stalled)
    status, usage = process.run(command, folder, watch)
    _judge(folder, status)
    progress.fraction = 1.0
    return process.cost(started, usage, order.duration_ns)


def _judge(folder: Path, status: int) -> None:
    """Raises `RunFailed` unless the agent has left its mark."""
    if (folder / "done").exists():
        return
    said = process.failure(folder)
    if said is not None:
        raise RunFailed(f"in the guest: {said}")
    console = (folder / "console").read_text(encoding="utf-8", errors="replace")
    raise RunFailed(f"{_ending(console, status)}\n{_tail(console)}")


def _ending(console: str, status: int) -> str:
    panic = next((line for line in console.splitlines() if "Kernel panic" in line), None)
    if panic is not None:
        return f"the kernel panicked: {panic.strip()}"
    if status < 0:
        return f"the kernel was killed by {signal.Signals(-status).name}"
    return f"the kernel ended with status {status} before the run did"


def _tail(console: str) -> str:
    """The last lines of the console, where the first sign of a panic stands at the latest."""
    start = console.find("Kernel panic")
    return process.shown(console[start:][: process.CONSOLE_TAIL] if start >= 0 else console[-process.CONSOLE_TAIL :])
