"""The results of scripts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["passed", "failed", "unsupported", "malformed"]

_STATUS: dict[Verdict, int] = {"passed": 0, "failed": 1, "unsupported": 2, "malformed": 2}


@dataclass(frozen=True)
class Finding:
    """A message about a line of a script."""

    line: int
    message: str


@dataclass(frozen=True)
class Report:
    """The result of one script."""

    file: Path
    verdict: Verdict
    findings: tuple[Finding, ...]
    printed: tuple[str, ...]
    """Lines that the script's code printed."""
    events: int
    """The number of events that were executed."""

    def __str__(self) -> str:
        lines = [f"{self.file}:{finding.line}: {finding.message}" for finding in self.findings]
        return "\n".join(lines) or f"{self.file}: {self.verdict}"


def status(reports: Iterable[Report]) -> int:
    """The exit status: 1 if a script failed, else 2 if one could not be run, else 0."""
    found = {_STATUS[report.verdict] for report in reports}
    return next((status for status in (1, 2) if status in found), 0)


def as_document(reports: Iterable[Report]) -> Mapping[str, Any]:
    """The reports as JSON."""
    return {"tailback": version("tailback"), "scripts": [_row(report) for report in reports]}


def _row(report: Report) -> Mapping[str, Any]:
    return {
        "file": str(report.file),
        "verdict": report.verdict,
        "findings": [{"line": finding.line, "message": finding.message} for finding in report.findings],
        "printed": list(report.printed),
        "events": report.events,
    }
