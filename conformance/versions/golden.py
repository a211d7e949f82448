"""The figures of each kernel, `tests/data/versions/kernel.csv`: a row per version, cell and seed, with what it cost.

The figures are those of `conformance.kinds.golden`; the version stands for the file.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from conformance.kinds.golden import RUN, complete, figures
from conformance.versions.versions import Version, experiment, only
from tailback import sweep

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "versions" / "kernel.csv"
COST = "cpu_s_per_s"
"""CPU seconds per virtual second."""


def measured(version: Version, cases: list[str], request: sweep.Request, stack: str) -> pd.DataFrame:
    """The figures of cells on a backend; runs that are complete in the folder of the request are not repeated. Those
    that fail are named, and have no figures.
    """
    done = sweep.run_experiment(only(experiment(version, stack), cases), request, sweep.Silent())
    runs = complete(done, version.name)
    costs = [run.manifest["cost"]["cpu_s"] / run.manifest["cost"]["sim_s"] for run in runs]
    return figures(version.name, runs).assign(**{COST: costs})


def merge(measured: pd.DataFrame) -> None:
    """Replaces runs of the file, and adds those that it lacks."""
    kept = read() if FILE.exists() else measured.iloc[:0]
    table = pd.concat([kept, measured]).drop_duplicates(list(RUN), keep="last").dropna(axis="columns", how="all")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    ordered = table.sort_values(list(RUN), kind="stable")
    ordered.to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


def read() -> pd.DataFrame:
    return pd.read_csv(FILE, dtype={"file": str, "case": str})
