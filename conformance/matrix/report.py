"""Writes what `docs/fidelity.md` says of the conformance matrix: tables between marks, and the heat map.

    python -m conformance.matrix.report [--jobs N]    # runs the simulator in every cell: some minutes

Needs only `tests/data/matrix`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import pandas as pd

from conformance.kernel.report import DOCS, PAGE, rows, with_tables
from conformance.matrix import golden
from conformance.matrix.grid import AXES, parts
from conformance.matrix.known import reason
from conformance.matrix.simulate import CONFIGURATION, compared, off, simulated, text
from tailback.analysis.matrix import deviations
from tailback.analysis.tolerances import share_within
from tailback.cli import show
from tailback.plots import conformance, rendered

PICTURE = DOCS / "pictures" / "conformance-matrix.svg"
SHARED = ("goodput", "rtt", "retransmits", "drops", "all")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables and the picture of the conformance matrix.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    jobs = parser.parse_args().jobs
    kernel = golden.read()
    with show.progress() as watch:
        found = [simulated(part, experiment, kernel, jobs, watch) for part, experiment in parts()]
    cells = compared(kernel, pd.concat(found, ignore_index=True))
    page = with_tables(PAGE.read_text(encoding="utf-8"), {"matrix": shares(cells), "red": red(cells)})
    PAGE.write_text(page, encoding="utf-8")
    PICTURE.write_bytes(picture(cells))


def shares(cells: pd.DataFrame) -> list[str]:
    """How many cells are within tolerance, by figure and control."""
    controls = list(dict.fromkeys(cells["cc"]))
    whole = share_within(cells).set_index("tolerance")
    by_control = {cc: share_within(cells[cells["cc"] == cc]).set_index("tolerance") for cc in controls}
    body = [
        [
            f"**{name}**" if name == "all" else name,
            _share(whole, name),
            *(_share(by_control[cc], name) for cc in controls),
        ]
        for name in SHARED
    ]
    return rows(("figure", "all", *controls), body)


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
    return rendered(conformance.draw(table), ".svg")


if __name__ == "__main__":
    main()
