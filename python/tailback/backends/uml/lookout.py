"""What watches an instance while it runs: its console, and whether its virtual time stands still, and why.

A callback of a module that never returns stops virtual time: nothing else in the guest runs. `tailback_register.c`
notes which call is in progress; this reads the note from the memory of the instance.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailback.backends.backend import RunFailed
from tailback.backends.linux.own_modules import Own
from tailback.backends.linux.process import Progress
from tailback.backends.uml import spinning
from tailback.backends.uml.console import Console
from tailback.backends.uml.own_time import OwnTime, cpu_s_of

STILL_S = 5.0
"""Time of the instance (`own_time.py`) without progress of virtual time after which the user is told."""

PROGRAM_S = 60.0
"""As `STILL_S`, after which a run fails because a program of the user keeps its time from passing."""

CALL_S = 3.0
"""CPU time of the instance after which a call of a module counts as one that does not return."""

NOTE = struct.Struct("24sQ")
"""The call in progress, and how many there were (`kernel/module/tailback_register.c`)."""


@dataclass
class Lookout:
    """Watches one instance."""

    console: Console
    progress: Progress
    duration_ns: int
    clock: Callable[[], float]
    """The time of the instance."""
    watched: Path | None = None
    """The folder of the instance, if programs of the user run in it."""
    program_s: float = PROGRAM_S
    _fraction: float = 0.0
    _moved: float = 0.0
    _told: bool = False
    _blamed: float = 0.0
    """When a program was last looked for."""
    _used: dict[int, float] = field(default_factory=dict)
    """The CPU time of its processes when time began to stand still."""
    _call: tuple[bytes, int, float] | None = None
    """The call of a module that was in progress at the first look, its number, and the CPU time then."""

    @classmethod
    def of(cls, folder: Path, owns: Mapping[str, Own], progress: Progress, duration_ns: int) -> Lookout:
        """For the instance in `folder`; `owns` are the modules of the user by their names in the kernel. Without
        programs in it; `with_programs` adds that it has some.
        """
        files = {name: folder / f"{name}.ko" for name in owns}
        return cls(Console(folder / "console", owns, files), progress, duration_ns, OwnTime(folder))

    def with_programs(self, folder: Path, limit_s: float) -> Lookout:
        """The same, for an instance in which programs of the user run."""
        self.watched, self.program_s = folder, limit_s
        return self

    def look(self, process: int) -> None:
        """Raises `RunFailed` if a module has failed or does not return; tells if virtual time stands still."""
        self.console.look()
        now = self.clock()
        if self.progress.fraction > self._fraction or self.progress.fraction >= 1.0:
            self._fraction, self._moved, self._told, self._call = self.progress.fraction, now, False, None
            self._used = {}
            return
        if now - self._moved < 1.0:
            return
        self._look_at_call(process)
        if self.watched is not None and not self._used:
            self._used = spinning.used(self.watched)
        if now - self._moved >= STILL_S and not self._told:
            self._told = True
            self.progress.tell(self._still(now - self._moved) + self._because_of())
        if self.watched is not None and now - self._moved >= self.program_s and now - self._blamed >= 1.0:
            self._blamed = now
            reason = self._because_of()
            hint = "let it wait for something, `sleep` or `poll`, or shorten what it computes"
            if reason:
                raise RunFailed(f"{self._still(now - self._moved)}{reason}\n  hint: {hint}")

    def _still(self, had_s: float) -> str:
        at = f"at {self._fraction * self.duration_ns / 1e9:.1f} s of the run" if self._fraction else "before its start"
        return f"virtual time has not moved for {had_s:.0f} s of the guest's own time, {at}"

    def _because_of(self) -> str:
        """The program that computes meanwhile, for a message; empty if there is none."""
        if self.watched is None:
            return ""
        names = spinning.programs(self._used, spinning.used(self.watched))
        which = "the program" if len(names) == 1 else "one of the programs"
        words = " or ".join(f"`{name}`" for name in names)
        return f": {which} {words} computes, or polls without ever waiting (`sched_yield`)" if names else ""

    def _look_at_call(self, process: int) -> None:
        for name, place in self.console.noted.items():
            found = _note_at(process, place)
            if found is None:
                continue
            (call, count), cpu_s = found, cpu_s_of(process)
            if not call:
                continue
            if self._call is None or self._call[:2] != (call, count):
                self._call = (call, count, cpu_s)
            elif cpu_s - self._call[2] >= CALL_S:
                source = self.console.modules[name].source.name
                at_s = self._fraction * self.duration_ns / 1e9
                raise RunFailed(
                    f"the congestion control failed: {source}: it did not return within {CALL_S:g} s of CPU time, "
                    f"in its call `{call.decode(errors='replace')}` after {at_s:.1f} s of the run"
                )


def _note_at(process: int, place: int) -> tuple[bytes, int] | None:
    """The call that is noted at an address of an instance; `None` if that cannot be read."""
    try:
        with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
            read = os.pread(memory.fileno(), NOTE.size, place)
    except OSError:
        return None
    if len(read) < NOTE.size:
        return None
    call, count = NOTE.unpack(read)
    return call.partition(b"\0")[0], count
