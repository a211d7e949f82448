"""The memory that one run may use on this machine, so that a run that needs more fails alone.

The simulator counts the memory of a run and aborts it at its limit. At the end of a run its tables exist several times:
as rows, as Arrow, some columns as arrays, as Parquet.
"""

import resource
from pathlib import Path

from tailback.backends import Backend, Bounded

COPIES = 5
"""Peak memory of a run in units of its rows; 3.8 was measured for pings and for sockets, with all columns as arrays."""

SHARE = 0.8
"""The fraction of the available memory that runs may use."""

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
STATM = Path("/proc/self/statm")

UNKNOWN = 4 * 10**9
"""Available bytes to assume if the machine does not report them."""


def room(jobs: int) -> int:
    """Bytes that the rows and packets of each of `jobs` parallel runs may use."""
    return int(available() * SHARE / jobs / COPIES)


def within(backend: Backend, jobs: int) -> Backend:
    """`backend` with a memory limit for each run, if it supports one."""
    return backend.with_memory(room(jobs)) if isinstance(backend, Bounded) else backend


def available() -> int:
    """Available bytes: the minimum of the machine, the control group and the address space limit."""
    known = [found for found in (_of_machine(), _of_group(), _of_addresses()) if found is not None]
    return max(0, min(known, default=UNKNOWN))


def _of_machine() -> int | None:
    """Memory available without swapping. [proc_meminfo(5) MemAvailable]"""
    try:
        lines = MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _of_group() -> int | None:
    """Memory left in the control group.

    [linux-6.12 Documentation/admin-guide/cgroup-v2.rst memory.max, memory.current]
    """
    try:
        limit = (CGROUP / "memory.max").read_text(encoding="ascii").strip()
        taken = (CGROUP / "memory.current").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(limit) - int(taken) if limit.isdecimal() and taken.isdecimal() else None


def _of_addresses() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(STATM.read_text(encoding="ascii").split()[0])
    except OSError:
        return limit
    return limit - pages * resource.getpagesize()
