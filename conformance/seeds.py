"""Judges a grid of which the kernel ran each configuration with several seeds: means and their intervals, as
`tailback validate` and `conformance.kinds` do (`tailback.analysis.equivalence`).

A cell is one figure of one configuration. It is within tolerance or off if the 90 % interval of the difference of the
means says so, else undecided. Beside the share of pairs of single runs that agree stands that of the kernel with
itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from conformance.grid import Grid, Place
from tailback.analysis import equivalence
from tailback.analysis.tolerances import JUDGED, LIKENESS, Outcome, Tolerance, verdict


@dataclass(frozen=True)
class SeedCell:
    """One figure of one configuration on both sides, over the seeds of each."""

    place: Place
    figure: str
    kernel: float
    """The mean of the kernel."""
    simulator: float
    """The mean of the simulator."""
    outcome: Outcome
    interval: tuple[float, float]
    """The 90 % confidence interval of the difference of the means, simulator − kernel."""
    excess: float
    """The difference in units of the tolerance, signed."""
    likeness: equivalence.Likeness

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.place.key} {self.figure}: kernel {self.kernel:.4g}, simulator {self.simulator:.4g}, "
            f"difference {low:+.3g} … {high:+.3g}: {self.outcome}"
        )


@dataclass(frozen=True)
class Shares:
    """How many cells are within tolerance, off, undecided; means of `alike` and `ceiling` over those that have both."""

    within: int
    off: int
    undecided: int
    alike: float
    ceiling: float

    @property
    def judged(self) -> int:
        """Cells with a verdict."""
        return self.within + self.off + self.undecided


def cells(
    grid: Grid, tolerances: Mapping[str, Tolerance], kernel: pd.DataFrame, simulator: pd.DataFrame
) -> list[SeedCell]:
    """The cells of configurations that both tables have; figures that the kernel does not have are left out."""
    found = dict(_groups(grid, simulator))
    pairs = ((place, rows, found[place]) for place, rows in _groups(grid, kernel) if place in found)
    return [
        cell
        for place, theirs, ours in pairs
        for figure, tolerance in tolerances.items()
        if (cell := _cell(place, figure, tolerance, (theirs, ours))) is not None
    ]


def _groups(grid: Grid, table: pd.DataFrame) -> Iterator[tuple[Place, pd.DataFrame]]:
    for labels, rows in table.groupby(["part", *grid.axes], sort=False):
        part, *values = map(str, labels)
        yield Place(part, grid.axes, tuple(values)), rows.sort_values("repetition")


def _cell(place: Place, figure: str, tolerance: Tolerance, sides: tuple[pd.DataFrame, pd.DataFrame]) -> SeedCell | None:
    kernel, simulator = (side[figure].dropna().to_numpy(dtype=np.float64) for side in sides)
    if not len(kernel):
        return None
    means = float(np.mean(kernel)), float(np.mean(simulator)) if len(simulator) else math.nan
    interval = equivalence.interval_of_means(kernel, simulator)
    found = verdict(means[1] - means[0], tolerance.allowed(*means), interval)
    alike = equivalence.likeness(kernel, simulator, tolerance)
    return SeedCell(place, figure, *means, found.outcome, interval, found.excess, alike)


def shares(found: Sequence[SeedCell]) -> Shares:
    """The verdicts on some cells."""
    within, off, undecided = (sum(cell.outcome == outcome for cell in found) for outcome in JUDGED)
    known = [one for cell in found if not math.isnan((one := cell.likeness).alike) and not math.isnan(one.ceiling)]
    if not known:
        return Shares(within, off, undecided, math.nan, math.nan)
    alike, ceiling = (float(np.mean([getattr(one, name) for one in known])) for name in LIKENESS)
    return Shares(within, off, undecided, alike, ceiling)
