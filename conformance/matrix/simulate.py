"""Runs the simulator in every cell of the kernel campaign, and compares the two."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from conformance.matrix import golden
from conformance.matrix.grid import AXES, Part
from tailback import sweep
from tailback.analysis.differences import differences
from tailback.analysis.tolerances import FIDELITY, judged
from tailback.results import open_results
from tailback.scenario import Configuration, Experiment
from tailback.sweep import Watch

CONFIGURATION = ("part", *AXES)


def simulated(part: Part, experiment: Experiment, kernel: pd.DataFrame, jobs: int, watch: Watch) -> pd.DataFrame:
    """Figures of the simulator in the cells of `part` that `kernel` has; no other is run."""
    places = {tuple(place) for place in kernel.loc[kernel["part"] == part.name, list(AXES)].to_numpy()}
    there = tuple(each for each in experiment.configurations if _place(each) in places)
    if not there:
        return golden.figures(part.name, [])
    with tempfile.TemporaryDirectory(prefix="tailback-matrix-") as folder:
        request = sweep.Request("sim", jobs, Path(folder) / part.name, part.all_settings())
        sweep.carry_out(replace(experiment, configurations=there), request, watch)
        return golden.figures(part.name, open_results(Path(folder) / part.name).runs)


def _place(configuration: Configuration) -> tuple[str, ...]:
    return tuple(configuration.labels[axis] for axis in AXES)


def compared(kernel: pd.DataFrame, simulator: pd.DataFrame) -> pd.DataFrame:
    """A row per cell and figure, as `tailback.analysis.tolerances.judged` makes them, with the axes in front."""
    both = kernel.merge(simulator, on=[*CONFIGURATION, "repetition"], suffixes=(" kernel", " simulator"))
    cells = both.groupby(list(CONFIGURATION), sort=False).ngroup()
    pairs = pd.concat([_pairs(both, cells, figure) for figure in golden.FIGURES], ignore_index=True)
    found = judged(differences(pairs), FIDELITY)
    places = both.assign(configuration=cells).drop_duplicates("configuration")[["configuration", *CONFIGURATION]]
    return places.merge(found, on="configuration")


def _pairs(both: pd.DataFrame, cells: pd.Series[int], figure: str) -> pd.DataFrame:
    sides = {"reference": both[f"{figure} kernel"], "candidate": both[f"{figure} simulator"]}
    table = pd.DataFrame({"configuration": cells, "metric": figure, **sides})
    return table.astype(dict.fromkeys(sides, np.float64)).dropna(subset=list(sides), how="all")


def off(cells: pd.DataFrame) -> Sequence[dict[str, object]]:
    """The cells out of tolerance, farthest first."""
    found = cells[cells["outcome"] == "off"]
    ordered = found.reindex(found["excess"].abs().sort_values(ascending=False, kind="stable").index)
    return [{str(key): value for key, value in row.items()} for row in ordered.to_dict("records")]


def text(row: dict[str, object], key: str) -> str:
    """A word of a row of `off`."""
    return cast("str", row[key])
