"""The conformance matrix as a heat map: one panel per judged metric, a cell per configuration.

Colour shows the deviation in tolerances, clipped at three. Cells out of tolerance have a cross, so that they can be
seen without colour. Rows are controls and small-queue limits, columns all other axes.
"""

import math
from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from tailback.plots import style
from tailback.plots.errors import NotDrawable

VALUES = ("metric", "deviation")
ROW_AXES = ("cc", "tsq")
CLIP = 3.0
COLOURS = "PuOr_r"
DARK = 2.0
"""Deviation from which a black cross would not be visible."""

PAGE_INCHES = 10.0
UNJUDGED = "#ececec"
CELL_INCHES = 0.2
MAX_LABELS = 60
"""Maximum number of labels; more would overlap."""


def draw(table: pd.DataFrame) -> Figure:
    """The figure of a table made by `analysis.deviations`."""
    if table.empty:
        raise NotDrawable("no metric of any configuration has a verdict\n  hint: set a tolerance, as `goodput=3%`")
    rows, columns = _sides(table)
    labels = [_labels(table, axes) for axes in (rows, columns)]
    metrics = list(dict.fromkeys(table["metric"]))
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        figure, panels = _panels(labels, len(metrics))
        for axes, metric in zip(panels, metrics, strict=True):
            _draw_panel(axes, _grid(table[table["metric"] == metric], (rows, columns), labels))
            axes.set_title(metric, loc="left")
            axes.set_yticks(range(len(labels[0])), labels[0])
            _name_columns(axes, labels[1])
        _scale_beside(figure, panels)
    return figure


def _panels(labels: Sequence[Sequence[str]], count: int) -> tuple[Figure, list[Axes]]:
    """Arranges panels within the width of a page; the last panel of a column has the labels of the x axis."""
    abreast = max(1, min(count, int((PAGE_INCHES - _label_inches(labels[0])) / _panel_inches(labels[1]))))
    lines = math.ceil(count / abreast)
    # If the last line is not full, the line above it has labels below the panels that have none below them.
    labelled = 2 if lines > 1 and count % abreast else 1
    height = 0.8 + labelled * _label_inches(labels[1]) + lines * (0.35 + CELL_INCHES * len(labels[0]))
    width = 1.6 + _label_inches(labels[0]) + abreast * _panel_inches(labels[1])
    figure = Figure(figsize=(max(4.0, width), height), layout="constrained")
    grid = figure.subplots(lines, abreast, squeeze=False, sharex=True, sharey=True).ravel()
    for place, axes in enumerate(grid):
        axes.tick_params(labelbottom=place + abreast >= count, labelleft=place % abreast == 0)
        if place >= count:
            axes.remove()
    return figure, list(grid[:count])


def _panel_inches(columns: Sequence[str]) -> float:
    return max(1.2, 0.3 + CELL_INCHES * len(columns))


def _label_inches(labels: Sequence[str]) -> float:
    return max(map(len, labels)) * 0.065


def _sides(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The axes of rows and of columns; those with one value are omitted."""
    axes = [str(axis) for axis in table if axis not in VALUES]
    varying = [axis for axis in axes if table[axis].nunique() > 1]
    rows = [axis for axis in ROW_AXES if axis in varying]
    columns = [axis for axis in varying if axis not in rows]
    return (rows, columns) if rows else (columns[:1], columns[1:])


def _keys(table: pd.DataFrame, axes: Sequence[str]) -> list[str]:
    """The label of each row of `table` along these axes."""
    parts = [[style.label(axis, str(value)) for value in table[axis]] for axis in axes]
    return [" ".join(values) for values in zip(*parts, strict=True)] if parts else [""] * len(table)


def _labels(table: pd.DataFrame, axes: Sequence[str]) -> list[str]:
    """The labels in the order of the grid, in which the first axis varies slowest."""
    orders = {axis: list(dict.fromkeys(table[axis])) for axis in axes}
    places = pd.DataFrame({axis: table[axis].map(orders[axis].index) for axis in axes}, index=table.index)
    ordered = table.loc[places.sort_values(list(axes), kind="stable").index] if axes else table
    return list(dict.fromkeys(_keys(ordered, axes)))


def _grid(
    part: pd.DataFrame, sides: tuple[Sequence[str], Sequence[str]], labels: Sequence[Sequence[str]]
) -> npt.NDArray[np.float64]:
    grid = np.full((len(labels[0]), len(labels[1])), np.nan)
    rows, columns = (_keys(part, axes) for axes in sides)
    for row, column, deviation in zip(rows, columns, part["deviation"], strict=True):
        grid[labels[0].index(row), labels[1].index(column)] = deviation
    return grid


def _draw_panel(axes: Axes, grid: npt.NDArray[np.float64]) -> None:
    axes.set_facecolor(UNJUDGED)
    # Clipped, because an infinite deviation would be drawn as an empty cell.
    axes.imshow(np.clip(grid, -CLIP, CLIP), cmap=COLOURS, vmin=-CLIP, vmax=CLIP, aspect="equal", interpolation="none")
    for cells, ink in (((np.abs(grid) > 1) & (np.abs(grid) <= DARK), style.BLACK), (np.abs(grid) > DARK, "white")):
        off = np.argwhere(cells)
        axes.plot(off[:, 1], off[:, 0], linestyle="none", marker="x", markersize=4, color=ink, markeredgewidth=0.8)
    axes.set_xlim(-0.5, grid.shape[1] - 0.5)
    axes.set_ylim(grid.shape[0] - 0.5, -0.5)
    axes.tick_params(length=0)


def _name_columns(axes: Axes, labels: Sequence[str]) -> None:
    if len(labels) <= MAX_LABELS:
        axes.set_xticks(range(len(labels)), labels, rotation=90)
    else:
        axes.set_xticks([])
        axes.set_xlabel(f"{len(labels)} configurations")


def _scale_beside(figure: Figure, panels: list[Axes]) -> None:
    scale = ScalarMappable(Normalize(-CLIP, CLIP), COLOURS)
    bar = figure.colorbar(scale, ax=panels, shrink=0.9, aspect=30, extend="both", ticks=[-CLIP, -1, 0, 1, CLIP])
    bar.set_label("Difference in tolerances; × = off")
