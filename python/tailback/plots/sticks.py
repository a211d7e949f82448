"""Figures with one mark per configuration: candlesticks, boxes, bars. A mark is at the position of its axis value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailback.plots import labels, layout, style
from tailback.plots.layout import AUTOMATIC, Axes_, Choice, Look, Roles, roles


@dataclass(frozen=True)
class Painter:
    """How one row of the table becomes a mark."""

    columns: tuple[str, ...]
    """The range of values that the scale must contain."""
    paint: Callable[[Axes, Mapping[str, Any], tuple[float, float], Look], None]
    """Draws a row on these axes, at this centre and with this width."""
    from_zero: bool = False
    """Whether the scale begins at 0, as the length of a bar requires."""
    explained: Callable[[], Sequence[Artist]] = tuple
    """What its parts mean, for the legend."""
    together: Callable[[Axes, Sequence["Mark"]], None] = lambda *_: None
    """Draws what all marks of a panel have in a few artists: one for each mark takes most of the time of a figure with
    hundreds of them.
    """


@dataclass(frozen=True)
class Mark:
    """A row of the table where it is drawn."""

    row: Mapping[str, Any]
    place: tuple[float, float]
    """Its centre and its width."""
    look: Look


def median() -> Line2D:
    """The entry of a legend for the bar at the median."""
    return Line2D([], [], color=style.BLACK, linewidth=1.1, label="Median")


def outlined(label: str) -> Patch:
    """The entry of a legend for a box."""
    return Patch(facecolor="white", edgecolor=style.BLACK, linewidth=0.8, label=label)


def whisker(label: str) -> Line2D:
    """The entry of a legend for a vertical line."""
    return Line2D([], [], color=style.BLACK, linestyle="none", marker="|", markersize=8, label=label)


MARK: dict[str, Any] = {"markersize": 3.4, "markeredgecolor": style.BLACK, "markeredgewidth": 0.6}
"""The marker that says in grey print what the colour says."""


def marked(axes: Axes, at: tuple[float, float], look: Look) -> None:
    """Draws the marker that tells the colour of a mark at its middle."""
    if look.tells:
        axes.plot(*at, marker=look.tells, markerfacecolor=look.face, zorder=4, **MARK)


def across(axes: Axes, marks: Sequence[Mark], column: str, look: Mapping[str, Any]) -> None:
    """Draws a bar over the width of each mark, at the heights that a column has."""
    centres, widths = (np.array(each) for each in zip(*(mark.place for mark in marks), strict=True))
    heights = [float(mark.row[column]) for mark in marks]
    axes.hlines(heights, centres - widths / 2, centres + widths / 2, **look)


def all_marked(axes: Axes, marks: Sequence[Mark], column: str) -> None:
    """Draws the markers that tell the colours of marks, at the heights that a column has."""
    points: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for mark in marks:
        kind = mark.look.tells, mark.look.face, mark.look.colour
        points.setdefault(kind, []).append((mark.place[0], float(mark.row[column])))
    for (marker, face, colour), places in points.items():
        if marker:
            at = zip(*places, strict=True)
            axes.plot(*at, linestyle="none", marker=marker, color=colour, markerfacecolor=face, zorder=4, **MARK)


def draw(table: pd.DataFrame, painter: Painter, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table with one row per configuration and panel."""
    axes = layout.axes_of(table)
    shown = roles(axes, choice)
    panels = list(table["panel"].unique())
    columns = layout.facets(table, shown.columns)
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=_size(table, panels, columns), layout="constrained")
        grid = figure.subplots(len(panels), len(columns), squeeze=False, sharex="col", sharey="row")
        along = labels.Ticks(())
        for row, panel in enumerate(panels):
            for place, (label, part) in enumerate(columns):
                along = on(grid[row, place], part[part["panel"] == panel], painter, (axes, shown))
                if row == 0:
                    grid[row, place].set_title(label)
            _finish_row(grid[row], table[table["panel"] == panel], painter)
        for axis in grid[-1]:
            axis.set_xlabel(shown.x or "")
        labels.entitle(figure, layout.title(axes))
        handles = [*keys(axes, shown), *along.explained(), *painter.explained()]
        labels.finish(figure, handles, along.height)
    return figure


def _size(table: pd.DataFrame, panels: Sequence[str], columns: Sequence[Any]) -> tuple[float, float]:
    sticks = len(table) / len(panels)
    width = min(style.PAGE_WIDTH, max(style.COLUMN_WIDTH, 1.2 + 0.22 * sticks))
    return (max(width, 1.6 * len(columns)), 0.7 + 1.75 * len(panels))


STICK = 0.8
"""Width of a mark as a share of its slot."""


def on(axes: Axes, part: pd.DataFrame, painter: Painter, grid: tuple[Axes_, Roles] | None = None) -> labels.Ticks:
    """Draws the rows of one panel on `axes`, and returns its labels along x: the values of the grid, and which axis is
    shown by what, follow from the rows where they are not given.
    """
    values, shown = grid or (layout.axes_of(part), roles(layout.axes_of(part)))
    ticks = values[shown.x] if shown.x else [""]
    side_by_side = layout.looks(values, shown)
    width = STICK / len(side_by_side)
    rows = cast(list[Mapping[str, Any]], part.to_dict("records"))
    named = [axis for axis in (shown.x, shown.colour, shown.hatch) if axis is not None]
    found = {key: rows[places[0]] for key, places in layout.rows_of(part, named).items()}
    marks: list[Mark] = []
    for (colour, hatch), look in side_by_side.items():
        for tick, value in enumerate(ticks):
            at = {shown.x: value, shown.colour: colour, shown.hatch: hatch}
            row = found.get(tuple(str(at[axis]) for axis in named))
            if row is not None:
                centre = tick + (look.place - (len(side_by_side) - 1) / 2) * width
                marks.append(Mark(row, (centre, width * 0.84), look))
    for mark in marks:
        painter.paint(axes, mark.row, mark.place, mark.look)
    if marks:
        painter.together(axes, marks)
    along = labels.along(axes, ticks)
    axes.set_xlim(-0.5, len(ticks) - 0.5)
    for border in range(1, len(ticks)):
        axes.axvline(border - 0.5, color="#d9d9d9", linewidth=0.5, zorder=0)
    axes.tick_params(axis="x", length=0)
    return along


def _finish_row(row: Sequence[Axes], rows: pd.DataFrame, painter: Painter) -> None:
    """Scale and label of one panel; its columns share them, so that setting those of the first sets all."""
    values = rows[list(painter.columns)].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    if painter.from_zero:
        row[0].set_ylim(0, max(float(values.max(initial=0.0)) * 1.08, 1e-9))
    else:
        style.scale(row[0], values, float(values.max(initial=0.0)))
    row[0].set_ylabel(labels.of_table(rows))


def keys(values: Axes_, shown: Roles) -> list[Artist]:
    """What colours and hatches mean, for the legend."""
    handles: list[Artist] = []
    if shown.colour:
        swatches = [
            _coloured(look, style.label(shown.colour, str(value)))
            for (value, _), look in layout.looks(values, replace(shown, hatch=None)).items()
        ]
        handles += labels.thinned(swatches) if style.is_sequence(values[shown.colour]) else swatches
    if shown.hatch:
        handles += [
            _swatch(look, style.GREY, style.label(shown.hatch, str(value)))
            for (_, value), look in layout.looks(values, replace(shown, colour=None)).items()
        ]
    return handles


def _coloured(look: Look, label: str) -> Artist:
    """The entry of a colour with its marker; of one that repeats, with its hatch, too."""
    if look.hatch:
        return _swatch(look, look.colour, label)
    return Line2D(
        [], [], color=look.colour, linewidth=7, marker=look.marker, markerfacecolor="white", label=label, **MARK
    )


def _swatch(look: Look, colour: str, label: str) -> Patch:
    return Patch(facecolor="white" if look.hatch else colour, edgecolor=colour, hatch=look.hatch, label=label)
