"""The table of `python -m conformance.versions` and of conformance/results/versions.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from conformance.kinds.judge import Row, Table, shares
from conformance.page import rows
from conformance.versions.golden import COST
from conformance.versions.versions import VERSIONS, Version, runs_of
from tailback.validation.words import number, percent

HEADING = (
    "version", "stack", "runs", "cells within", "off", "undecided", "single runs within", "kernel and itself",
    "CPU s per s",
)  # fmt: skip


def summary(table: Table, kernel: pd.DataFrame) -> list[str]:
    """A row per version: the verdicts on its cells, single runs beside those of the kernel, and what they cost."""
    there = {case.file for case in table.cases}
    return rows(HEADING, [_row(version, table, kernel) for version in VERSIONS if version.name in there])


def _row(version: Version, table: Table, kernel: pd.DataFrame) -> list[str]:
    found = shares([cell for cell in table.judged if table.case(cell).file == version.name])
    mine = kernel[kernel["file"] == version.name]
    counts = [f"{found[outcome]:.0f}" for outcome in ("within", "off", "undecided")]
    cost = f"{mine[COST].min():.2f} to {mine[COST].max():.2f}"
    likeness = [percent(found["alike"]), percent(found["ceiling"])]
    return [version.name, f"`{version.stack}`", str(len(mine)), *counts, *likeness, cost]


SHOWN: Mapping[str, Sequence[str]] = {
    "wifi-cells": ("6.12, Wi-Fi", "7.3, Wi-Fi"),
    "dualpi2-cells": ("7.3, dualpi2",),
}
"""Tables of single cells, with the versions in each."""


def beside(table: Table, versions: Sequence[str]) -> list[str]:
    """A row per cell, with the kernel's figures and the simulator's; bold is off, in brackets undecided."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for cell in table.judged:
        case = table.case(cell)
        if case.file in versions:
            figure = f"{cell['title']}, {cell['unit']}".removesuffix(", ")
            found.setdefault((case.file, case.name), {})[figure] = _both(cell)
    figures = list(dict.fromkeys(figure for cells in found.values() for figure in cells))
    body = [[*place, *(cells.get(figure, "") for figure in figures)] for place, cells in found.items()]
    return rows(("version", "case", *figures), body)


def _both(cell: Row) -> str:
    values = " / ".join(number(cell[side]) for side in ("reference", "candidate"))
    return {"off": f"**{values}**", "undecided": f"({values})"}.get(cell["outcome"], values)


def named(words: Sequence[str]) -> list[Version]:
    """The versions of these names, all without any."""
    unknown = sorted(set(words) - {version.name for version in VERSIONS})
    if unknown:
        known = ", ".join(f"'{version.name}'" for version in VERSIONS)
        raise SystemExit(f"there is no version {unknown[0]}\n  hint: use one of {known}")
    return [version for version in VERSIONS if not words or version.name in words]


def short(versions: Sequence[Version], kernel: pd.DataFrame) -> list[str]:
    """A line per version whose kernel lacks figures of some runs."""
    lines = []
    for version in versions:
        mine = kernel[kernel["file"] == version.name]
        wanted = runs_of(version)
        missing = sorted(wanted - set(zip(mine["case"], mine["repetition"], strict=True)))
        if missing:
            names = ", ".join(f"`{case}` {repetition}" for case, repetition in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            which = f"of {len(missing)} of {len(wanted)} runs"
            lines.append(f"{version.name}: the kernel's figures {which} are missing: {names}{more}")
    return lines
