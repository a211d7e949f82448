"""The time outside of the measurement window, which every figure over time shades and names alike."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, style
from tailback.results import RunResult

EDGES = ("window start", "window end")
"""Columns with the measurement window of the run, in s."""

OUTSIDE = "#f0f0f0"
"""The colour of the time outside of the measurement window."""


def edges(run: RunResult) -> Mapping[str, float]:
    """The columns `EDGES` of the rows of a run."""
    start, end = run.window_ns
    return {EDGES[0]: start / NANOSECONDS, EDGES[1]: end / NANOSECONDS}


def within(t: Any, run: RunResult) -> Any:
    """Which times (s), a column or an array, are in the measurement window."""
    start, end = edges(run).values()
    return (t >= start) & (t < end)


def known(table: pd.DataFrame) -> bool:
    """Whether a table has the window."""
    return len(table) > 0 and set(EDGES) <= set(table)


def shade(axes: Axes, rows: pd.DataFrame, last: float) -> None:
    """Shades what of a panel, which ends at `last` (s), is in the window of none of these rows."""
    if not known(rows):
        return
    start, end = float(rows[EDGES[0]].min()), float(rows[EDGES[1]].max())
    for left, right in ((0.0, min(start, last)), (max(end, 0.0), last)):
        if right > left:
            axes.axvspan(left, right, color=OUTSIDE, linewidth=0, zorder=0)


def key(table: pd.DataFrame, last: float | None = None) -> list[Patch]:
    """The entry of the legend, if a panel of the table is shaded."""
    if not known(table):
        return []
    last = bins.last(table) if last is None else last
    if (table[EDGES[0]] > 0).any() or (table[EDGES[1]] < last).any():
        return [Patch(facecolor=OUTSIDE, edgecolor=style.GREY, linewidth=0.4, label="Not measured")]
    return []
