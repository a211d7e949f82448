"""What the kernel of a guest says of itself at the end of a run: whether something in it has gone wrong, and what its
modules printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tailback.backends.linux.own_modules import LOG, printed

CONSOLE, TAINTED = "console", "tainted"
"""Files in the folder of a run: of the kernel, and of the agent (`crates/agent/src/kernel_module.rs`)."""

WRONG = {5: "memory of a page was overwritten", 7: "the kernel had an oops", 9: "a WARN", 14: "a processor was stuck"}
"""Bits of `/proc/sys/kernel/tainted` that say so; the others are about which code it runs.
[linux-6.12 Documentation/admin-guide/tainted-kernels.rst]"""

PLACE = re.compile(
    r"WARNING: (?:CPU: \d+ PID: \d+ at )?(?P<place>[^\s:]+:\d+)(?: at)? (?P<function>[\w.+/]+(?: \[\w+\])?)"
)
"""Of a WARN, in the form of old kernels and of new ones."""

BUG = re.compile(r"\bBUG: (?P<what>.+)")

OF_HOST = ("reboot: ", "tailback-agent: ")
"""Beginnings of lines at the end of a console that are no module's."""


def warnings_in(folder: Path) -> list[str]:
    """What went wrong in the kernel of the run in `folder`, each once; empty if nothing did."""
    flags = _text(folder / TAINTED).strip()
    bits = [what for bit, what in WRONG.items() if flags.isdigit() and int(flags) >> bit & 1]
    if not bits:
        return []
    return places(f"{_text(folder / CONSOLE)}\n{_text(folder / LOG)}".splitlines()) or bits


def places(lines: Iterable[str]) -> list[str]:
    """The places of WARNs, and what BUGs say."""
    found: dict[str, None] = {}
    for line in lines:
        if warned := PLACE.search(line):
            # Of a module it is a path in a folder that is gone.
            path = warned["place"].rsplit("/module/", 1)[-1]
            found[f"WARNING at {path.replace(':', ', line ')}, in {warned['function'].partition('+')[0]}"] = None
        elif bug := BUG.search(line):
            found[f"BUG: {bug['what'].strip()}"] = None
    return list(found)


def printed_in(folder: Path) -> list[str]:
    """What the modules of the run in `folder` printed: all of it, since the console is a file."""
    lines = printed(_text(folder / CONSOLE))
    while lines and (not lines[-1].strip() or lines[-1].startswith(OF_HOST)):
        lines.pop()
    return lines


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
