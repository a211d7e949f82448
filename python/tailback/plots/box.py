"""Box plots: quartiles with a bar at the median, whiskers from the 5th to the 95th percentile, one per configuration.

The samples are those of the candlesticks: goodput of all flows in bins of 1 s, RTT of all flows, over the measurement
window and all repetitions. Whiskers are percentiles instead of 1.5 interquartile ranges, because queueing delays are
skewed and would give many outliers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tailback.plots import candlestick, sticks, style
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results

SHARES = (5, 25, 50, 75, 95)


def _paint(axes: Axes, row: Mapping[str, Any], place: tuple[float, float], look: Look) -> None:
    centre, width = place
    first, third = float(row["p25"]), float(row["p75"])
    axes.add_artist(
        Rectangle(
            (centre - width / 2, first), width, third - first, facecolor=look.face, edgecolor=look.colour,
            hatch=look.hatch, linewidth=0.9, zorder=2,
        )
    )  # fmt: skip


def _lines(axes: Axes, marks: Sequence[sticks.Mark]) -> None:
    whiskers: dict[str, Any] = {"colors": [mark.look.colour for mark in marks], "linewidth": 0.8, "zorder": 1}
    low, high = ([float(mark.row[share]) for mark in marks] for share in ("p5", "p95"))
    axes.vlines([mark.place[0] for mark in marks], low, high, **whiskers)
    half = [replace(mark, place=(mark.place[0], mark.place[1] / 2)) for mark in marks]
    for share in ("p5", "p95"):
        sticks.across(axes, half, share, whiskers)
    sticks.across(axes, marks, "p50", {"colors": style.BLACK, "linewidth": 1.1, "zorder": 3})
    sticks.all_marked(axes, marks, "p50")


def _explained() -> tuple[Artist, ...]:
    return sticks.outlined("25th to 75th percentile"), sticks.median(), sticks.whisker("5th to 95th percentile")


BOX = sticks.Painter(tuple(f"p{share}" for share in SHARES), _paint, explained=_explained, together=_lines)


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """The table of `candlestick.percentiles` for goodput and TCP RTT, or the metric of the choice."""
    return candlestick.percentiles(results, candlestick.chosen(choice, candlestick.STICKS), SHARES)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table of these percentiles, from `candlestick.data`."""
    return sticks.draw(table, BOX, choice)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The rows of one panel on `axes`."""
    sticks.on(axes, table, BOX)
