"""Runs all cells of a grid on a kernel, and writes their figures to the table of the grid.

DIR contains the runs; running the command again executes only missing ones. The table keeps its rows of parts that are
not selected.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from conformance.grid import Grid, Part
from tailback.analysis.tolerances import FIDELITY
from tailback.cli import progress
from tailback.results import open_results
from tailback.scenario import Experiment
from tailback.sweep import Watch
from tailback.validation import Criteria, Request, validate


def main(grid: Grid, description: str, kernel: str) -> None:
    """The command; `kernel` is the backend unless another one is given."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--kernel", default=kernel, help="the backend: uml, or uml:NAME")
    parser.add_argument("--part", action="append", help="only this part; may be repeated")
    options = parser.parse_args()
    wanted = [(part, each) for part, each in grid.experiments() if options.part is None or part.name in options.part]
    with progress.bar() as watch:
        measured = [_measured(grid, part, each, options, watch) for part, each in wanted]
    names = [part.name for part, _ in wanted]
    kept = [grid.read()] if grid.table.exists() else []
    others = [table[~table["part"].isin(names)] for table in kept]
    grid.write(pd.concat([*others, *measured], ignore_index=True))


def _measured(
    grid: Grid, part: Part, experiment: Experiment, options: argparse.Namespace, watch: Watch
) -> pd.DataFrame:
    out = options.folder / part.name
    request = Request("sim", options.kernel, Criteria(FIDELITY), options.jobs, out, part.all_settings())
    done = validate(experiment, request, watch)
    for refusal in done.left_out:
        print(f"{part.name}: {', '.join(refusal.axes.values())} left out by {refusal.backend}: {refusal.reason}")
    names = {outcome.run.name for outcome in done.carried[0].outcomes if outcome.status == "ok"}
    return grid.rows(part.name, [run for run in open_results(done.carried[0].folder).runs if run.name in names])
