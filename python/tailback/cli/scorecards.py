"""Prints the claims of papers."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from tailback.cli.console import emit, stderr
from tailback.papers import Beside, Row, Search, in_one_line
from tailback.papers.scorecard import held
from tailback.papers.search import Tried


def scorecard(rows: Sequence[Row], page: Path) -> None:
    """Prints the claims with their verdicts, and the reasons why claims do not hold or were skipped."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("claim", "figure", "verdict", "measured", "expected"):
        table.add_column(heading, no_wrap=heading in {"claim", "figure", "verdict"})
    for row in rows:
        table.add_row(*map(Text, (row.claim.id, row.claim.figure, row.status, row.measured or "–", row.expected)))
    notes = [Text(f"{row.claim.id}: {row.claim.says}\n  {row.status}: {row.note}") for row in rows if row.note]
    emit(table, *notes, Text(in_one_line(rows)))
    stderr().print(f"figures and claims: {page}")


def both_sides(found: Beside, pages: Sequence[Path]) -> None:
    """Prints the claims as measured on the simulator and on a kernel, and what both have in place of the testbed."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("claim", "figure", "expected", "simulator", "kernel"):
        table.add_column(heading, no_wrap=heading in {"claim", "figure"})
    for ours, kernel in found.rows:
        sides = (f"{side.status}: {side.measured or side.note}" for side in (ours, kernel))
        table.add_row(*map(Text, (ours.claim.id, ours.claim.figure, ours.expected, *sides)))
    instead = [Text(f"instead of the testbed: {one.what}, because {one.because}") for one in found.conditions.instead]
    emit(table, *instead)
    for page in pages:
        stderr().print(f"figures and claims: {page}")


def search_table(found: Search) -> None:
    """Prints how many claims hold under each candidate, and which candidate the rule prefers."""
    emit(_candidates(found.tried))
    if found.in_full:
        emit(Text("best and equal so far; by the full set:"), _candidates(found.in_full))
    emit(Text(f"best by the chosen claims: {found.best.name}"))


def _candidates(tried: Sequence[Tried]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("conditions", "departures", "chosen claims", "other claims"):
        table.add_column(heading)
    for one in tried:
        counts = [f"{held(rows)} of {len(rows)}" for rows in (one.chosen, one.others)]
        table.add_row(one.candidate.name, str(one.candidate.departures), *counts)
    return table
