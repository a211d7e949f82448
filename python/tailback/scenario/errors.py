"""Errors of an experiment file: the location, the problem, and the remedy.

All errors of a file are collected into one `ScenarioError`; each `Finding` prints as

    access21.yaml:12: links[1].rate: `100mbps/s` is not a rate
      hint: write it as tc does: 100mbit, 1gbit, 500kbit
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from tailback import plain

LONGEST_PLACE = 200
"""Maximum number of characters of a location in a message (it may include a key of the command line)."""

MAX_SHOWN = 50
"""Maximum number of findings in the message of an error."""


class Where(Struct, frozen=True, order=True):
    """A position in the input: a file (or `--set ...`) and, if known, the line, starting at 1."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return plain.shortened(self.file, LONGEST_PLACE) if self.line is None else f"{self.file}:{self.line}"


class Finding(Struct, frozen=True):
    """One error: its position, the path of the key, the problem, and the remedy."""

    where: Where
    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        path = plain.shortened(self.path, LONGEST_PLACE)
        place = f"{self.where}: {path}" if path else str(self.where)
        return f"{place}: {plain.brief(self.message)}\n  hint: {plain.brief(self.hint)}"


class ScenarioError(Exception):
    """The experiment is invalid; `findings` has all errors in the order of the file, its message each kind once."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        unique = dict.fromkeys(findings)
        self.findings: tuple[Finding, ...] = tuple(sorted(unique, key=_place))
        alike: dict[tuple[Where, str], list[Finding]] = {}
        for finding in self.findings:
            alike.setdefault(_kind(finding), []).append(finding)
        faults = list(alike.values())
        shown = [_once(fault) for fault in faults[:MAX_SHOWN]]
        more = len(faults) - len(shown)
        super().__init__("\n".join([*shown, f"and {more} more errors"] if more else shown))


def _place(finding: Finding) -> tuple[str, int]:
    return finding.where.file, finding.where.line or 0


def _kind(finding: Finding) -> tuple[Where, str]:
    """What is equal for one fault of a line that stands for many hosts, links or entries: all but the numbers in paths
    and at the ends of names (`host24`). Numbers of values differ: `50s`, `limit 5`."""
    path = re.sub(r"\d+", "#", finding.path)
    said = re.sub(r"(?<=[A-Za-z_])\d+\b", "#", f"{finding.message}\n{finding.hint}")
    return finding.where, f"{path}\n{said}"


def _once(fault: list[Finding]) -> str:
    """The first of errors of one kind, with their number and the last place."""
    first = str(fault[0])
    if len(fault) == 1:
        return first
    message, *rest = first.split("\n")
    message += f" ({len(fault)} times, up to {plain.shortened(fault[-1].path, LONGEST_PLACE)})"
    return "\n".join([message, *rest])
