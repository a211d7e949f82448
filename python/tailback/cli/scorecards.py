"""Prints the claims of papers."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from tailback.cli.console import emit, stderr
from tailback.papers import Row, in_one_line


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
