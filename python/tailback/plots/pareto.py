"""Goodput against latency: a point per configuration with the 95 % intervals of both, and the Pareto front
(`analysis.tradeoffs`). One panel per condition; up and to the left is better.

The front is drawn as stairs: between two of its points nothing is known to be better than the corner.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tailback.advice import Front, WrongQuestion, fronts
from tailback.plots import labels, layout, lines, style
from tailback.plots.errors import TO_RECORD, NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results

ACROSS = 3
UNDER = "under"
"""Column with how many equal points are drawn above a point."""

WIDER = 4.0
"""Points by which the marker of a point is larger than that of an equal one above it, so that both are seen."""

MOST_UNDER = 3
"""The number of equal points for which a marker is larger; more would cover others."""

MAX_NAMED = 6
"""Maximum number of points of a front that have a label."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration: axes, panel (the condition), unit (of the latency), n, x (latency) and y (goodput,
    Mbit/s) with the ends of their intervals, pareto, on front.
    """
    try:
        found = fronts(results, choice.metric, choice.facet, choice.choose)
    except WrongQuestion as error:
        if choice.metric is not None:
            raise
        raise NotDrawable(f"{str(error).partition(chr(10))[0]}\n  hint: {TO_RECORD['ping']}") from error
    table = pd.concat([_rows(front) for front in found], ignore_index=True)
    # In the order of the experiment file, as in all figures.
    place = {tuple(axes.values()): number for number, (axes, _) in enumerate(results.configurations)}
    order = [place[tuple(map(str, row))] for row in table[list(results.axes)].itertuples(index=False)]
    return table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _rows(front: Front) -> pd.DataFrame:
    named = {f"{front.cost.title}{end}": f"x{end}" for end in ("", " low", " high")}
    named |= {f"{front.gain.title}{end}": f"y{end}" for end in ("", " low", " high")}
    table = front.table.rename(columns={**named, "runs": "n"})
    table["panel"] = ", ".join(style.label(axis, value) for axis, value in front.given.items())
    table["unit"] = labels.quantity(front.cost.title, front.cost.unit)
    return table


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    panels = list(table["panel"].unique())
    if len(panels) > lines.MAX_PANELS:
        raise NotDrawable(
            f"{len(panels)} conditions are too many, at most {lines.MAX_PANELS} panels fit\n"
            "  hint: choose some runs with `--where AXIS=VALUE`"
        )
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    styles = _styles(table, choice)
    width = style.COLUMN_WIDTH if across == 1 else style.PAGE_WIDTH
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=(width, 0.8 + down * (2.6 if across == 1 else 2.1)), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            on(axes, table[table["panel"] == panel], styles)
            axes.set_title(panel)
            axes.set_xlabel(str(table["unit"].iloc[0]))
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        for axes in grid[::across]:
            axes.set_ylabel("Goodput (Mbit/s)")
        labels.finish(figure, _handles(table, styles))
    return figure


Styles = tuple[layout.Roles, list[str], lines.Looks]
"""The axes shown by colour and by marker, those shown by name, and the look of each pair of values."""


def _styles(table: pd.DataFrame, choice: Choice) -> Styles:
    """Conditions select the panel; two of the settings select colour and marker."""
    values = layout.axes_of(table)
    apart = [axis for axis in values if (table.groupby("panel")[axis].nunique() > 1).any()]
    shown = layout.line_roles({axis: values[axis] for axis in apart}, Choice(colour=choice.colour))
    left = [axis for axis in apart if axis != shown.colour]
    marker = shown.hatch or next(iter(left), None)
    shown = layout.Roles(None, shown.colour, marker, ())
    looks = layout.looks(values, shown)
    shades = not marker and shown.colour is not None and style.is_sequence(values[shown.colour])
    return shown, [axis for axis in left if axis != marker], looks if shades else layout.pointed(looks)


def on(axes: Axes, rows: pd.DataFrame, styles: Styles | None = None) -> None:
    """The points and the front of one panel on `axes`."""
    shown, names, looks = styles or _styles(rows, AUTOMATIC)
    rows = rows.assign(**{UNDER: rows.groupby(["x", "y"]).cumcount(ascending=False)})
    if bool(rows["pareto"].any()):
        _stairs(axes, rows[rows["pareto"].astype(bool)])
    for (first, second), look in looks.items():
        _points(axes, layout.find(rows, {shown.colour: first, shown.hatch: second}), look)
    front = rows[rows["pareto"].astype(bool)]
    if names and len(front) <= MAX_NAMED:
        _name(axes, front, names)
    _scale(axes, rows)


def _stairs(axes: Axes, front: pd.DataFrame) -> None:
    ordered = front.sort_values(["x", "y"])
    axes.step(ordered["x"], ordered["y"], where="post", color=style.GREY, linewidth=1.0, zorder=1)


def _points(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    for row in rows.to_dict("records"):
        bars: dict[str, Any] = {
            f"{name}err": _whisker(row, name) for name in ("x", "y") if not math.isnan(row[f"{name} low"])
        }
        kind: dict[str, Any] = {"markersize": 5 if row["pareto"] else 3.5, "alpha": 1.0 if row["pareto"] else 0.6}
        kind["markersize"] += WIDER * min(row[UNDER], MOST_UNDER)
        face = look.colour if row["pareto"] else "white"
        axes.errorbar(
            row["x"], row["y"], fmt=look.marker, color=look.colour, markerfacecolor=face, elinewidth=0.7, zorder=3,
            **bars, **kind,
        )  # fmt: skip


def _whisker(row: Mapping[Any, Any], name: str) -> list[list[float]]:
    return [[row[name] - row[f"{name} low"]], [row[f"{name} high"] - row[name]]]


def _name(axes: Axes, front: pd.DataFrame, names: Sequence[str]) -> None:
    named = {", ".join(str(row[axis]) for axis in names): row for row in front.sort_values("x").to_dict("records")}
    for place, (text, row) in enumerate(named.items()):
        below = -9 - 8 * (place % 2)
        axes.annotate(text, (row["x"], row["y"]), (4, below), textcoords="offset points", fontsize=6, color=style.GREY)


def _scale(axes: Axes, rows: pd.DataFrame) -> None:
    """The scales contain the points and their intervals."""
    x, (left, right), (below, above) = rows["x"].to_numpy(np.float64), _reach(rows, "x"), _reach(rows, "y")
    if style.spans_decades(x):
        style.logarithmic_x(axes, (float(x.min()) / 1.7, max(right * 1.1, float(x.max()) * 1.7)))
    else:
        axes.set_xlim(min(0.0, left), max(right * 1.15, 1e-9))
    spread = max(above - below, 0.02 * above, 1e-9)
    # The room below is for names of points.
    axes.set_ylim(max(min(0.0, below), below - spread * 0.6), above + spread * 0.3)


def _reach(rows: pd.DataFrame, name: str) -> tuple[float, float]:
    """The ends of points and intervals."""
    values = rows[[name, f"{name} low", f"{name} high"]].to_numpy(np.float64)
    return float(np.nanmin(values)), float(np.nanmax(values))


def _handles(table: pd.DataFrame, styles: Styles) -> list[Artist]:
    """The entries of the legend."""
    shown, _, looks = styles
    handles = lines.pair_keys(table, shown, looks) if shown.colour or shown.hatch else []
    if shown.colour and not shown.hatch and style.is_sequence(layout.axes_of(table)[shown.colour]):
        handles = lines.colour_keys(layout.axes_of(table), shown, "marker")
    if not table["pareto"].astype(bool).all():
        hollow: dict[str, Any] = {"marker": "o", "markersize": 3.5, "markerfacecolor": "white", "alpha": 0.6}
        handles.append(Line2D([], [], color=style.GREY, linestyle="none", label="Beaten by another", **hollow))
    handles.append(Line2D([], [], color=style.GREY, linewidth=1.0, label="Pareto front"))
    if table[["x low", "y low"]].notna().any(axis=None):
        cross: dict[str, Any] = {"linestyle": "none", "marker": "+", "markersize": 7, "markeredgewidth": 0.7}
        handles.append(Line2D([], [], color=style.GREY, label=lines.INTERVAL, **cross))
    if table.duplicated(["panel", "x", "y"]).any():
        ring: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 7, "markerfacecolor": "none"}
        handles.append(Line2D([], [], color=style.GREY, label="Larger: below an equal point", **ring))
    return handles
