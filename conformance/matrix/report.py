"""Writes `conformance/results/matrix.md`, the tables of the conformance matrix, and its heat map.

    python -m conformance.matrix.report [--jobs N]    # runs the simulator in every cell: some minutes
    python -m conformance.matrix.report --aqm         # only the cells of the AQM disciplines, and their table

Needs only `tests/data/matrix`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence

import pandas as pd

from conformance.grid import Place
from conformance.judge import Cell, judge, share_within
from conformance.matrix.criteria import CAMPAIGN
from conformance.page import DOCS, RESULTS, rows, write_tables
from tailback.analysis.differences import METRICS
from tailback.analysis.matrix import deviations
from tailback.plots import conformance, rendered

PICTURE = DOCS / "pictures" / "conformance-matrix.png"
AQM_PARTS = ("aqm", "shapers")
SHARED = ("goodput", "rtt", "retransmits", "drops", "all")
Cells = Sequence[Cell[Place]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables and the picture of the conformance matrix.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--aqm", action="store_true", help="only the AQM disciplines")
    options = parser.parse_args()
    runs = [run for run in CAMPAIGN.runs() if not options.aqm or run.experiment.part.startswith(AQM_PARTS)]
    cells = judge(CAMPAIGN, runs, options.jobs).cells
    tables = {"aqm": disciplines(cells)}
    if not options.aqm:
        tables |= {"matrix": shares(cells), "red": red(cells)}
        PICTURE.write_bytes(picture(cells))
    write_tables(tables, RESULTS / "matrix.md", f"python -m conformance.matrix.report{' --aqm' if options.aqm else ''}")


def disciplines(cells: Cells) -> list[str]:
    """The table of AQM disciplines and shapers: cells within tolerance, and the worst cell."""
    mine = [cell for cell in cells if cell.experiment.part.startswith(AQM_PARTS)]
    found = []
    for qdisc in dict.fromkeys(cell.experiment.labels["qdisc"] for cell in mine):
        own = [cell for cell in mine if cell.experiment.labels["qdisc"] == qdisc]
        worst = max(own, key=lambda cell: cell.distance)
        at = worst.experiment.labels
        place = f"{at['bottleneck']} {at['rtt']} {at['cc']}: {METRICS[worst.figure].title}"
        values = f"{worst.kernel:.4g} / {worst.simulator:.4g}"
        found.append([f"`{qdisc}`".replace("|", r"\|"), *_shares(own), f"{place} {values}"])
    return rows(("discipline", *SHARED, "farthest: kernel / simulator"), found)


def shares(cells: Cells) -> list[str]:
    """The table of cells within tolerance, by control and figure."""
    controls = dict.fromkeys(cell.experiment.labels["cc"] for cell in cells)
    body = [[cc, *_shares([cell for cell in cells if cell.experiment.labels["cc"] == cc])] for cc in controls]
    return rows(("control", *SHARED), [["**all**", *_shares(cells)], *body])


def _shares(cells: Cells) -> list[str]:
    """Cells within tolerance, by tolerance."""
    return [_share(cell for cell in cells if name in ("all", METRICS[cell.figure].tolerance)) for name in SHARED]


def _share(cells: Iterable[Cell[Place]]) -> str:
    within, judged = share_within(cells)
    return f"{within}/{judged} ({100 * within / judged:.1f}%)" if judged else ""


def red(cells: Cells) -> list[str]:
    """The table of cells out of tolerance, worst first, with reasons."""
    off = sorted((cell for cell in cells if cell.outcome == "off"), key=lambda cell: -cell.distance)
    return rows(("cell", "figure", "kernel", "simulator", "off by", "reason"), map(_red, off))


def _red(cell: Cell[Place]) -> Sequence[str]:
    values = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"×{cell.distance:.1f}"]
    why = CAMPAIGN.reason(cell.experiment, cell.figure)
    return [" ".join(cell.experiment.values), METRICS[cell.figure].title, *values, why or "not explained"]


def picture(cells: Cells) -> bytes:
    """The heat map."""
    places = list(dict.fromkeys(cell.experiment for cell in cells))
    numbers = {place: number for number, place in enumerate(places)}
    table = pd.DataFrame(
        [(numbers[cell.experiment], cell.figure, cell.excess, cell.outcome) for cell in cells],
        columns=["configuration", "metric", "excess", "outcome"],
    )
    return rendered(conformance.draw(deviations(table, [place.labels for place in places])), ".png")


if __name__ == "__main__":
    main()
