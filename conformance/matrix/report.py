"""Writes what `docs/fidelity.md` says of the conformance matrix: tables between marks, and the heat map.

    python -m conformance.matrix.report [--jobs N]    # runs the simulator in every cell: some minutes
    python -m conformance.matrix.report --aqm         # only the cells of the AQM disciplines, and their table

Needs only `tests/data/matrix`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import pandas as pd

from conformance.matrix import golden
from conformance.matrix.grid import AXES, parts
from conformance.matrix.known import reason
from conformance.matrix.simulate import CONFIGURATION, compared, off, simulated, text
from conformance.wired.report import DOCS, PAGE, rows, with_tables
from tailback.analysis.matrix import deviations
from tailback.analysis.tolerances import share_within
from tailback.cli import progress
from tailback.plots import conformance, rendered

PICTURE = DOCS / "pictures" / "conformance-matrix.png"
AQM_PARTS = ("aqm", "shapers")
SHARED = ("goodput", "rtt", "retransmits", "drops", "all")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables and the picture of the conformance matrix.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--aqm", action="store_true", help="only the AQM disciplines")
    asked = parser.parse_args()
    kernel = golden.read()
    wanted = [(part, experiment) for part, experiment in parts() if not asked.aqm or part.name.startswith(AQM_PARTS)]
    with progress.bar() as watch:
        found = [simulated(part, experiment, kernel, asked.jobs, watch) for part, experiment in wanted]
    cells = compared(kernel, pd.concat(found, ignore_index=True))
    tables = {"aqm": disciplines(cells)}
    if not asked.aqm:
        tables |= {"matrix": shares(cells), "red": red(cells)}
        PICTURE.write_bytes(picture(cells))
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def disciplines(cells: pd.DataFrame) -> list[str]:
    """The cells of the AQM disciplines and shapers: how many are within tolerance, and the one that is farthest."""
    mine = cells[cells["part"].str.startswith(AQM_PARTS)]
    found = []
    for qdisc, table in mine.groupby("qdisc", sort=False):
        worst = table[table["outcome"] != "shown"].nlargest(1, "excess").iloc[0]
        place = f"{worst['bottleneck']} {worst['rtt']} {worst['cc']}: {worst['title']}"
        values = f"{worst['reference']:.4g} / {worst['candidate']:.4g}"
        shown = share_within(table).set_index("tolerance")
        found.append([f"`{qdisc}`".replace("|", r"\|"), *(_share(shown, name) for name in SHARED), f"{place} {values}"])
    return rows(("discipline", *SHARED, "farthest: kernel / simulator"), found)


def shares(cells: pd.DataFrame) -> list[str]:
    """How many cells are within tolerance, by control and figure."""
    controls = dict.fromkeys(cells["cc"])
    tables = {"**all**": share_within(cells), **{cc: share_within(cells[cells["cc"] == cc]) for cc in controls}}
    body = [[cc, *(_share(table.set_index("tolerance"), name) for name in SHARED)] for cc, table in tables.items()]
    return rows(("control", *SHARED), body)


def _share(table: pd.DataFrame, name: str) -> str:
    if name not in table.index:
        return ""
    within, judged = (int(value) for value in table.loc[[name], ["within", "judged"]].to_numpy()[0])
    return f"{within}/{judged} ({100 * within / judged:.1f}%)" if judged else ""


def red(cells: pd.DataFrame) -> list[str]:
    """The cells out of tolerance, farthest first, each with its reason."""
    body = [_red(row) for row in off(cells)]
    return rows(("cell", "figure", "kernel", "simulator", "off by", "reason"), body)


def _red(row: dict[str, object]) -> Sequence[str]:
    place = {axis: text(row, axis) for axis in AXES}
    why = reason(place, text(row, "metric"))
    values = [f"{row['reference']:.4g}", f"{row['candidate']:.4g}", f"×{abs(float(str(row['excess']))):.1f}"]
    return [" ".join(place.values()), text(row, "title"), *values, why or "not explained"]


def picture(cells: pd.DataFrame) -> bytes:
    """The heat map."""
    places = cells.drop_duplicates("configuration").sort_values("configuration")
    axes = [dict(zip(AXES, place, strict=True)) for place in places[list(AXES)].to_numpy()]
    table = deviations(cells.drop(columns=list(CONFIGURATION)), axes)
    return rendered(conformance.draw(table), ".png")


if __name__ == "__main__":
    main()
