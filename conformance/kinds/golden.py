"""The kernel's figures of each case and seed, `tests/data/kinds/kernel.csv`: a row per run.

The figures are those of `tailback.analysis.differences.METRICS`, by their keys; unknown values are empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tailback.analysis.differences import METRICS
from tailback.results import RunFolder
from tailback.validation import summary_by_counters

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "kinds" / "kernel.csv"
RUN = ("file", "case", "repetition")


def figures(file: str, runs: Iterable[RunFolder]) -> pd.DataFrame:
    """A row per run; drops and marks are those of the counters of disciplines, which kernel and simulator both have."""
    return pd.DataFrame([_row(file, run) for run in runs], columns=[*RUN, *METRICS])


def _row(file: str, run: RunFolder) -> dict[str, object]:
    summary = summary_by_counters(run) if run.has("qdisc") else run.summary
    place = {"file": file, "case": run.axes["case"], "repetition": run.repetition}
    return {**place, **{key: metric.read(summary) for key, metric in METRICS.items()}}


def write(table: pd.DataFrame) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    table.sort_values(list(RUN), kind="stable").to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


def merge(measured: pd.DataFrame) -> None:
    """Replaces runs of the file, and adds those that it lacks."""
    kept = read() if FILE.exists() else measured.iloc[:0]
    write(pd.concat([kept, measured]).drop_duplicates(list(RUN), keep="last"))


def read() -> pd.DataFrame:
    return pd.read_csv(FILE, dtype={"file": str, "case": str})
