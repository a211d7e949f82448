"""Simulates cells of a grid, as `tailback run` does."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from msgspec.structs import replace

from conformance.grid import Grid, Place
from conformance.judge import Campaign, Figures, Repetition, Simulated
from tailback import sweep
from tailback.analysis.tolerances import Tolerance
from tailback.cli import progress
from tailback.results import open_results

SEEDS = 5
"""Number of repetitions with other seeds."""


def campaign(
    title: str, grid: Grid, tolerances: Mapping[str, Tolerance], known: Callable[[Place, str], str | None]
) -> Campaign[Place]:
    """The campaign of a grid; a run is a configuration, with means over its repetitions. `known` returns the reason for
    a figure of a cell.
    """
    return Campaign(
        title=title,
        tolerances=tolerances,
        shown=[figure for figure in grid.figures if figure not in tolerances],
        runs=grid.runs,
        simulate=functools.partial(simulate, grid),
        repetitions=functools.partial(repetitions, grid),
        left_out=lambda _place: None,
        reason=known,
    )


def simulate(grid: Grid, places: Sequence[Place], jobs: int) -> Iterator[Simulated[Place]]:
    """Simulates cells, part by part; yields means over repetitions."""
    found = grid.means(table(grid, places, jobs)) if places else {}
    for place in places:
        yield Simulated(place, found.get(place), None if place in found else "no complete repetition")


def table(grid: Grid, places: Sequence[Place], jobs: int) -> pd.DataFrame:
    """The figures of cells, a row per run."""
    parts = dict.fromkeys(place.part for place in places)
    each = [_part(grid, part, [place for place in places if place.part == part], jobs, ()) for part in parts]
    return pd.concat(each, ignore_index=True)


def repetitions(grid: Grid, place: Place) -> list[Repetition]:
    """The cell with other seeds."""
    return [Repetition("seeds", functools.partial(_with_seed, grid, place, 101 + 10 * draw)) for draw in range(SEEDS)]


def _with_seed(grid: Grid, place: Place, seed: int) -> Figures:
    return grid.means(_part(grid, place.part, [place], 1, (f"seed={seed}",)))[place]


def _part(grid: Grid, name: str, places: Sequence[Place], jobs: int, changes: Sequence[str]) -> pd.DataFrame:
    """Simulates these cells of a part; returns their figures, a row per run."""
    part = next(part for part in grid.parts if part.name == name)
    settings = [*part.all_settings(), *changes]
    experiment = grid.experiment(part, changes)
    wanted = set(places)
    there = tuple(each for each in experiment.configurations if grid.place(name, each.labels) in wanted)
    with tempfile.TemporaryDirectory(prefix="tailback-grid-") as folder, progress.bar() as watch:
        request = sweep.Request("sim", jobs, Path(folder) / name, settings)
        sweep.run_experiment(replace(experiment, configurations=there), request, watch)
        return grid.rows(name, open_results(Path(folder) / name).runs)
