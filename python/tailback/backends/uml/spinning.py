"""Which program of a guest keeps its virtual time from passing: one that computes, or asks again and again without ever
waiting (`sched_yield`).

Each process of a guest is a process of this machine, which says how much it has computed. Which program it is stands in
its environment, at the top of its memory: HOME is the folder of the program (`linux/programs.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tailback.backends.uml.own_time import cpu_s_of, working_in

HOME = re.compile(rb"\0HOME=/tmp/([A-Za-z][A-Za-z0-9_.-]*)\0")
BUSIEST = 3
"""Processes that may keep time from passing together: the kernel, what it catches, and the program."""
LOOKED_AT = 500
TOP = 256 << 10
"""Bytes at the end of a stack in which an environment is looked for."""


def used(folder: Path) -> dict[int, float]:
    """The CPU seconds of each process of an instance."""
    return {process: cpu_s_of(process) for process in working_in(folder.resolve())}


def programs(before: Mapping[int, float], now: Mapping[int, float]) -> list[str]:
    """The program that has computed most between two looks. A process that another one has forked may not have looked
    at its environment, which is then not in its memory: in place of its program, all that are there.
    """
    spent = {process: seconds - before.get(process, 0.0) for process, seconds in now.items()}
    most = sorted(spent, key=lambda each: -spent[each])
    for process in most[:BUSIEST]:
        name = program_of(process) if spent[process] > 0 else None
        if name is not None:
            return [name]
    return sorted({name for process in most[:LOOKED_AT] if (name := program_of(process)) is not None})


def program_of(process: int) -> str | None:
    """The program whose environment a process has."""
    try:
        maps = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="replace")
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            found = (_in_range(memory.fileno(), *each) for each in reversed(_ranges(maps)))
            return next((name for name in found if name is not None), None)
    except OSError:
        # It has ended, or may not be read.
        return None


def _ranges(maps: str) -> list[tuple[int, int]]:
    """The memory that can be written, in ranges without gaps: a guest maps each page by itself."""
    found: list[tuple[int, int]] = []
    for line in maps.splitlines():
        words = line.split()
        if len(words) < 2 or not words[1].startswith("rw"):
            continue
        start, end = (int(word, 16) for word in words[0].split("-"))
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _in_range(memory: int, start: int, end: int) -> str | None:
    try:
        found = HOME.search(os.pread(memory, min(end - start, TOP), max(start, end - TOP)))
    except OSError:
        return None
    return None if found is None else found[1].decode()
