"""Bars of means over repetitions with their 95 % intervals (`analysis.intervals`), one per configuration.

Bars begin at 0, which a logarithmic scale does not have: with `--y-scale log`, means are dots. They also are if the
means of a panel span decades, because most bars would be too short to see; this panel has a logarithmic scale then.
`--y-scale linear` draws bars.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.plots import lines, quantity, sticks, style
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and quantity (`quantity.means`)."""
    wanted = (*quantity.goodput(results), quantity.TCP_RTT, quantity.PING)
    return quantity.means(results, quantity.chosen(results, choice, wanted))


def _paint(axes: Axes, row: Mapping[str, Any], place: tuple[float, float], look: Look) -> None:
    centre, width = place
    mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
    axes.bar(
        centre, mean, width, color=look.face, edgecolor=look.colour, hatch=look.hatch, linewidth=0.9, zorder=2,
    )  # fmt: skip
    sticks.marked(axes, (centre, mean), look)
    _whiskers(axes, (centre, mean), (low, high))


def _dot(axes: Axes, row: Mapping[str, Any], place: tuple[float, float], look: Look) -> None:
    mean, low, high = (float(row[column]) for column in ("mean", "low", "high"))
    axes.plot(
        place[0], mean, marker=look.marker, markersize=4.5, markerfacecolor=look.face, markeredgecolor=look.colour,
        markeredgewidth=1.1, zorder=2,
    )  # fmt: skip
    _whiskers(axes, (place[0], mean), (low, high))


def _whiskers(axes: Axes, at: tuple[float, float], ends: tuple[float, float]) -> None:
    """Draws the interval; a single repetition has none."""
    if math.isnan(ends[0]):
        return
    below, above = at[1] - ends[0], ends[1] - at[1]
    look: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.8, "capsize": 1.8, "capthick": 0.8, "zorder": 3}
    axes.errorbar(*at, yerr=[[below], [above]], **look)


BAR = sticks.Painter(("mean", "high"), _paint, from_zero=True)
DOT = sticks.Painter(("mean",), _dot)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    decades = any(style.spans_decades(part["mean"].to_numpy(np.float64)) for _, part in table.groupby("panel"))
    logarithmic = decades if choice.y_scale is None else choice.y_scale == "log"
    painter = DOT if logarithmic else BAR
    explained = _interval if table["low"].notna().any() else tuple
    return sticks.draw(table, replace(painter, explained=explained), choice)


def _interval() -> tuple[Artist, ...]:
    return (sticks.whisker(lines.INTERVAL),)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The rows of one panel on `axes`."""
    sticks.on(axes, table, BAR)
