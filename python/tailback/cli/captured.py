"""What an import of captures found, took and left out, as text and as JSON."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tailback.analysis.digits import significant
from tailback.cli.console import aside, counted, form, line

if TYPE_CHECKING:
    from tailback.cli.sheets import Cell
    from tailback.formats.pcap import Captured, Row

SHOWN = 20
"""Rows of the table; the others are counted."""


def document(found: "Captured") -> dict[str, Any]:
    """The import, with all flows; unknown values are absent."""
    return {"folder": str(found.folder), **found.summary(), "flows": [_flow(row) for row in found.rows]}


def _flow(row: "Row") -> dict[str, Any]:
    values = {
        "flow": row.flow, "bytes": row.bytes, "begins_s": row.begins_s, "ends_s": row.ends_s,
        "taken": not row.reason, "reason": row.reason or None, "place": str(row.tap), "place_by": row.ground or None,
        "data_to_ack_ms": row.to_ack_ms, "seen_again": row.seen_again,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value is not None}


def text(found: "Captured") -> None:
    """Prints the folder, the table of flows, and what is said of them."""
    # Imported here, because other commands print no table.
    from tailback.cli import tables
    from tailback.cli.sheets import Field, Sheet

    line(str(found.folder))
    taken = [row for row in found.rows if not row.reason]
    left = [row for row in found.rows if row.reason]
    begin, end = found.window_s
    aside(f"window: {begin:.3f} s to {end:.3f} s of {found.span_s:.3f} s, {found.window_is}")
    shown = [*taken[: SHOWN - min(len(left), SHOWN // 2)], *left[: SHOWN // 2]]
    if form() is not None:
        shown = list(found.rows)
    fields = [
        Field("flow", "name"), Field("size", unit="MB"), Field("from", unit="s"), Field("to", unit="s"),
        Field("data to ACK", unit="ms"), Field("again"), Field("captured", "text"), Field("taken", "text"),
    ]  # fmt: skip
    tables.show(Sheet("", fields, [_cells(row) for row in shown]))
    for what, count in _uncounted(found.rows, shown):
        aside(f"{counted(count, 'more flow')}: {what}")
    if found.others:
        aside(f"other frames: {', '.join(f'{count} {what}' for what, count in found.others.items())}")
    for note in found.notes:
        aside(note)


def _cells(row: "Row") -> "list[Cell]":
    from tailback.cli import sheets

    def number(value: float | None, shown: Callable[[float], str]) -> "Cell":
        return sheets.number(math.nan if value is None else value, shown)

    return [
        *sheets.words(row.flow), number(row.bytes / 1e6, significant), number(row.begins_s, "{:.3f}".format),
        number(row.ends_s, "{:.3f}".format), number(row.to_ack_ms, significant),
        number(row.seen_again, "{:.0f}".format), *sheets.words(str(row.tap)),
        *sheets.words(f"left out: {row.reason}" if row.reason else "taken"),
    ]  # fmt: skip


def _uncounted(rows: Iterable["Row"], shown: Iterable["Row"]) -> list[tuple[str, int]]:
    """How many rows are not in the table, by what became of them."""
    told = {row.flow for row in shown}
    kinds = Counter(f"left out: {row.reason}" if row.reason else "taken" for row in rows if row.flow not in told)
    return kinds.most_common()
