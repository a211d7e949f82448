"""Means over the repetitions of each configuration, with 95 % intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tailback.analysis.intervals import t_interval
from tailback.analysis.metric import Column, Summary
from tailback.analysis.registry import headline
from tailback.analysis.table import frame

if TYPE_CHECKING:
    import pandas as pd

Runs = Sequence[tuple[Mapping[str, str], Summary]]


class Mean(Struct, frozen=True):
    """The mean of a number over the repetitions, and the ends of its 95 % interval; unknown values are NaN."""

    mean: float
    low: float
    high: float


UNKNOWN = Mean(math.nan, math.nan, math.nan)


class Configuration(Struct, frozen=True):
    """The repetitions of one configuration."""

    axes: Mapping[str, str]
    runs: int
    means: Mapping[str, Mean]
    """By the title of the column."""


def means(runs: Runs, columns: Sequence[Column]) -> list[Configuration]:
    """The mean of each of these columns over the repetitions of each configuration, in order of appearance."""
    groups: dict[tuple[tuple[str, str], ...], list[Summary]] = {}
    for axes, summary in runs:
        groups.setdefault(tuple(axes.items()), []).append(summary)
    return [
        Configuration(dict(axes), len(group), {column.title: _mean(group, column) for column in columns})
        for axes, group in groups.items()
    ]


def configurations(runs: Runs, columns: Sequence[Column] | None = None) -> "pd.DataFrame":
    """One row per configuration, in order of appearance: its axes, `runs`, and for each column of `columns` (the
    headline of the registry if none are given) its mean over the repetitions (`TITLE`) and the ends of the 95 %
    interval of that mean (`TITLE low`, `TITLE high`).

    Unknown values are NaN: a number that no repetition has, the interval of a single repetition.
    """
    found = means(runs, headline() if columns is None else columns)
    return frame([{**each.axes, "runs": each.runs, **_cells(each)} for each in found])


def _mean(summaries: Sequence[Summary], column: Column) -> Mean:
    known = [value for value in map(column.read, summaries) if value is not None]
    if not known:
        return UNKNOWN
    values = np.array(known, dtype=np.float64)
    return Mean(float(np.mean(values)), *t_interval(values, column.least, column.most))


def _cells(configuration: Configuration) -> dict[str, float]:
    cells: dict[str, float] = {}
    for title, found in configuration.means.items():
        cells |= {title: found.mean, f"{title} low": found.low, f"{title} high": found.high}
    return cells
