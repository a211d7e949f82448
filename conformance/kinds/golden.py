"""The kernel's figures of each case and seed, `tests/data/kinds/kernel.csv`: a row per run.

The figures are those of `tailback.analysis.differences.METRICS`, by their keys; unknown values are empty.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from msgspec.structs import replace

from conformance.kinds.kinds import Case, experiment
from tailback import sweep
from tailback.analysis.differences import METRICS
from tailback.results import RunResult, open_results
from tailback.validation import summary_by_counters

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "kinds" / "kernel.csv"
RUN = ("file", "case", "repetition")


def measured(case: Case, seeds: int, request: sweep.Request) -> pd.DataFrame:
    """The figures of so many repetitions of a case. Each case has a folder of its own below that of the request; runs
    that are complete there are not repeated.
    """
    folder = (request.out or Path()) / case.file / re.sub(r"\W+", "_", case.name) / request.backend.replace(":", "-")
    done = sweep.run_experiment(experiment(case.file, {case.name: seeds}), replace(request, out=folder), sweep.Silent())
    return figures(case.file, complete(done, case.file))


def complete(done: sweep.SweepResult, what: str) -> list[RunResult]:
    """The complete runs of a sweep. Those that failed are named on standard error."""
    for failed in done.failed:
        print(f"{what}: the run {failed.run.name} failed: {failed.error}", file=sys.stderr, flush=True)
    return list(open_results(done.folder).runs)


def figures(file: str, runs: Iterable[RunResult]) -> pd.DataFrame:
    """A row per run; drops and marks are those of the counters of disciplines, which kernel and simulator both have."""
    return pd.DataFrame([_row(file, run) for run in runs], columns=[*RUN, *METRICS])


def _row(file: str, run: RunResult) -> dict[str, object]:
    summary = summary_by_counters(run) if run.has("qdisc") else run.summary
    place = {"file": file, "case": run.axes["case"], "repetition": run.repetition}
    return {**place, **{key: metric.read(summary) for key, metric in METRICS.items()}}


def write(table: pd.DataFrame) -> None:
    """A figure that no case has gets no column."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    known = table.dropna(axis="columns", how="all")
    known.sort_values(list(RUN), kind="stable").to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


def merge(measured: pd.DataFrame) -> None:
    """Replaces runs of the file, and adds those that it lacks."""
    kept = read() if FILE.exists() else measured.iloc[:0]
    write(pd.concat([kept, measured]).drop_duplicates(list(RUN), keep="last"))


def read() -> pd.DataFrame:
    return pd.read_csv(FILE, dtype={"file": str, "case": str})
