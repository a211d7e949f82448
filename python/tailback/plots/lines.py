"""Panels of lines: one panel per value of the axes that colours and line styles do not show."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
from tailback.plots.layout import Axes_, Choice, Look, Roles, Shared

MAX_PANELS = 24
ACROSS = 4
MAX_ACROSS = 6

INTERVAL = "95 % interval"
"""What bands around means over repetitions are."""

APART = 5.0
"""Ratio between the largest values of panels from which they do not share a scale."""


Looks = Mapping[tuple[str | None, str | None], Look]
"""The look of the lines of a value of the first and of the second axis."""


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
    order: Callable[[pd.DataFrame], float] | None = None
    """For lines that cross little: the place of one among the others. If there are more lines than axes can distinguish
    by colour and line style, each has a colour and a style of its own, and the legend has the order of the lines."""
    band: str | None = None
    """What the band around a line is, for the legend."""

    def apart(self, values: Axes_, shown: Roles) -> bool:
        """Whether each line has a look of its own."""
        by_style = values[shown.hatch or shown.colour] if shown.colour else ()
        return self.order is not None and len(by_style) > len(style.LINES)

    def looks(self, values: Axes_, shown: Roles) -> Looks:
        """The look of each pair of values."""
        found = layout.looks(values, shown)
        return layout.distinct(found) if self.apart(values, shown) else found

    def around(self, table: pd.DataFrame) -> list[Artist]:
        """The entry of the legend for bands, if there are some: intervals, which need several repetitions, or
        percentiles over flows."""
        intervals = "low" in table and bool(table["low"].notna().any())
        if self.band is None or not (many.summarised(table) or intervals):
            return []
        return [Patch(facecolor=style.GREY, alpha=0.3, linewidth=0, label=self.band)]


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
    share = choice.share_y or _shared(
        parts, panels.height, across if len(columns) == 2 and across * down == len(parts) else None
    )
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
        figure = Figure(figsize=_size(across, down), layout="constrained")
        together = share == "all"
        grid = list(figure.subplots(down, across, squeeze=False, sharex=together, sharey=share).ravel())
        groups = _groups(share, len(parts), across)
        looks = panels.looks(axes, shown)
        for panel, (label, part), group in zip(grid, parts, groups, strict=False):
            _paint(panel, part, panels.paint, (shown, looks))
            same = [other for (_, other), its in zip(parts, groups, strict=True) if its == group]
            panels.scale(panel, table if together else pd.concat(same))
            panel.set_title(label)
        for panel in grid[len(parts) :]:
            panel.set_visible(False)
        _name_axes(grid, (across, len(parts)), panels)
        # The legend names the value of the axis that colours show.
        labels.entitle(figure, layout.title({axis: axes[axis] for axis in axes if axis != shown.colour}))
        keys = _of_each(table, shown, looks, panels) if panels.apart(axes, shown) else _by_axes(axes, shown, panels)
        labels.legend(figure, [*keys, *panels.around(table)])
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


def on(axes: Axes, part: pd.DataFrame, paint: Callable[[Axes, pd.DataFrame, Look], None]) -> None:
    """Draws the configurations of one panel on `axes`."""
    values = layout.axes_of(part)
    shown = layout.line_roles(values)
    _paint(axes, part, paint, (shown, layout.looks(values, shown)))


def _paint(
    axes: Axes, part: pd.DataFrame, paint: Callable[[Axes, pd.DataFrame, Look], None], grid: tuple[Roles, Looks]
) -> None:
    shown, looks = grid
    found = layout.parted(part, (shown.colour, shown.hatch))
    for each, look in looks.items():
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


def _of_each(table: pd.DataFrame, shown: Roles, looks: Looks, panels: Panels) -> list[Artist]:
    """An entry of the legend for each line, in their order over all panels."""
    order = panels.order
    if order is None:
        return []
    found = layout.parted(table, (shown.colour, shown.hatch))
    there = sorted((each for each in looks if each in found), key=lambda each: order(found[each]))
    axes = [axis for axis in (shown.colour, shown.hatch) if axis]
    return [
        Line2D(
            [], [], color=looks[each].colour, linestyle=looks[each].line, linewidth=1.5,
            label=", ".join(style.label(axis, value) for axis, value in zip(axes, each, strict=False) if value),
        )
        for each in there
    ]  # fmt: skip


def _by_axes(values: Axes_, shown: Roles, panels: Panels) -> list[Artist]:
    """An entry of the legend for each colour, and for each line style or marker."""
    handles: list[Artist] = []
    if shown.colour:
        colours = style.colours(values[shown.colour])
        again = {} if shown.hatch else style.lines(colours)
        handles += [
            Line2D([], [], color=colour, linestyle=again.get(value, "-"), linewidth=2,
                   label=style.label(shown.colour, value))
            for value, colour in colours.items()
        ]  # fmt: skip
    for place, value in enumerate(values[shown.hatch] if shown.hatch else []):
        look: dict[str, Any] = {"linestyle": style.LINES[place % len(style.LINES)]}
        if panels.key == "marker":
            look = {"linestyle": "none", "marker": style.MARKERS[place % len(style.MARKERS)], "markersize": 4}
        handles.append(Line2D([], [], color=style.GREY, label=style.label(shown.hatch or "", value), **look))
    return handles
