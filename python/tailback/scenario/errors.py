"""Errors of an experiment file: where, what, and what to do.

Everything wrong with a file is collected and raised at once as one `ScenarioError`; each `Finding` prints as

    access21.yaml:12: links[1].rate: `100mbps/s` is not a rate
      hint: write it as tc does: 100mbit, 1gbit, 500kbit
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Where:
    """A place in the input: a file (or `--set ...`) and, if known, the line counted from one."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """One thing wrong: the place, the path of the key, the bad value in words, and the remedy."""

    where: Where
    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        place = f"{self.where}: {self.path}" if self.path else str(self.where)
        return f"{place}: {self.message}\n  hint: {self.hint}"


class ScenarioError(Exception):
    """The experiment cannot be used; `findings` holds every reason, in the order of the file."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        unique = dict.fromkeys(findings)
        self.findings: tuple[Finding, ...] = tuple(sorted(unique, key=_place))
        super().__init__("\n".join(str(finding) for finding in self.findings))


class WordError(ValueError):
    """A value that cannot be read, before its place in a file is known."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.message = message
        self.hint = hint


def nearest_hint(word: str, known: Sequence[str]) -> str:
    """The remedy for an unknown word: the known word it most resembles, or all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there are: {', '.join(known)}" if known else "there are none"


def _place(finding: Finding) -> tuple[str, int]:
    return finding.where.file, finding.where.line or 0
