"""Runs all cells of the matrix on a kernel, and writes their figures to `tests/data/matrix`.

    python -m conformance.matrix.measure DIR [--jobs N] [--kernel NAME] [--part NAME ...]

DIR contains the runs; running the command again executes only missing ones. It takes hours of one core, mostly for
1 Gbit/s. The table keeps its rows of parts that are not selected.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from conformance.matrix import golden
from conformance.matrix.grid import Part, parts
from tailback.analysis.tolerances import FIDELITY
from tailback.cli import progress
from tailback.results import open_results
from tailback.scenario import Experiment
from tailback.sweep import Watch
from tailback.validation import Criteria, Request, validate


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the conformance matrix on a real kernel.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--kernel", default="uml", help="the backend: uml, or uml:NAME")
    parser.add_argument("--part", action="append", help="only this part; may be repeated")
    options = parser.parse_args()
    wanted = [(part, experiment) for part, experiment in parts() if options.part is None or part.name in options.part]
    with progress.bar() as watch:
        measured = [_measured(part, experiment, options, watch) for part, experiment in wanted]
    kept = golden.read()
    names = [part.name for part, _ in wanted]
    golden.write(pd.concat([kept[~kept["part"].isin(names)], *measured], ignore_index=True))


def _measured(part: Part, experiment: Experiment, options: argparse.Namespace, watch: Watch) -> pd.DataFrame:
    out = options.folder / part.name
    request = Request("sim", options.kernel, Criteria(FIDELITY), options.jobs, out, part.all_settings())
    done = validate(experiment, request, watch)
    for refusal in done.left_out:
        print(f"{part.name}: {', '.join(refusal.axes.values())} left out by {refusal.backend}: {refusal.reason}")
    names = {outcome.run.name for outcome in done.carried[0].outcomes if outcome.status == "ok"}
    return golden.figures(part.name, [run for run in open_results(done.carried[0].folder).runs if run.name in names])


if __name__ == "__main__":
    main()
