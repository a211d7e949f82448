"""The steps by which the agent builds and changes a network: programs of iproute2, and writes to files of the
kernel.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Words: TypeAlias = list[str]

IP = "/sbin/ip"
TC = "/sbin/tc"
PROGRAMS = (IP, TC)
"""The programs that the agent runs: iproute2."""


def run(host: int | None, *argv: object) -> Json:
    """A step that runs a program."""
    return {"kind": "run", "host": host, "argv": [str(word) for word in argv]}


def write(host: int | None, path: str, value: object) -> Json:
    """A step that writes to a file of the kernel."""
    return {"kind": "write", "host": host, "path": path, "value": str(value)}
