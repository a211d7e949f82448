"""Panels of lines: one panel per value of the axes that colours and line styles do not show."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailback.plots import labels, layout, many, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Axes_, Choice, Look, Roles

MAX_PANELS = 24
ACROSS = 4
MAX_ACROSS = 6

INTERVAL = "95 % interval"
"""What bands around means over repetitions are."""

APART = 5.0
"""Ratio between the largest values of panels from which they do not share a scale."""


@dataclass(frozen=True)
class Panels:
    """The content of the panels."""

    paint: Callable[[Axes, pd.DataFrame, Look], None]
    """Draws the rows of one configuration."""
    scale: Callable[[Axes, pd.DataFrame], None]
    """Sets the limits of one panel for these rows: its own, or those of all panels."""
    x_label: str
    y_label: str
    height: str | None = None
    """The column whose largest values determine whether panels share a scale; without it they do."""
    key: Literal["line", "marker"] = "line"
    """How to distinguish the values of the second axis."""
    band: str | None = None
    """What the band around a line is, for the legend."""


def draw(table: pd.DataFrame, panels: Panels, choice: Choice) -> Figure:
    """The figure."""
    axes = layout.axes_of(table)
    shown = layout.line_roles(axes, choice)
    columns, across = _order(axes, shown.columns)
    parts = layout.facets(table, columns)
    parts = sorted(parts, key=lambda part: [axes[axis].index(str(part[1][axis].iloc[0])) for axis in columns])
    if len(parts) > MAX_PANELS:
        raise NotDrawable(
            f"{len(parts)} panels are too many, at most {MAX_PANELS} fit\n"
            f"  hint: choose some runs with `--where AXIS=VALUE`; there are panels for {', '.join(shown.columns)}"
        )
    across = min(across, len(parts))
    down = math.ceil(len(parts) / across)
    share = _shared(parts, panels.height, across if len(columns) == 2 and across * down == len(parts) else None)
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=_size(across, down), layout="constrained")
        together = share == "all"
        grid = list(figure.subplots(down, across, squeeze=False, sharex=together, sharey=share).ravel())
        groups = _groups(share, len(parts), across)
        for panel, (label, part), group in zip(grid, parts, groups, strict=False):
            on(panel, part, panels.paint, (axes, shown))
            same = [other for (_, other), its in zip(parts, groups, strict=True) if its == group]
            panels.scale(panel, table if together else pd.concat(same))
            panel.set_title(label)
        for panel in grid[len(parts) :]:
            panel.set_visible(False)
        _name_axes(grid, (across, len(parts)), panels)
        labels.entitle(figure, layout.title(axes))
        _legend(figure, axes, shown, panels if _has_bands(table) else replace(panels, band=None))
        labels.grow(figure, labels.fit_titles(figure))
    return figure


def _order(values: Axes_, columns: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """The axes of the panels, the horizontal one last, and the number of columns."""
    if len(columns) == 2:
        few, more = sorted(columns, key=lambda axis: len(values[axis]))
        down, across = (few, more) if len(values[more]) <= MAX_ACROSS else (more, few)
        if len(values[across]) <= MAX_ACROSS:
            return (down, across), len(values[across])
    return columns, ACROSS


Shared = Literal["all", "row", "col", "none"]
"""Which panels have the same scale."""


def _shared(parts: list[tuple[str, pd.DataFrame]], height: str | None, across: int | None) -> Shared:
    """All panels share a scale unless their values are far apart. Then those of a row or of a column of `across` panels
    do, whichever are closer to each other, if rows and columns are two axes.
    """
    if height is None:
        return "all"
    tops = [float(part[height].max()) for _, part in parts]
    if _ratio(tops) <= APART:
        return "all"
    if across is None:
        return "none"
    by_row = max(_ratio(tops[start : start + across]) for start in range(0, len(tops), across))
    by_column = max(_ratio(tops[place::across]) for place in range(across))
    return "row" if by_row < by_column else "col"


def _ratio(tops: list[float]) -> float:
    return max(tops) / max(min(tops), 1e-9)


def _groups(share: Shared, count: int, across: int) -> list[int]:
    """The panels with the same scale have the same number."""
    of: dict[Shared, list[int]] = {
        "all": [0] * count,
        "row": [place // across for place in range(count)],
        "col": [place % across for place in range(count)],
        "none": list(range(count)),
    }
    return of[share]


def on(
    axes: Axes, part: pd.DataFrame, paint: Callable[[Axes, pd.DataFrame, Look], None],
    grid: tuple[Axes_, Roles] | None = None,
) -> None:  # fmt: skip
    """Draws the configurations of one panel on `axes`."""
    values, shown = grid or (layout.axes_of(part), layout.line_roles(layout.axes_of(part)))
    found = layout.parted(part, (shown.colour, shown.hatch))
    for each, look in layout.looks(values, shown).items():
        if each in found:
            paint(axes, found[each], look)


def _size(across: int, down: int) -> tuple[float, float]:
    width = style.COLUMN_WIDTH if across == 1 else style.PAGE_WIDTH
    return (width, 0.6 + down * (2.3 if across == 1 else 1.7))


def _name_axes(grid: list[Axes], shape: tuple[int, int], panels: Panels) -> None:
    across, count = shape
    for place, axes in enumerate(grid[:count]):
        if place % across == 0:
            axes.set_ylabel(panels.y_label)
        if place + across >= count:
            axes.set_xlabel(panels.x_label)
            axes.tick_params(labelbottom=True)


def _has_bands(table: pd.DataFrame) -> bool:
    """Whether there are intervals, which need several repetitions, or percentiles over flows."""
    return many.summarised(table) or ("low" in table and bool(table["low"].notna().any()))


def _legend(figure: Figure, values: Axes_, shown: Roles, panels: Panels) -> None:
    handles: list[Artist] = []
    if shown.colour:
        handles += [
            Line2D([], [], color=colour, linewidth=2, label=style.label(shown.colour, value))
            for value, colour in style.colours(values[shown.colour]).items()
        ]
    for place, value in enumerate(values[shown.hatch] if shown.hatch else []):
        look: dict[str, Any] = {"linestyle": style.LINES[place % len(style.LINES)]}
        if panels.key == "marker":
            look = {"linestyle": "none", "marker": style.MARKERS[place % len(style.MARKERS)], "markersize": 4}
        handles.append(Line2D([], [], color=style.GREY, label=style.label(shown.hatch or "", value), **look))
    if panels.band:
        handles.append(Patch(facecolor=style.GREY, alpha=0.3, linewidth=0, label=panels.band))
    labels.legend(figure, handles)
