"""What chance makes of a run: its figures over several seeds of the simulator.

A run of the kernel is one draw of its back-offs, its losses and its phases. A figure that is out of tolerance although
the kernel's value lies among those of our seeds (within the tolerance) shows chance; one outside shows a mechanism.

    python -m conformance.wifi.spread PATTERN [--seeds N]     # the cells that are off in PATTERN, with their ranges
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from conformance.wifi import golden
from conformance.wifi.experiment import Experiment
from conformance.wifi.simulate import not_simulated, simulate_all
from conformance.wifi.verdict import TOLERANCES, Cell, cells

SEEDS = 6


@dataclass(frozen=True)
class Spread:
    """A cell that is off, and the values of our other seeds."""

    cell: Cell
    values: tuple[float, ...]

    @property
    def is_chance(self) -> bool:
        """The kernel's value is among ours, within the tolerance."""
        allowed = TOLERANCES[self.cell.figure].allowed(self.cell.kernel, self.cell.kernel) or 0.0
        return min(self.values) - allowed <= self.cell.kernel <= max(self.values) + allowed


def with_seed(run: Experiment, seed: int) -> Experiment:
    return replace(run, cell={**run.cell, "seed": str(seed)})


def spreads(runs: Sequence[golden.GoldenRun], off: Sequence[Cell], seeds: int, jobs: int) -> list[Spread]:
    """Of each cell that is off, the figure of its run with other seeds."""
    keys = list(dict.fromkeys(cell.experiment.key for cell in off))
    by_key = {run.experiment.key: run.experiment for run in runs}
    asked = [with_seed(by_key[key], 100 + seed) for key in keys for seed in range(seeds)]
    found: dict[str, list[dict[str, float]]] = {key: [] for key in keys}
    for result in simulate_all(asked, jobs):
        if result.measures:
            found[result.experiment.key].append(asdict(result.measures))
    return [Spread(cell, tuple(sorted(each[cell.figure] for each in found[cell.experiment.key]))) for cell in off]


def main() -> None:
    parser = argparse.ArgumentParser(description="Ranges over seeds of the cells that are out of tolerance.")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    runs = [run for run in golden.read_runs() if re.search(asked.pattern, run.experiment.key)]
    runs = [run for run in runs if not_simulated(run.experiment) is None]
    results = simulate_all([run.experiment for run in runs], asked.jobs)
    table = [
        cell
        for run, result in zip(runs, results, strict=True)
        if result.measures
        for cell in cells(run.experiment, run.kernel, result.measures)
    ]
    off = [cell for cell in table if cell.outcome == "off"]
    for spread in spreads(runs, off, asked.seeds, asked.jobs):
        print(text(spread), flush=True)


def text(spread: Spread) -> str:
    cell, values = spread.cell, [value for value in spread.values if not math.isnan(value)]
    ours = f"{min(values):8.4g} {np.median(values):8.4g} {max(values):8.4g}"
    verdict = "chance" if spread.is_chance else "MECHANISM"
    return f"{cell.experiment.key:52} {cell.figure:13} {cell.kernel:8.4g} {cell.simulator:8.4g}   {ours}  {verdict}"


if __name__ == "__main__":
    main()
