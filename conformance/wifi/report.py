"""Writes `conformance/results/wifi.md`, the tables of the Wi-Fi campaign.

    python -m conformance.wifi.report [--jobs N]     # all twins, and six seeds of those out of tolerance: some minutes

Needs only `tests/data/wifi`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from conformance.judge import Cell, Spread, judge, share_within, spreads
from conformance.page import RESULTS, rows, write_tables
from conformance.wifi.criteria import CAMPAIGN
from conformance.wifi.experiment import Experiment
from conformance.wifi.known import reason

FIGURES = {
    "goodput": ("goodput_up", "goodput_down"),
    "MPDUs up": ("ampdu_up",),
    "MPDUs down": ("ampdu_down",),
    "ping": ("ping_p50",),
    "TCP RTT": ("rtt_up_p50", "rtt_down_p50"),
}
CHANCE = "chance: among our seeds"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write conformance/results/wifi.md.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    jobs = parser.parse_args().jobs
    judged = judge(CAMPAIGN, CAMPAIGN.runs(), jobs)
    found = spreads(CAMPAIGN, judged.off, jobs)
    tables = {"wifi": share_table(judged.cells, found), "wifi-off": off_table(found)}
    write_tables(tables, RESULTS / "wifi.md", "python -m conformance.wifi.report")


def share_table(cells: Sequence[Cell[Experiment]], found: Sequence[Spread[Experiment]]) -> list[str]:
    """The table by group: runs, cells within tolerance by figure, and cells out of tolerance not by chance."""
    body = []
    for name in [*sorted({cell.experiment.group for cell in cells}), "all"]:
        inside = [cell for cell in cells if name in ("all", cell.experiment.group)]
        runs = len({cell.experiment.key for cell in inside})
        beyond = sum(not each.is_chance and name in ("all", each.cell.experiment.group) for each in found)
        body.append([name, str(runs), *(share(inside, figures) for figures in FIGURES.values()), str(beyond)])
    return rows(("runs", "number", *FIGURES, "beyond chance"), body)


def share(table: Sequence[Cell[Experiment]], figures: Sequence[str]) -> str:
    """Cells within tolerance and judged cells: `N/M`."""
    within, judged = share_within([cell for cell in table if cell.figure in figures])
    return f"{within}/{judged}" if judged else ""


def off_table(found: Sequence[Spread[Experiment]]) -> list[str]:
    """The table of cells out of tolerance: those that are not chance first, then by distance."""
    ordered = sorted(found, key=lambda each: (each.is_chance, -each.cell.distance))
    return rows(("cell", "kernel", "simulator", "our seeds", "reason"), [off_row(each) for each in ordered])


def off_row(each: Spread[Experiment]) -> list[str]:
    cell, (seeds,) = each.cell, each.ranges
    why = CHANCE if each.is_chance else reason(cell.experiment, cell.figure) or "not explained"
    figures = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"{seeds.low:.4g}–{seeds.high:.4g}"]
    return [f"`{cell.experiment.key}` {cell.figure}", *figures, why]


if __name__ == "__main__":
    main()
