"""The kernel's figures in each cell, `tests/data/matrix/kernel.csv`: a row per run with its axes and its figures.

The figures are those of `tailback.analysis.differences.METRICS`, by their keys; unknown values are empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pandas as pd

from conformance.judge import Figures, Run
from conformance.matrix.grid import AXES, Place
from tailback.analysis.differences import METRICS
from tailback.results import RunFolder
from tailback.validation import summary_by_counters

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "matrix" / "kernel.csv"
PLACE = ("part", *AXES, "repetition")
FIGURES = (
    "goodput_mbps.total",
    "tcp_rtt_ms.p50",
    "tcp_rtt_ms.p90",
    "retransmits",
    "drops",
    "ping_ms.p50",
    "ping_ms.p90",
    "cwnd_segments.mean",
)


def figures(part: str, runs: Iterable[RunFolder]) -> pd.DataFrame:
    """A row per run; drops are those of the counters of disciplines, which kernel and simulator both have."""
    return pd.DataFrame([_row(part, run) for run in runs], columns=[*PLACE, *FIGURES])


def _row(part: str, run: RunFolder) -> dict[str, object]:
    summary = summary_by_counters(run)
    place = {"part": part, **run.axes, "repetition": run.repetition}
    return {**place, **{key: METRICS[key].read(summary) for key in FIGURES}}


def write(table: pd.DataFrame) -> None:
    """Writes the file; of a cell that several parts have, the runs of the first one."""
    first = table.groupby(list(AXES))["part"].transform("first")
    table = table[table["part"] == first]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(FILE, index=False, float_format="%.6g")


def read() -> pd.DataFrame:
    """Reads the table; labels of axes are text."""
    return pd.read_csv(FILE, dtype=dict.fromkeys(("part", *AXES), str))


def runs() -> list[Run[Place]]:
    """The configurations of the table, with means of the kernel's figures."""
    return [Run(place, figures) for place, figures in means(read()).items()]


def means(table: pd.DataFrame) -> dict[Place, Figures]:
    """The mean of each figure over the repetitions that have it, by configuration."""
    found = table.groupby(["part", *AXES], sort=False)[list(FIGURES)].mean()
    places = (Place(labels[0], labels[1:]) for labels in cast("list[tuple[str, ...]]", list(found.index)))
    return dict(zip(places, cast("list[Figures]", found.to_dict("records")), strict=True))
