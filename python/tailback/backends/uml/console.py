"""What the kernel of a guest prints on its console, read while it runs: what a module of the user does that ends no
kernel, and yet the run.

The agent lets a kernel with modules print everything there (`crates/agent/src/kernel_module.rs`), because its log is a
ring, and the console a file.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tailback.backends.backend import RunFailed
from tailback.backends.linux.own_modules import GUARD, NOTED, Own

LONGEST_BYTES = 256 << 20
"""Length of a console that is taken for one without end."""

SLEEPS = ("bad: scheduling from the idle thread!", "BUG: scheduling while atomic", "BUG: sleeping function called from")
"""What a kernel prints of a callback that sleeps. [linux-6.12 sched/idle.c dequeue_task_idle, core.c __schedule_bug]"""

WITHIN = re.compile(r"(?P<function>[\w.]+)\+(?P<offset>0x[0-9a-f]+)/0x[0-9a-f]+ \[(?P<module>\w+)\]")
"""A place in a module, in the list of calls that a kernel prints."""

GUARDED = "guarded_"
"""Beginning of the functions that call those of the user (`kernel/module/tailback_register.c`)."""

AFTER = 8_000
"""Characters behind a message in which its list of calls is looked for."""

LOOKS = 20
"""How often they are waited for."""


@dataclass
class Console:
    """Follows the console in the folder of a run."""

    file: Path
    modules: Mapping[str, Own]
    """The modules of the user by their names in the kernel."""
    files: Mapping[str, Path]
    """What was built of them."""
    noted: dict[str, int] = field(default_factory=dict)
    """The addresses at which they note the call in progress."""
    _read: int = 0
    _kept: str = ""
    _waited: int = field(default=0)

    def look(self) -> None:
        """Reads what is new; raises `RunFailed` if it says that a module has failed."""
        with self.file.open("rb") as stream:
            stream.seek(self._read)
            new = stream.read()
        self._read += len(new)
        # A message may come in two parts.
        self._kept = self._kept[-AFTER:] + new.decode("utf-8", errors="replace")
        if len(self.noted) < len(self.modules):
            self.noted |= {found[1]: int(found[2], 16) for found in NOTED.finditer(self._kept)}
        problem = self._problem()
        if problem is not None:
            raise RunFailed(f"the congestion control failed: {problem}")
        if self._read > LONGEST_BYTES:
            raise RunFailed(
                f"the kernel printed {self._read >> 20} MiB\n  hint: let the module print less, or run it for less time"
            )

    def _problem(self) -> str | None:
        said = GUARD.search(self._kept[: self._kept.rfind("\n") + 1])
        if said is not None and said["module"] in self.modules:
            source = self.modules[said["module"]].source.name
            return f"{source}: {said['what']}, in its call `{said['call']}`"
        at = min((place for sign in SLEEPS if (place := self._kept.find(sign)) >= 0), default=None)
        if at is None or not self.modules:
            return None
        where = self.where(self._kept[at:])
        self._waited += 1
        if where is None and self._waited < LOOKS:
            self._kept = self._kept[at:][:AFTER]
            return None
        name = where or " and ".join(own.source.name for own in self.modules.values())
        return (
            f"{name}: it sleeps, or waits for a lock (`msleep`, `mutex_lock`, `GFP_KERNEL`), and a callback must not: "
            "virtual time stands still"
        )

    def where(self, text: str) -> str | None:
        """The first place in the source of the user that a list of calls names; without one, the call of the module. A
        kernel lists what calls have left on the stack, on which a function that calls no other leaves nothing.
        """
        calls = []
        for found in WITHIN.finditer(text):
            own = self.modules.get(found["module"])
            if own is None:
                continue
            line = line_of(self.files[found["module"]], found["function"], int(found["offset"], 16))
            if line is not None:
                return f"{own.source.name}, line {line}, in {found['function']}"
            if found["function"].startswith(GUARDED):
                calls.append(f"{own.source.name}, in its call `{found['function'].removeprefix(GUARDED)}`")
        return calls[0] if calls else None


def line_of(module: Path, function: str, offset: int) -> int | None:
    """The line of the user's source that a place in a module was made from; the place is where a call returns to.
    `None` for what is not the user's: the Makefile of modules (`kernel/loadable.py`) asks for lines of that alone.
    """
    symbols = _output("nm", str(module))
    start = re.search(rf"^([0-9a-f]+) [tT] {re.escape(function)}$", symbols, re.MULTILINE)
    if start is None:
        return None
    place = hex(int(start[1], 16) + max(offset - 1, 0))
    found = re.search(r":(\d+)", _output("addr2line", "--section=.text", f"--exe={module}", place))
    return int(found[1]) if found else None


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace").stdout
    except OSError:
        return ""
