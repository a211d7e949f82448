"""Says in a panel what its axis leaves out: the peak of slow start, which would flatten all that is measured."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from tailback.analysis.digits import significant

NOTICED = 1.02
"""A peak by less than this above the axis is seen to go on."""


class Peaks:
    """The greatest values of the panels of a figure."""

    def __init__(self) -> None:
        self._of: dict[Axes, float] = {}

    def see(self, axes: Axes, values: npt.ArrayLike) -> None:
        """Values are drawn in a panel."""
        highest = np.nanmax(np.append(np.asarray(values, dtype=np.float64), 0.0))
        self._of[axes] = max(self._of.get(axes, 0.0), float(highest))

    def note(self, unit: str) -> None:
        """Writes the peak into each panel that does not show it; call it when the axes have their limits."""
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}
        for axes, highest in self._of.items():
            where: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "va": "top", "fontsize": 6.5}
            if highest > NOTICED * axes.get_ylim()[1]:
                axes.text(0.03, 0.97, f"peak: {significant(highest)} {unit}", bbox=box, **where)
