"""Prints the claims of papers."""

from collections.abc import Sequence
from pathlib import Path

from tailback.cli import sheets, tables
from tailback.cli.console import stderr
from tailback.cli.sheets import Cell, Field, Sheet
from tailback.papers import Beside, Row, in_one_line
from tailback.papers.scorecard import held
from tailback.papers.search import Search, Tried


def scorecard(rows: Sequence[Row], page: Path) -> None:
    """Prints the claims with their verdicts, and the reasons why claims do not hold or were skipped."""
    fields = [
        *(Field(name, "name") for name in ("claim", "figure", "verdict")),
        Field("measured", "text"),
        Field("expected", "text"),
    ]
    cells = [
        sheets.words(row.claim.id, row.claim.figure, row.status, row.measured or sheets.UNKNOWN, row.expected)
        for row in rows
    ]
    notes = [f"{row.claim.id}: {row.claim.says}\n  {row.status}: {row.note}" for row in rows if row.note]
    tables.show(Sheet("", fields, cells), *notes, in_one_line(rows))
    stderr().print(f"figures and claims: {page}")


def both_sides(found: Beside, pages: Sequence[Path]) -> None:
    """Prints the claims as measured on the simulator and on a kernel, and what both have in place of the testbed."""
    fields = [
        *(Field(name, "name") for name in ("claim", "figure")),
        *(Field(name, "text") for name in ("expected", "simulator", "kernel")),
    ]
    cells = [
        sheets.words(
            ours.claim.id, ours.claim.figure, ours.expected,
            *(f"{side.status}: {side.measured or side.note}" for side in (ours, kernel)),
        )
        for ours, kernel in found.rows
    ]  # fmt: skip
    instead = [f"instead of the testbed: {one.what}, because {one.because}" for one in found.conditions.instead]
    tables.show(Sheet("", fields, cells), *instead)
    for page in pages:
        stderr().print(f"figures and claims: {page}")


def search_table(found: Search) -> None:
    """Prints how many claims hold under each candidate, and which candidate the rule prefers."""
    if found.in_full:
        tables.beside(_candidates(found.tried), "best and equal so far; by the full set:")
    tables.show(_candidates(found.in_full or found.tried), f"best by the chosen claims: {found.best.name}")


def _candidates(tried: Sequence[Tried]) -> Sheet:
    fields = [Field("conditions", "text"), *map(Field, ("departures", "chosen claims", "other claims"))]
    rows = [
        [
            *sheets.words(one.candidate.name),
            Cell(str(one.candidate.departures), one.candidate.departures),
            *sheets.words(*(f"{held(rows)} of {len(rows)}" for rows in (one.chosen, one.others))),
        ]
        for one in tried
    ]
    return Sheet("", fields, rows)
