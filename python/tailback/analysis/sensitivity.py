"""Sensitivity of a number to the axes of a grid: Sobol' indices.

The axes are treated as independent factors with equally likely values; Y is the number of one run:

    V    = Var(E[Y | configuration]) + E[Var(Y | configuration)]     total variance: axes and repetitions
    S_i  = Var(E[Y | axis i]) / V                                    first order: axis i alone [sobol2001 §3]
    S_Ti = E[Var(E[Y | configuration] | all axes but i)] / V         total: axis i with its interactions
                                                                     [saltelli2010 eq. 3]

On a full grid the expectations are plain means, so the indices need no sampling scheme, and S_i equals η² in an
analysis of variance (a test compares it with statsmodels). The S_i, the interactions and the share between repetitions
add up to 1; S_Ti − S_i is the effect of interactions with axis i. Variances are population variances (divided by n), so
with few repetitions, chance contributes a little to the effect of every axis.

Intervals are percentiles of bootstrap samples that resample the repetitions of each configuration [efron1993 §13.3].
With one repetition there are none, and the share between repetitions counts as 0. If configurations are missing, means
are over the existing ones.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec import Struct

from tailback.analysis.intervals import CONFIDENCE
from tailback.analysis.metric import Column, Summary

RESAMPLES = 999
SEED = 1
"""Seed of the resampling, so that the same results have the same intervals."""

BETWEEN = "repetitions"
"""Label of the share of the variance that no axis explains."""

Values = npt.NDArray[np.float64]
Runs = Sequence[tuple[Mapping[str, str], Summary]]


class Sensitivity(Struct, frozen=True):
    """The indices of all axes."""

    column: Column
    indices: pd.DataFrame
    """One row per axis, sorted by decreasing total index: `axis`, `values` (their number), `first`, `first low`,
    `first high`, `total`, `total low`, `total high`, and the values with the lowest and highest mean: `least`,
    `least mean`, `most`, `most mean`.
    """
    between: float
    """Share of the variance between repetitions of the same configuration."""
    deviation: float
    """√V, in the unit of the column."""
    missing: int
    """Number of configurations of the grid without a value."""


def sensitivity(axes: Mapping[str, Sequence[str]], runs: Runs, column: Column, *, logarithmic: bool) -> Sensitivity:
    """The indices of the axes with more than one value; if `logarithmic`, of the logarithm of the number."""
    varied = {axis: list(values) for axis, values in axes.items() if len(values) > 1}
    cells = _cells(varied, runs, column)
    groups = {place: np.log10(values) if logarithmic else values for place, values in cells.items()}
    shape = tuple(len(values) for values in varied.values())
    found = _indices(_means(groups, shape), _within(groups))
    draws = np.random.default_rng(SEED)
    samples = [_resampled(groups, shape, draws) for _ in range(RESAMPLES)] if _repeated(groups) else []
    rows = [_row(place, (axis, values), (found, samples)) | _ends(place, values, cells)
            for place, (axis, values) in enumerate(varied.items())]  # fmt: skip
    table = pd.DataFrame(rows)
    if len(table):
        table = table.sort_values("total", ascending=False, kind="stable", ignore_index=True)
    missing = int(np.prod(shape)) - len(cells)
    return Sensitivity(column, table, found.between, float(np.sqrt(found.variance)), missing)


class _Found(Struct, frozen=True):
    variance: float
    between: float
    first: Values
    total: Values


Cells = dict[tuple[int, ...], Values]
"""The values of the repetitions at each position of the grid."""


def _cells(varied: Mapping[str, list[str]], runs: Runs, column: Column) -> Cells:
    found: dict[tuple[int, ...], list[float]] = {}
    for axes, summary in runs:
        value = column.read(summary)
        if value is not None:
            place = tuple(values.index(axes[axis]) for axis, values in varied.items())
            found.setdefault(place, []).append(value)
    return {place: np.array(values, dtype=np.float64) for place, values in found.items()}


def _repeated(groups: Cells) -> bool:
    return any(len(values) > 1 for values in groups.values())


def _means(groups: Cells, shape: tuple[int, ...]) -> Values:
    grid = np.full(shape, np.nan)
    for place, values in groups.items():
        grid[place] = values.mean()
    return grid


def _within(groups: Cells) -> float:
    return float(np.mean([values.var() for values in groups.values()])) if groups else 0.0


def _indices(grid: Values, within: float) -> _Found:
    places = range(grid.ndim)
    # If a whole row is missing, its mean is unknown and does not count.
    with np.errstate(invalid="ignore"):
        variance = float(np.nanvar(grid)) + within if np.isfinite(grid).any() else 0.0
        first = [_variance_of_means(grid, place) for place in places]
        total = [_mean_of_variances(grid, place) for place in places]
    scale = variance or 1.0
    return _Found(variance, within / scale, np.array(first) / scale, np.array(total) / scale)


def _variance_of_means(grid: Values, place: int) -> float:
    rows = np.moveaxis(grid, place, 0).reshape(grid.shape[place], -1)
    known = [row[np.isfinite(row)].mean() for row in rows if np.isfinite(row).any()]
    return float(np.var(known)) if known else 0.0


def _mean_of_variances(grid: Values, place: int) -> float:
    columns = np.moveaxis(grid, place, 0).reshape(grid.shape[place], -1).T
    known = [column[np.isfinite(column)].var() for column in columns if np.isfinite(column).any()]
    return float(np.mean(known)) if known else 0.0


def _resampled(groups: Cells, shape: tuple[int, ...], draws: np.random.Generator) -> _Found:
    again = {place: draws.choice(values, len(values)) for place, values in groups.items()}
    return _indices(_means(again, shape), _within(again))


def _row(
    place: int, axis: tuple[str, Sequence[str]], found: tuple[_Found, Sequence[_Found]]
) -> dict[str, str | int | float]:
    whole, samples = found
    row: dict[str, str | int | float] = {"axis": axis[0], "values": len(axis[1])}
    for name in ("first", "total"):
        low, high = _interval([float(getattr(sample, name)[place]) for sample in samples])
        row |= {name: float(getattr(whole, name)[place]), f"{name} low": low, f"{name} high": high}
    return row


def _interval(samples: Sequence[float]) -> tuple[float, float]:
    if not samples:
        return float("nan"), float("nan")
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return float(low), float(high)


def _ends(place: int, values: Sequence[str], cells: Cells) -> dict[str, str | float]:
    """The values of an axis with the lowest and the highest mean."""
    means = {
        label: float(np.mean([cell.mean() for at, cell in cells.items() if at[place] == number]))
        for number, label in enumerate(values)
        if any(at[place] == number for at in cells)
    }
    if not means:
        return {}
    least, most = min(means, key=lambda label: means[label]), max(means, key=lambda label: means[label])
    return {"least": least, "least mean": means[least], "most": most, "most mean": means[most]}
