"""Prints assessments."""

from collections.abc import Sequence

from tailback.assess import Assessment, Row, words
from tailback.assess.verdicts import OUTCOMES
from tailback.cli import sheets, tables
from tailback.cli.console import counted
from tailback.cli.sheets import Cell, Field, Sheet

STYLES = {"meets": "green", "fails": "red", "ended": "red", "undecided": "yellow"}


def scorecard(found: Assessment) -> None:
    """Prints a row per criterion, and below it what is undecided or ended, with the reason."""
    names = list(found.wanted.names)
    fields = [
        *(Field(name, "name") for name in ("§", "row")),
        Field("verdict", "name"),
        *(Field(name, "text") for name in (*names, "bound")),
    ]
    notes = [
        f"{row.criterion.id}: {row.outcome}: {row.reason or words.in_words(row, found.control)}"
        for row in found.rows
        if row.outcome in ("undecided", "ended") or (row.outcome == "absent" and row.reason)
    ]
    cells = [_cells(row, names) for row in found.rows]
    tables.show(Sheet(f"{found.control}: {found.wanted.suite.title}", fields, cells), *notes, in_one_line(found))


def _cells(row: Row, names: Sequence[str]) -> list[Cell]:
    head = [
        *sheets.words(row.criterion.section, row.criterion.id),
        Cell(row.outcome, style=STYLES.get(row.outcome, "")),
    ]
    worst = row.worst
    if worst is None:
        return [*head, *sheets.words(*(sheets.UNKNOWN for _ in (*names, "bound")))]
    where = f"{words.place(worst)}: " if worst.axes else ""
    found = [words.value(worst.found.get(name), row.criterion.unit) for name in names]
    return [*head, *sheets.words(f"{where}{found[0]}", *found[1:], words.bound(row.criterion, worst))]


def in_one_line(found: Assessment) -> str:
    """`31 rows: 20 meets, 5 fails, …`."""
    counts = [f"{found.count(outcome)} {outcome}" for outcome in OUTCOMES if found.count(outcome)]
    told = [counted(*each) for each in ((len(found.rows), "row"), (found.scenarios, "scenario"), (found.runs, "run"))]
    return f"{told[0]}: {', '.join(counts)}; {told[1]}, {told[2]}"
