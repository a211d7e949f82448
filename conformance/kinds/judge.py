"""Judges the cases: the simulator with its own seeds beside the kernel with its own.

The rule is that of `tailback validate` (`tailback.analysis.equivalence`): a cell is within tolerance or off if the 90 %
interval of the difference of the means says so, else undecided. Beside the share of pairs of single runs that agree
stands that of the kernel with itself.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from conformance.kinds import golden
from conformance.kinds.kinds import Case
from tailback import sweep
from tailback.analysis.differences import METRICS
from tailback.analysis.rows import records
from tailback.analysis.tolerances import FIDELITY, JUDGED, LIKENESS, judged

Row = Mapping[str, Any]
"""A cell: a row of the table."""


@dataclass(frozen=True)
class Table:
    """The cells of some cases: a row per case and metric (`tailback.analysis.tolerances.judged`)."""

    cases: Sequence[Case]
    cells: pd.DataFrame
    """`configuration` is an index into `cases`."""

    def case(self, row: Row) -> Case:
        """The case of a row."""
        return self.cases[row["configuration"]]

    @property
    def judged(self) -> Sequence[Row]:
        """The cells with a verdict, as rows."""
        return records(self.cells[self.cells["outcome"].isin(JUDGED)])


def judge(cases: Sequence[Case], kernel: pd.DataFrame, jobs: int, keep: Path | None = None) -> Table:
    """Simulates these cases with the kernel's numbers of repetitions, and compares them.

    Runs are kept in the folder `keep`, and those that are complete there are not repeated.
    """
    counts = kernel.groupby(["file", "case"])["repetition"].max()
    simulator = simulate({case: int(counts[case.file, case.name]) for case in cases}, jobs, keep)
    return compared(cases, kernel, simulator)


def compared(cases: Sequence[Case], kernel: pd.DataFrame, simulator: pd.DataFrame) -> Table:
    """The simulator's figures beside those of a kernel."""
    return Table(cases, judged(_paired(cases, kernel, simulator), FIDELITY))


def simulate(seeds: Mapping[Case, int], jobs: int, keep: Path | None = None) -> pd.DataFrame:
    """The simulator's figures, as those of the kernel in `golden`, with this number of repetitions of each case."""
    with contextlib.ExitStack() as end:
        folder = keep or Path(end.enter_context(tempfile.TemporaryDirectory(prefix="tailback-kinds-")))
        request = sweep.Request("sim", jobs, folder)
        return pd.concat([golden.measured(case, number, request) for case, number in seeds.items()])


def _paired(cases: Sequence[Case], kernel: pd.DataFrame, simulator: pd.DataFrame) -> pd.DataFrame:
    """Both tables as `tailback.analysis.differences.paired_metrics`."""
    places = {(case.file, case.name): place for place, case in enumerate(cases)}
    sides = [_long(table).rename(columns={"value": side}) for table, side in _named(kernel, simulator)]
    found = sides[0].merge(sides[1], on=[*golden.RUN, "metric"], how="inner")
    place = [places.get((str(row["file"]), str(row["case"])), -1) for row in records(found)]
    table = found.assign(configuration=place)
    return table[table["configuration"] >= 0][["configuration", "metric", "reference", "candidate"]].dropna(
        subset=["reference", "candidate"], how="all"
    )


def _named(kernel: pd.DataFrame, simulator: pd.DataFrame) -> list[tuple[pd.DataFrame, str]]:
    return [(kernel, "reference"), (simulator, "candidate")]


def _long(table: pd.DataFrame) -> pd.DataFrame:
    """A row per metric that the table has: those measured before a metric existed are judged without it."""
    metrics = [metric for metric in METRICS if metric in table]
    return table.melt(id_vars=list(golden.RUN), value_vars=metrics, var_name="metric").astype({"value": float})


def shares(cells: Sequence[Row]) -> dict[str, float]:
    """Numbers of cells `within`, `off`, `undecided`, and means of `alike` and `ceiling`."""
    counts: dict[str, float] = {outcome: float(sum(cell["outcome"] == outcome for cell in cells)) for outcome in JUDGED}
    known = pd.DataFrame(cells, columns=[*LIKENESS]).astype(float).dropna() if cells else pd.DataFrame(columns=LIKENESS)
    return {**counts, **{name: float(known[name].mean()) for name in LIKENESS}}
