"""Simulates cells of the matrix, as `tailback run` does."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from conformance.judge import Figures, Repetition, Simulated
from conformance.matrix import golden
from conformance.matrix.grid import PARTS, Place
from tailback import sweep
from tailback.cli import progress
from tailback.results import open_results

SEEDS = 5
"""Number of repetitions with other seeds."""


def simulate(places: Sequence[Place], jobs: int) -> Iterator[Simulated[Place]]:
    """Simulates cells, part by part; yields means over repetitions."""
    parts = dict.fromkeys(place.part for place in places)
    tables = [_part(part, [place for place in places if place.part == part], jobs, ()) for part in parts]
    found = golden.means(pd.concat(tables, ignore_index=True)) if tables else {}
    for place in places:
        yield Simulated(place, found.get(place), None if place in found else "no complete repetition")


def repetitions(place: Place) -> list[Repetition]:
    """The cell with other seeds."""
    return [Repetition("seeds", functools.partial(_with_seed, place, 101 + 10 * draw)) for draw in range(SEEDS)]


def _with_seed(place: Place, seed: int) -> Figures:
    return golden.means(_part(place.part, [place], 1, (f"seed={seed}",)))[place]


def _part(name: str, places: Sequence[Place], jobs: int, changes: Sequence[str]) -> pd.DataFrame:
    """Simulates these cells of a part; returns their figures, a row per run."""
    part = next(part for part in PARTS if part.name == name)
    settings = [*part.all_settings(), *changes]
    experiment = part.experiment(changes)
    wanted = set(places)
    there = tuple(each for each in experiment.configurations if Place.of(name, each.labels) in wanted)
    with tempfile.TemporaryDirectory(prefix="tailback-matrix-") as folder, progress.bar() as watch:
        request = sweep.Request("sim", jobs, Path(folder) / name, settings)
        sweep.run_experiment(replace(experiment, configurations=there), request, watch)
        return golden.figures(name, open_results(Path(folder) / name).runs)
