"""One instance of the kernel: started on a processor of its own, watched, and stopped.

It runs in a folder of its own, which is all it can write to. Whatever could make one run differ from the next is the
same in all: the command line, the environment, the addresses (`crates/agent/src/launch.rs`).

It ends with whoever started it: SIGKILL reaches it when the thread that started it dies, and its guest processes when
it does.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tailback.backends import RunCancelled, RunFailed
from tailback.kernel.scratch import scratch

MEMORY = "2G"
"""Of the guest; a file of holes, 60 to 80 MB of which are filled. Buffers of TCP depend on it."""

START_NS = 1_700_000_000_000_000_000
LOOK_S = 0.05
"""Between two looks at an instance."""

SHARED_MEMORY = Path("/dev/shm")
ROOM_BYTES = 512 << 20
"""Free space below which the shared memory is not used: a container often has 64 MB of it."""

CONSOLE_TAIL = 1200
"""Characters of the console that a failure shows."""


class Progress:
    """How far an instance is; anyone may cancel it."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Asks for an early end."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether that was asked."""
        return self._cancelled.is_set()


class Processors:
    """The processors of this machine, lent one at a time; the one with the fewest instances first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = dict.fromkeys(sorted(os.sched_getaffinity(0)), 0)

    @contextlib.contextmanager
    def one(self) -> Iterator[int]:
        """A processor, for the length of the block."""
        with self._lock:
            processor = min(self._busy, key=lambda each: (self._busy[each], each))
            self._busy[processor] += 1
        try:
            yield processor
        finally:
            with self._lock:
                self._busy[processor] -= 1


@dataclass(frozen=True)
class Machine:
    """What an instance is made from."""

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


@contextlib.contextmanager
def finished(machine: Machine, order: Order, progress: Progress) -> Iterator[tuple[Path, dict[str, float]]]:
    """Carries `order` out; the folder it has filled, for the length of the block, and what it cost.

    Raises `RunFailed` or `RunCancelled`; nothing is left running in any case.
    """
    try:
        with scratch("tailback-uml-", Path(tempfile.gettempdir())) as folder:
            _furnish(folder, machine, order)
            with machine.processors.one() as processor:
                cost = _carry_out(folder, machine, processor, progress, order)
            yield folder, cost
    except OSError as error:
        reason = error.strerror or str(error)
        hint = f"free some space, or point TMPDIR to a folder other than {tempfile.gettempdir()}"
        raise RunFailed(f"the folder of the run cannot be used: {reason}\n  hint: {hint}") from error


def _furnish(folder: Path, machine: Machine, order: Order) -> None:
    (folder / "job.json").write_text(order.job, encoding="utf-8")
    # By the same short names in every run, for the guest sees them.
    (folder / "linux").symlink_to(machine.kernel)
    shutil.copyfile(machine.agent, folder / "agent")
    # A wheel need not keep the mode of what it carries.
    (folder / "agent").chmod(0o755)


def _command(processor: int, seed: int) -> list[str]:
    guest = [
        "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"mem={MEMORY}",
        "time-travel=inf-cpu", f"time-travel-start={START_NS}", f"tailback_seed={seed}", "init=/proc/self/cwd/agent",
        "con=null", "con0=null,fd:1", "con1=null", "loglevel=4", "panic=1", "noreboot",
    ]  # fmt: skip
    return ["./agent", "launch", str(processor), "./linux", *guest]


def _environment() -> dict[str, str]:
    """The same for all, and no longer than it must be; the memory of the guest lies in TMPDIR."""
    memory = "."
    with contextlib.suppress(OSError):
        if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= ROOM_BYTES:
            memory = str(SHARED_MEMORY)
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": ".", "TMPDIR": memory}


def _carry_out(folder: Path, machine: Machine, processor: int, progress: Progress, order: Order) -> dict[str, float]:
    started = time.monotonic()
    with (folder / "console").open("wb") as console:
        process = subprocess.Popen(
            _command(processor, order.seed),
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        status, usage = _watch(process, folder, machine, progress, order.duration_ns)
    finally:
        _end(process)
    _judge(folder, status)
    progress.fraction = 1.0
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"wall_s": time.monotonic() - started, "cpu_s": cpu_s, "sim_s": order.duration_ns / 1e9}


def _watch(
    process: subprocess.Popen[bytes], folder: Path, machine: Machine, progress: Progress, duration_ns: int
) -> tuple[int, resource.struct_rusage]:
    """Until it ends by itself; its status and what it used."""
    moved = time.monotonic()
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if progress.cancelled:
            raise RunCancelled("cancelled")
        fraction = _fraction(folder, duration_ns)
        if fraction > progress.fraction:
            progress.fraction, moved = fraction, time.monotonic()
        elif time.monotonic() - moved > machine.stall_s:
            seconds = progress.fraction * duration_ns / 1e9
            hint = "something in the guest is busy for ever: fewer flows, a lower rate, a shorter run"
            raise RunFailed(
                f"virtual time has not moved for {machine.stall_s:g} s of wall time, after {seconds:.1f} s of the run\n"
                f"  hint: {hint}"
            )
        time.sleep(LOOK_S)


def _fraction(folder: Path, duration_ns: int) -> float:
    try:
        text = (folder / "progress").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return min(int(text) / duration_ns, 1.0) if text.isdigit() else 0.0


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of it is left afterwards, whatever state it was in."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait()


def _judge(folder: Path, status: int) -> None:
    """Raises `RunFailed` unless the agent has left its mark."""
    if (folder / "done").exists():
        return
    with contextlib.suppress(OSError):
        said = (folder / "failed").read_text(encoding="utf-8", errors="replace").strip()
        if said:
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
    shown = console[start : start + CONSOLE_TAIL] if start >= 0 else console[-CONSOLE_TAIL:]
    return "\n".join(f"  | {line}" for line in shown.splitlines())
