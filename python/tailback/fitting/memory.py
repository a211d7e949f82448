"""The memory that one run may use on this machine, so that a run that needs more fails alone.

The simulator counts what a run holds and gives it up at its limit. Tables are held several times over when a run ends:
as rows, as Arrow, as frames that are summarised, as Parquet.
"""

import resource
from pathlib import Path

from tailback.backends import Backend, Bounded

COPIES = 5
"""Of its rows at the peak of a run: 3.8 were measured, of pings and of sockets."""

SHARE = 0.8
"""Of what is free, for runs; the rest is for what changes meanwhile."""

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
STATM = Path("/proc/self/statm")

UNKNOWN = 4 * 10**9
"""Bytes where the machine does not say what is free."""


def room(jobs: int) -> int:
    """Bytes that the rows and packets of each of `jobs` runs at a time may take."""
    return int(available() * SHARE / jobs / COPIES)


def within(backend: Backend, jobs: int) -> Backend:
    """`backend`, with a limit for each of its runs if it knows any."""
    return backend.with_memory(room(jobs)) if isinstance(backend, Bounded) else backend


def available() -> int:
    """Bytes that this process may still take: of the machine, of its control group, of its limit of addresses."""
    known = [found for found in (_of_machine(), _of_group(), _of_addresses()) if found is not None]
    return max(0, min(known, default=UNKNOWN))


def _of_machine() -> int | None:
    """What can be given out without swapping. [proc_meminfo(5) MemAvailable]"""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _of_group() -> int | None:
    """[linux-6.12 Documentation/admin-guide/cgroup-v2.rst memory.max, memory.current]"""
    try:
        most = (CGROUP / "memory.max").read_text(encoding="ascii").strip()
        taken = (CGROUP / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(most) - int(taken) if most.isdecimal() and taken.isdecimal() else None


def _of_addresses() -> int | None:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(STATM.read_text(encoding="ascii").split()[0])
    except OSError:
        return most
    return most - pages * resource.getpagesize()
