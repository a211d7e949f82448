"""The tables of `python -m conformance.kinds` and of docs/fidelity.md."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.kinds.judge import Row, Table, shares
from conformance.page import rows
from tailback.analysis.wording import amount
from tailback.validation.words import number, percent

KIND = ("kind of experiment", "cases", "cells within", "off", "undecided", "single runs within", "kernel and itself")


def summary(table: Table) -> list[str]:
    """A row per kind of experiment: the verdicts on its cells, and single runs beside those of the kernel."""
    kinds = dict.fromkeys(case.kind for case in table.cases)
    body = [_summed(table, kind, [cell for cell in table.judged if table.case(cell).kind == kind]) for kind in kinds]
    return rows(KIND, [*body, _summed(table, "**all**", table.judged)])


def _summed(table: Table, name: str, cells: Sequence[Row]) -> list[str]:
    found = shares(cells)
    cases = len({table.case(cell) for cell in cells})
    counts = [f"{found[outcome]:.0f}" for outcome in ("within", "off", "undecided")]
    return [name, str(cases), *counts, percent(found["alike"]), percent(found["ceiling"])]


def beyond(table: Table) -> list[str]:
    """The cells that are off, farthest first."""
    off = sorted((cell for cell in table.judged if cell["outcome"] == "off"), key=lambda cell: -abs(cell["excess"]))
    return rows(
        ("case", "figure", "kernel", "simulator", "90 % interval of the difference"), [_off(table, c) for c in off]
    )


def _off(table: Table, cell: Row) -> list[str]:
    values = [f"{number(cell[side])} {cell['unit']}" for side in ("reference", "candidate")]
    return [table.case(cell).name, cell["title"], *values, amount(cell, [cell["least"], cell["most"]])]


def cells(table: Table) -> list[str]:
    """All judged cells as text."""
    lines = []
    for cell in table.judged:
        values = f"{number(cell['reference']):>9} {number(cell['candidate']):>9} {cell['unit']:9}"
        found = f"{percent(cell['alike']):>8} of {percent(cell['ceiling']):>8}"
        interval = amount(cell, [cell["least"], cell["most"]])
        lines.append(
            f"{table.case(cell).name:38} {cell['title']:16} {values} {found}  {cell['outcome']:9} "
            f"×{abs(cell['excess']):.1f} ({interval}, {cell['pairs']} seeds)"
        )
    return lines
