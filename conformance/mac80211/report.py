"""Writes `conformance/results/mac80211.md`, the tables of the conformance matrix of Wi-Fi.

    python -m conformance.mac80211.report [--jobs N]    # simulates all cells, with as many seeds as the kernel's table

Needs only `tests/data/mac80211`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from conformance.mac80211 import known
from conformance.mac80211.criteria import TOLERANCES
from conformance.mac80211.grid import GRID
from conformance.page import RESULTS, rows, write_tables
from conformance.seeds import SeedCell, cells, shares
from conformance.simulated_grid import table
from tailback.validation.words import percent

PAGE = RESULTS / "mac80211.md"
HEADING = ("part", "cells within", "off", "undecided", "single runs within", "kernel and itself")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write conformance/results/mac80211.md.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    found = judged(parser.parse_args().jobs)
    tables = {"mac80211": summary(found), "mac80211-off": off(found)}
    write_tables(tables, PAGE, "python -m conformance.mac80211.report")


def judged(jobs: int) -> list[SeedCell]:
    """Simulates the cells of the kernel's table, and judges both."""
    kernel = GRID.read()
    return cells(GRID, TOLERANCES, kernel, table(GRID, list(GRID.means(kernel)), jobs))


def summary(found: Sequence[SeedCell]) -> list[str]:
    """A row per part and per figure: the verdicts on its cells, and single runs beside those of the kernel."""
    parts = [(part.name, [cell for cell in found if cell.place.part == part.name]) for part in GRID.parts]
    figures = [(f"`{figure}`", [cell for cell in found if cell.figure == figure]) for figure in TOLERANCES]
    return rows(HEADING, [_summed(*each) for each in (*parts, *figures, ("**all**", found))])


def _summed(name: str, found: Sequence[SeedCell]) -> list[str]:
    of = shares(found)
    counts = (f"{of.within}/{of.judged}", str(of.off), str(of.undecided))
    return [name, *counts, percent(of.alike), percent(of.ceiling)]


def off(found: Sequence[SeedCell]) -> list[str]:
    """The cells that are off, farthest first, then those whose seeds do not decide."""
    listed = [cell for cell in found if cell.outcome in ("off", "undecided")]
    ordered = sorted(listed, key=lambda cell: (cell.outcome, -abs(cell.excess)))
    heading = ("cell", "figure", "kernel", "simulator", "90 % interval of the difference", "verdict", "reason")
    return rows(heading, [_off_row(cell) for cell in ordered])


def _off_row(cell: SeedCell) -> list[str]:
    why = known.reason(cell.place.labels, cell.figure) or ("not explained" if cell.outcome == "off" else "")
    low, high = cell.interval
    values = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"{low:+.3g} … {high:+.3g}"]
    return [" ".join(cell.place.values), f"`{cell.figure}`", *values, cell.outcome, why]


if __name__ == "__main__":
    main()
