"""Gaps in curves over time: where nothing was sampled or answered, a curve is broken, and not drawn as if it had gone
straight from what was before to what came after.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

LONGER = 3.0
"""A gap is so many times as long as most distances between samples (`MOST`)."""

MOST = 90.0
"""Percentile of the distances: single lost pings, or the pauses between bursts of ACKs, are no gaps."""

SEEN = 0.01
"""A gap is at least this share of the whole time; a shorter one could hardly be seen."""

ALONE: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 3}
"""A sample between two gaps, through which no line goes."""


def broken(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a curve in the order of their `t`, with a row of unknown values in each gap; it is as far before the
    end of the gap as samples usually are from each other, so that a step that ends there has its width.
    """
    t = rows["t"].to_numpy(dtype=np.float64)
    between = np.diff(t)
    if len(between) < 2:
        return rows
    gap = between > max(LONGER * float(np.percentile(between, MOST)), SEEN * float(t[-1] - t[0]))
    if not gap.any():
        return rows
    known = [str(column) for column in rows if column != "t" and pd.api.types.is_float_dtype(rows[column])]
    ends = rows.iloc[1:][gap]
    unknown = ends.assign(t=ends["t"] - float(np.median(between)), **dict.fromkeys(known, np.nan))
    # Stable, so that of equal times those before the gap remain before it.
    return pd.concat([rows, unknown]).sort_values("t", kind="stable", ignore_index=True)


def draw(axes: Axes, rows: pd.DataFrame, column: str, **look: Any) -> None:
    """Draws the rows of a `broken` curve."""
    t, values = rows["t"].to_numpy(dtype=np.float64), rows[column].to_numpy(dtype=np.float64)
    axes.plot(t, values, **look)
    known = np.isfinite(values)
    alone = known & ~np.r_[False, known[:-1]] & ~np.r_[known[1:], False]
    if alone.any() and ("marker" not in look or "markevery" in look):
        axes.plot(t[alone], values[alone], color=look.get("color"), **ALONE)
