"""Goodput against ping: a point per repetition, a cross at their mean, and an ellipse that holds about 95 % of them.

The form of many figures on delay, of `wlan18` and `ton22` among them: up and to the left is better. The ellipse is
that of a normal distribution with the covariance of the repetitions, √χ²₀.₉₅(2) = 2.448 standard deviations along
each of its axes; with fewer than three repetitions there is none.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Patch

from tailback.analysis.metrics import Samples
from tailback.plots import labels, layout, lines, quantity, style
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results

RADIUS = math.sqrt(5.991465)
"""Standard deviations: χ² with two degrees of freedom is below 5.99 in 95 of 100 cases."""

FEWEST = 3
"""Repetitions of an ellipse."""

HOLDS = "Ellipse that holds 95 % of repetitions"
"""What an ellipse is, for the legend."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per run: axes, repetition, panel, unit (both of the delay), x (delay), y (goodput, Mbit/s)."""
    (delay,) = quantity.chosen(results, choice, (quantity.PING, quantity.TCP_RTT))[:1]
    goodput = quantity.values(results, quantity.GOODPUT)
    if goodput.empty:
        raise lacking(results.path, "goodput", "goodput")
    places = [*results.axes, "repetition"]
    both = quantity.values(results, delay).merge(goodput[[*places, "value"]], on=places, suffixes=("", " goodput"))
    return both.rename(columns={"value": "x", "value goodput": "y"})


def paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    """The points of one configuration, their mean, their ellipse."""
    x, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)
    points: dict[str, Any] = {"linestyle": "none", "markersize": 3, "alpha": 0.7, "markeredgewidth": 0, "zorder": 3}
    axes.plot(x, y, marker=look.marker, color=look.colour, **points)
    mean: dict[str, Any] = {"markersize": 6, "markerfacecolor": "white", "markeredgewidth": 1.3, "zorder": 4}
    axes.plot(x.mean(), y.mean(), marker=look.marker, markeredgecolor=look.colour, **mean)
    if len(x) >= FEWEST:
        axes.add_patch(ellipse(x, y, look))


def ellipse(x: Samples, y: Samples, look: Look) -> Ellipse:
    """The ellipse that contains about 95 % of the points."""
    variances, directions = np.linalg.eigh(np.cov(x, y))
    long, short = RADIUS * np.sqrt(np.maximum(variances[::-1], 0))
    angle = math.degrees(math.atan2(directions[1, 1], directions[0, 1]))
    return Ellipse(
        (float(x.mean()), float(y.mean())), 2 * float(long), 2 * float(short), angle=angle, facecolor=look.colour,
        alpha=0.18, edgecolor=look.colour, linestyle=look.line, linewidth=0.8, zorder=2,
    )  # fmt: skip


def explained(table: pd.DataFrame) -> list[Artist]:
    """The entries of a legend for a point, a mean and an ellipse, if there are some."""
    points: dict[str, Any] = {"linestyle": "none", "marker": style.MARKERS[0], "color": style.GREY}
    axes = list(layout.axes_of(table))
    most = int(table.groupby(axes).size().max()) if axes else len(table)
    mean = Line2D([], [], **points, markersize=6, markerfacecolor="white", markeredgewidth=1.3, label="Mean")
    found: list[Artist] = [Line2D([], [], **points, markersize=3, label="Repetition"), mean] if most > 1 else []
    if most >= FEWEST:
        found.append(Patch(facecolor="#dddddd", edgecolor=style.GREY, linewidth=0.8, label=HOLDS))
    return found


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    scale = partial(_scale, delays=table["x"].to_numpy(np.float64))
    label, goodput = labels.of_table(table), labels.quantity(quantity.GOODPUT.title, quantity.GOODPUT.unit)
    panels = lines.Panels(paint, scale, label, goodput, height="y", key="marker", explained=explained)
    return lines.draw(table, panels, choice)


def _scale(axes: Axes, table: pd.DataFrame, delays: Samples) -> None:
    """Delays have the same scale in all panels."""
    if style.spans_decades(delays):
        style.logarithmic_x(axes, (float(delays.min()) / 1.7, float(delays.max()) * 1.7))
    else:
        axes.set_xlim(0, float(delays.max()) * 1.15)
    highest = reach(table)
    axes.set_ylim(0, highest * 1.15 if highest > 0 else 1)


def reach(table: pd.DataFrame) -> float:
    """How high points and ellipses go."""
    axes = list(layout.axes_of(table))
    parts = [part["y"].astype(float) for _, part in table.groupby(axes)] if axes else [table["y"].astype(float)]
    tops = [float(each.mean() + RADIUS * each.std()) / 1.1 for each in parts if len(each) >= FEWEST]
    return max(float(table["y"].max()), *tops, 0.0)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The points and ellipses on `axes`."""
    lines.on(axes, table, paint)
