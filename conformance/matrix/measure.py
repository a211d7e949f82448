"""Has a kernel run every cell of the matrix, and keeps its figures in `tests/data/matrix`.

    python -m conformance.matrix.measure DIR [--jobs N] [--kernel NAME] [--part NAME ...]

DIR keeps the runs themselves: the same again runs only what is missing. Hours of one core, most of them at 1 Gbit/s.
Of parts that are not asked for the table keeps what it has.
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
    asked = parser.parse_args()
    wanted = [(part, experiment) for part, experiment in parts() if asked.part is None or part.name in asked.part]
    with progress.bar() as watch:
        measured = [_measured(part, experiment, asked, watch) for part, experiment in wanted]
    kept = golden.read()
    names = [part.name for part, _ in wanted]
    golden.write(pd.concat([kept[~kept["part"].isin(names)], *measured], ignore_index=True))


def _measured(part: Part, experiment: Experiment, asked: argparse.Namespace, watch: Watch) -> pd.DataFrame:
    out = asked.folder / part.name
    request = Request("sim", asked.kernel, Criteria(FIDELITY), asked.jobs, out, part.all_settings())
    done = validate(experiment, request, watch)
    for refusal in done.left_out:
        print(f"{part.name}: {', '.join(refusal.axes.values())} left out by {refusal.backend}: {refusal.reason}")
    names = {outcome.run.name for outcome in done.carried[0].outcomes if outcome.status == "ok"}
    return golden.figures(part.name, [run for run in open_results(done.carried[0].folder).runs if run.name in names])


if __name__ == "__main__":
    main()
