"""Grids of configurations that a kernel was measured in, once, and the simulator runs: parts of an experiment file,
whose full product would take days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from conformance.judge import Figures, Run
from tailback import scenario
from tailback.analysis.differences import METRICS
from tailback.results import RunResult
from tailback.scenario import Experiment
from tailback.validation import every, summary_by_counters

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the repository."""


@dataclass(frozen=True)
class Place:
    """A cell of a grid: its labels in the order of the axes."""

    part: str
    axes: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def labels(self) -> dict[str, str]:
        """Label by axis."""
        return dict(zip(self.axes, self.values, strict=True))

    @property
    def key(self) -> str:
        """The name of the cell, unique in the grid."""
        return " ".join((self.part, *self.values))

    @property
    def group(self) -> str:
        """The control."""
        return self.labels["cc"]


@dataclass(frozen=True)
class Part:
    """A part of a grid, possibly with axes over whole registries."""

    name: str
    settings: tuple[str, ...]
    walks: tuple[str, ...] = ()

    def all_settings(self) -> list[str]:
        """Settings as for `--set`; axes over registries have all current values."""
        return [*every(self.walks), *self.settings]


@dataclass(frozen=True)
class Grid:
    """A grid, and the kernel's figures in each of its cells: a table with a row per run, its axes and its figures.

    The figures are those of `tailback.analysis.differences.METRICS`, by their keys, and other numbers of
    `summary.json`, by their paths; unknown values are empty.
    """

    file: Path
    """The experiment."""
    table: Path
    axes: tuple[str, ...]
    parts: tuple[Part, ...]
    figures: tuple[str, ...]

    def experiment(self, part: Part, changes: Sequence[str] = ()) -> Experiment:
        """A part as an experiment, with additional settings."""
        return scenario.load(self.file, [*part.all_settings(), *changes])

    def experiments(self) -> Iterator[tuple[Part, Experiment]]:
        """All parts, with their experiments."""
        for part in self.parts:
            yield part, self.experiment(part)

    def place(self, part: str, labels: Mapping[str, str]) -> Place:
        """The cell with these labels."""
        return Place(part, self.axes, tuple(labels[axis] for axis in self.axes))

    def rows(self, part: str, runs: Iterable[RunResult]) -> pd.DataFrame:
        """A row per run; drops are those of the counters of disciplines, which kernel and simulator both have."""
        columns = ["part", *self.axes, "repetition", *self.figures]
        return pd.DataFrame([self._row(part, run) for run in runs], columns=columns)

    def _row(self, part: str, run: RunResult) -> dict[str, object]:
        summary = summary_by_counters(run)
        place = {"part": part, **run.axes, "repetition": run.repetition}
        return {**place, **{key: _figure(summary, key) for key in self.figures}}

    def write(self, table: pd.DataFrame) -> None:
        """Writes the table; of a cell that several parts have, the runs of the first one."""
        first = table.groupby(list(self.axes))["part"].transform("first")
        table = table[table["part"] == first]
        self.table.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(self.table, index=False, float_format="%.6g")

    def read(self) -> pd.DataFrame:
        """Reads the table; labels of axes are text."""
        return pd.read_csv(self.table, dtype=dict.fromkeys(("part", *self.axes), str))

    def runs(self) -> list[Run[Place]]:
        """The configurations of the table, with means of the kernel's figures."""
        return [Run(place, figures) for place, figures in self.means(self.read()).items()]

    def means(self, table: pd.DataFrame) -> dict[Place, Figures]:
        """The mean of each figure over the repetitions that have it, by configuration."""
        found = table.groupby(["part", *self.axes], sort=False)[list(self.figures)].mean()
        labels = cast("list[tuple[str, ...]]", list(found.index))
        places = (Place(each[0], self.axes, each[1:]) for each in labels)
        return dict(zip(places, cast("list[Figures]", found.to_dict("records")), strict=True))


def _figure(summary: Mapping[str, Any], key: str) -> float | None:
    if key in METRICS:
        return METRICS[key].read(summary)
    *path, last = key.split(".")
    for name in path:
        summary = summary.get(name, {})
    return cast("float | None", summary.get(last))
