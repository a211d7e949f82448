"""One instance of the kernel: starts it on its own processor, monitors and stops it.

It runs in its own folder and can write nowhere else. Everything that could affect results is the same in all runs: the
command line, the environment, the addresses (`crates/agent/src/launch.rs`).

Guest processes end with the instance; `linux/process.py` monitors and stops it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tailback.backends.backend import RunFailed
from tailback.backends.linux import process
from tailback.backends.linux.own_modules import Own
from tailback.backends.linux.process import Progress
from tailback.backends.uml import air
from tailback.backends.uml.lookout import PROGRAM_S, Lookout

MEMORY = "2G"
"""Memory of the guest: a sparse file, of which 60 to 80 MB are used. TCP's buffer limits depend on it."""

START_NS = 1_700_000_000_000_000_000
SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 512 << 20
"""Free space below which shared memory is not used; containers often have only 64 MB."""


class Processors:
    """Assigns processors of this machine to instances; the one with the fewest instances first.

    Each process starts with a different processor, because the assignments of other processes are unknown.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        there = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(there)
        self._busy = dict.fromkeys(there[first:] + there[:first], 0)

    @contextlib.contextmanager
    def one(self) -> Iterator[int]:
        """Assigns a processor during the block."""
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
    """Time of its own (`own_time.py`) without progress of virtual time after which an instance counts as stuck."""
    program_s: float = PROGRAM_S
    """The same, if a program of the user keeps it from passing."""
    processors: Processors = field(default_factory=Processors)


@dataclass(frozen=True)
class Order:
    """A job for an instance."""

    job: str
    seed: int
    duration_ns: int
    file: str = "job.json"
    """The file for the agent, whose name determines the kind of job."""
    modules: Sequence[Path] = ()
    """Files of modules that the job loads."""
    owns: Mapping[str, Own] = field(default_factory=dict)
    """What the user calls them, by their names in the kernel."""
    air: str | None = None
    """The resolved scenario, if it has Wi-Fi cells."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files for its folder, by name."""
    has_programs: bool = False
    clock_ns: int = START_NS
    """What CLOCK_REALTIME shows at boot."""
    console: Sequence[str] = ("con1=null",)
    """Further consoles."""
    boot: Sequence[str] = ()
    """More of the command line of the kernel."""


@contextlib.contextmanager
def finished(machine: Machine, order: Order, progress: Progress) -> Iterator[tuple[Path, dict[str, float]]]:
    """Executes `order`; yields the folder with the results, and the cost.

    Raises `RunFailed` or `RunCancelled`; no process remains in any case.
    """
    with process.run_folder("tailback-uml-") as folder:
        write_inputs(folder, machine, order)
        with machine.processors.one() as processor, air_of(folder, machine, processor, order):
            cost = _run_guest(folder, machine, processor, progress, order)
        yield folder, cost


def air_of(folder: Path, machine: Machine, processor: int, order: Order) -> contextlib.AbstractContextManager[None]:
    """The air beside the guest, on its processor: one of the two always waits for the other."""
    if order.air is None:
        return contextlib.nullcontext()
    return air.running(folder, order.air, [str(machine.agent), "launch", str(processor)])


def write_inputs(folder: Path, machine: Machine, order: Order) -> None:
    """Writes what the agent and the guest need into the folder of the run."""
    (folder / order.file).write_text(order.job, encoding="utf-8")
    # The same short names in every run, because the guest can see them.
    (folder / "linux").symlink_to(machine.kernel)
    process.place(machine.agent, folder)
    for name, content in order.files.items():
        (folder / name).write_bytes(content)
    for module in order.modules:
        shutil.copyfile(module, folder / module.name)


def command_of(machine: Machine, processor: int, order: Order) -> process.Command:
    """What starts the guest."""
    return process.Command(_words(machine, processor, order), _environment())


def _words(machine: Machine, processor: int, order: Order) -> list[str]:
    guest = [
        "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"mem={MEMORY}",
        "time-travel=inf-cpu", f"time-travel-start={order.clock_ns}", f"tailback_seed={order.seed}",
        "init=/proc/self/cwd/agent",
        # Hosts without IPv6 addresses would otherwise send packets to find some. Programs may make network namespaces,
        # in which they expect it; the agent turns it off in those of the hosts.
        *(() if order.has_programs else ("ipv6.disable_ipv6=1",)),
        "con=null", "con0=null,fd:1", *order.console, "loglevel=4", "panic=1", "noreboot",
        *order.boot,
    ]  # fmt: skip
    # The agent's original, not a copy: another thread that forks may still have a new copy open for writing (ETXTBSY).
    return [str(machine.agent), "launch", str(processor), "./linux", *guest]


def _environment() -> dict[str, str]:
    """A minimal environment, the same for all runs; TMPDIR is the place of the guest's memory."""
    memory = "."
    with contextlib.suppress(OSError):
        if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES:
            memory = str(SHARED_MEMORY)
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": ".", "TMPDIR": memory}


def _run_guest(folder: Path, machine: Machine, processor: int, progress: Progress, order: Order) -> dict[str, float]:
    def stalled(passed_s: float) -> str:
        hint = "a process in the guest never becomes idle: try fewer flows, a lower rate or a shorter run"
        still = f"virtual time has not moved for {machine.stall_s:g} s of the guest's own time"
        return f"{still}, after {passed_s:.1f} s of the run\n  hint: {hint}"

    started = time.monotonic()
    command = command_of(machine, processor, order)
    lookout = Lookout.of(folder, order.owns, progress, order.duration_ns)
    if order.has_programs:
        lookout = lookout.with_programs(folder, machine.program_s)
    watch = process.Watch(order.duration_ns, progress, machine.stall_s, stalled, lookout.look, lookout.clock)
    status, usage = process.run(command, folder, watch)
    _judge(folder, status, lookout)
    progress.fraction = 1.0
    return process.cost(started, usage, order.duration_ns)


def _judge(folder: Path, status: int, lookout: Lookout) -> None:
    """Raises `RunFailed` unless the agent has left its mark and no module has failed."""
    lookout.console.look()
    if (folder / "done").exists():
        return
    failure = process.failure(folder)
    if failure is not None:
        raise RunFailed(f"in the guest: {failure}")
    console = _console(folder)
    start = max(console.find("Kernel panic"), 0)
    blamed = lookout.console.where(console[start:])
    whose = f"the congestion control failed: {blamed}: " if blamed else ""
    raise RunFailed(whose + ending(folder, status))


def ending(folder: Path, status: int) -> str:
    """How a guest has ended that did not end well, with the end of its console."""
    console = _console(folder)
    return f"{_ending(console, status)}\n{_tail(console)}"


def _console(folder: Path) -> str:
    return (folder / "console").read_text(encoding="utf-8", errors="replace")


def _ending(console: str, status: int) -> str:
    panic = next((line for line in console.splitlines() if "Kernel panic" in line), None)
    if panic is not None:
        return f"the kernel panicked: {panic.strip()}"
    if status < 0:
        return f"the kernel was killed by {signal.Signals(-status).name}"
    return f"the kernel ended with status {status} before the run did"


def _tail(console: str) -> str:
    """The last lines of the console, beginning with the first sign of a panic if there is one."""
    start = console.find("Kernel panic")
    return process.shown(console[start:][: process.CONSOLE_TAIL] if start >= 0 else console[-process.CONSOLE_TAIL :])
