"""Prints the results of `tailback drill`: one line per script on stdout, errors on stderr in the format of
compilers.
"""

from collections.abc import Sequence

from tailback.cli import sheets, tables
from tailback.cli.console import counted, emit, form, line, stderr
from tailback.cli.sheets import Cell, Field, Sheet
from tailback.drill import Report

_WORDS = {"passed": "passed", "failed": "FAILED", "unsupported": "unsupported", "malformed": "not a script"}


def reported(reports: Sequence[Report]) -> None:
    """Prints the reports, and a total if there are several."""
    if form() is not None:
        tables.show(_sheet(reports))
    for report in reports:
        for printed in report.printed:
            line(printed)
        emit(f"{_WORDS[report.verdict]}  {report.file}  ({counted(report.events, 'event')})")
        if report.findings:
            stderr().print(str(report))
    if len(reports) > 1:
        found = [report.verdict for report in reports]
        sums = [f"{found.count(verdict)} {word}" for verdict, word in _WORDS.items() if verdict in found]
        emit(", ".join(sums))


def _sheet(reports: Sequence[Report]) -> Sheet:
    fields = [Field("script", "name"), Field("verdict", "name"), Field("events"), Field("says", "text")]
    rows = [
        [
            *sheets.words(str(report.file), _WORDS[report.verdict]),
            Cell(str(report.events), report.events),
            *sheets.words(str(report) if report.findings else ""),
        ]
        for report in reports
    ]
    return Sheet("", fields, rows)
