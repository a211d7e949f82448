"""Errors of an experiment file: where, what, and what to do.

Everything wrong with a file is collected and raised at once as one `ScenarioError`; each `Finding` prints as

    access21.yaml:12: links[1].rate: `100mbps/s` is not a rate
      hint: write it as tc does: 100mbit, 1gbit, 500kbit
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tailback import plain

LONGEST_PLACE = 200
"""Characters of a place in a message; a key of the command line is part of it."""

MOST_TOLD = 50
"""Findings in the message of an error."""


@dataclass(frozen=True, order=True)
class Where:
    """A place in the input: a file (or `--set ...`) and, if known, the line counted from one."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return plain.shortened(self.file, LONGEST_PLACE) if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """One thing wrong: the place, the path of the key, the bad value in words, and the remedy."""

    where: Where
    path: str
    message: str
    hint: str

    def __str__(self) -> str:
        path = plain.shortened(self.path, LONGEST_PLACE)
        place = f"{self.where}: {path}" if path else str(self.where)
        return f"{place}: {plain.brief(self.message)}\n  hint: {plain.brief(self.hint)}"


class ScenarioError(Exception):
    """The experiment cannot be used; `findings` has every reason, in the order of the file."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        unique = dict.fromkeys(findings)
        self.findings: tuple[Finding, ...] = tuple(sorted(unique, key=_place))
        told = [str(finding) for finding in self.findings[:MOST_TOLD]]
        more = len(self.findings) - len(told)
        super().__init__("\n".join([*told, f"and {more} more of the kind"] if more else told))


def _place(finding: Finding) -> tuple[str, int]:
    return finding.where.file, finding.where.line or 0
