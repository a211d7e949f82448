"""Writes what `docs/fidelity.md` says of Wi-Fi in figures: its tables, between marks.

    python -m conformance.wifi.report [--jobs N]     # every twin, and six seeds of those that are off: some minutes

Needs only `tests/data/wifi`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from conformance.wifi import golden, spread
from conformance.wifi.compare import FIGURES, compared, shares
from conformance.wifi.known import reason
from conformance.wifi.simulate import not_simulated, simulate_all
from conformance.wifi.verdict import Cell
from conformance.wired.report import PAGE, rows, with_tables

CHANCE = "chance: among our seeds"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of Wi-Fi in docs/fidelity.md.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    jobs = parser.parse_args().jobs
    runs = [run for run in golden.read_runs() if not_simulated(run.experiment) is None]
    results = simulate_all([run.experiment for run in runs], jobs)
    cells = [cell for run, result in zip(runs, results, strict=True) for cell in compared(run, result)]
    off = [cell for cell in cells if cell.outcome == "off"]
    found = spread.spreads(runs, off, spread.SEEDS, jobs)
    tables = {"wifi": share_table(cells, found), "wifi-off": off_table(found)}
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def share_table(cells: Sequence[Cell], found: Sequence[spread.Spread]) -> list[str]:
    """By group: runs, cells within tolerance by figure, and cells that are off for another reason than chance."""
    body = []
    for name, counts in shares(cells):
        inside = [cell for cell in cells if name in ("all", cell.experiment.group)]
        runs = len({cell.experiment.key for cell in inside})
        beyond = sum(not each.is_chance and name in ("all", each.cell.experiment.group) for each in found)
        body.append([name, str(runs), *counts, str(beyond)])
    return rows(("runs", "number", *FIGURES, "beyond chance"), body)


def off_table(found: Sequence[spread.Spread]) -> list[str]:
    """Every cell that is off: the ones beyond chance first, then by how far."""
    ordered = sorted(found, key=lambda each: (each.is_chance, -each.cell.excess))
    return rows(("cell", "kernel", "simulator", "our seeds", "reason"), [off_row(each) for each in ordered])


def off_row(each: spread.Spread) -> list[str]:
    cell, values = each.cell, each.values
    why = CHANCE if each.is_chance else reason(cell) or "not explained"
    figures = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"{min(values):.4g}–{max(values):.4g}"]
    return [f"`{cell.experiment.key}` {cell.figure}", *figures, why]


if __name__ == "__main__":
    main()
