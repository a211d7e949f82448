"""Panels of lines: one panel per value of the axes that colours and line styles do not show."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailback.plots import kinds, labels, layout, many, one_of_several, outside, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Axes_, Choice, Look, Roles, Shared

MAX_PANELS = 24
ACROSS = 4
MAX_ACROSS = 6

TIME = "Time (s)"

INTERVAL = "95 % interval of the mean"
"""What bands and whiskers around means over repetitions are."""

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
    under: Callable[[Axes, Sequence[tuple[pd.DataFrame, Look]]], None] | None = None
    """Draws the rows of all configurations of a panel below what `paint` draws, so that none covers another."""
    explained: Callable[[pd.DataFrame], Sequence[Artist]] = lambda _: ()
    """What the marks of a table mean, for the legend."""

    @property
    def over_time(self) -> bool:
        """Whether x is the time of a run."""
        return self.x_label == TIME

    def roles(self, values: Axes_, choice: Choice) -> Roles:
        """How each axis is shown, so that no two lines of a panel look alike."""
        looks = len(style.MARKERS) if self.key == "marker" else len(style.LINES)
        shown = layout.line_roles(values, choice, looks if self.order is None else layout.MOST_DISTINCT)
        if self.key == "marker" and shown.hatch and _count(values, shown) > looks:
            shown = layout.line_roles(values, choice, 0)
        if self.order is not None and shown.hatch and _count(values, shown) > layout.MOST_DISTINCT:
            shown = layout.line_roles(values, choice, 0)
        return shown

    def apart(self, values: Axes_, shown: Roles) -> bool:
        """Whether each line has a look of its own."""
        by_style = values[shown.hatch or shown.colour] if shown.colour else ()
        shades = shown.colour is not None and not shown.hatch and style.is_sequence(values[shown.colour])
        return self.order is not None and len(by_style) > len(style.LINES) and not shades

    def looks(self, values: Axes_, shown: Roles) -> Looks:
        """The look of each pair of values."""
        found = layout.looks(values, shown)
        if self.key == "marker" and shown.hatch:
            return layout.pointed(found)
        return layout.distinct(found) if self.apart(values, shown) else found

    def around(self, table: pd.DataFrame) -> list[Artist]:
        """The entries of the legend for bands, if there are some, and for other marks: intervals, which need several
        repetitions, or percentiles over flows."""
        intervals = "low" in table and bool(table["low"].notna().any())
        if self.band is None or not (many.summarised(table) or intervals):
            return list(self.explained(table))
        return [Patch(facecolor=style.GREY, alpha=0.3, linewidth=0, label=self.band), *self.explained(table)]


def _count(values: Axes_, shown: Roles) -> int:
    """The number of lines of a panel."""
    return math.prod(len(values[axis]) for axis in (shown.colour, shown.hatch) if axis)


def _check(values: Axes_, shown: Roles) -> None:
    """Refuses more lines in a panel than looks; a sequence of quantities has a shade for each."""
    count, colours = _count(values, shown), style.colours(values[shown.colour]) if shown.colour else {}
    if count > layout.MOST_DISTINCT and any(style.repeats(colours).values()):
        raise NotDrawable(
            f"{count} lines in a panel look alike, at most {layout.MOST_DISTINCT} can be told apart\n"
            f"  hint: choose some with `--where {shown.colour}=VALUE`, or make panels: --facet {shown.colour}"
        )


def draw(table: pd.DataFrame, panels: Panels, choice: Choice) -> Figure:
    """The figure."""
    axes = layout.axes_of(table)
    shown = panels.roles(axes, choice)
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
        of_kinds = _of_kinds(table, shown)
        if of_kinds is None:
            _check(axes, shown)
        looks = panels.looks(axes, shown) if of_kinds is None else of_kinds
        for panel, (label, part), group in zip(grid, parts, groups, strict=False):
            _paint(panel, part, panels, (shown, looks))
            same = [other for (_, other), its in zip(parts, groups, strict=True) if its == group]
            panels.scale(panel, table if together else pd.concat(same))
            if panels.over_time:
                outside.shade(panel, part, panel.get_xlim()[1])
            panel.set_title(label)
        for panel in grid[len(parts) :]:
            panel.set_visible(False)
        _name_axes(grid, (across, len(parts)), panels)
        # The legend names the value of the axis that colours show.
        labels.entitle(figure, layout.title({axis: axes[axis] for axis in axes if axis != shown.colour}))
        if of_kinds is not None:
            keys = _by_kinds(table)
        elif panels.apart(axes, shown):
            keys = _of_each(table, shown, looks, panels)
        elif panels.key == "marker" and shown.hatch:
            keys = pair_keys(table, shown, looks)
        else:
            keys = _by_axes(axes, shown, panels)
        said = [*outside.key(table), *one_of_several.key(table)] if panels.over_time else []
        labels.finish(figure, [*keys, *panels.around(table), *said])
    return figure


def _of_kinds(table: pd.DataFrame, shown: Roles) -> Looks | None:
    """The looks of more lines than colours, by what they have in common (`kinds`); None of fewer lines."""
    if kinds.COLUMN not in table or shown.colour is None:
        return None
    found = kinds.looks(table)
    pairs = table[[shown.colour, kinds.COLUMN]].drop_duplicates(shown.colour)
    return {
        (str(name), None): replace(found[str(kind)], place=place)
        for place, (name, kind) in enumerate(pairs.itertuples(index=False))
    }


def _by_kinds(table: pd.DataFrame) -> list[Artist]:
    return [Line2D([], [], **look.drawn, linewidth=1.6, label=kind) for kind, look in kinds.looks(table).items()]


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
    _paint(axes, part, Panels(paint, lambda *_: None, "", ""), (shown, layout.looks(values, shown)))


def _paint(axes: Axes, part: pd.DataFrame, panels: Panels, grid: tuple[Roles, Looks]) -> None:
    shown, looks = grid
    found = layout.parted(part, (shown.colour, shown.hatch))
    there = [(found[each], look) for each, look in looks.items() if each in found]
    if panels.under is not None:
        panels.under(axes, there)
    for rows, look in there:
        panels.paint(axes, rows, look)


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
            [], [], **looks[each].drawn, linewidth=1.5,
            label=", ".join(style.label(axis, value) for axis, value in zip(axes, each, strict=False) if value),
        )
        for each in there
    ]  # fmt: skip


def colour_keys(values: Axes_, shown: Roles, key: Literal["line", "marker"]) -> list[Artist]:
    """An entry of the legend for each colour; with its line style or marker, unless these stand for another axis."""
    found: list[Artist] = []
    for (value, _), look in layout.looks(values, replace(shown, hatch=None)).items():
        kind: dict[str, Any] = {"linewidth": 2, **look.drawn}
        if shown.hatch:
            kind |= layout.line_kind("-", look.marker if len(values[shown.colour or ""]) > 1 else "")
        if key == "marker" and not shown.hatch:
            kind = {"linestyle": "none", "marker": look.marker, "markersize": 5, "color": look.colour}
        found.append(Line2D([], [], label=style.label(shown.colour or "", str(value)), **kind))
    return labels.thinned(found) if shown.colour and style.is_sequence(values[shown.colour]) else found


def pair_keys(table: pd.DataFrame, shown: Roles, looks: Looks) -> list[Artist]:
    """An entry of the legend for each pair of values of two axes that points show."""
    there = layout.parted(table, (shown.colour, shown.hatch))
    axes = [axis for axis in (shown.colour, shown.hatch) if axis]
    return [
        Line2D(
            [], [], linestyle="none", marker=look.marker, markersize=5, color=look.colour,
            label=", ".join(style.label(axis, value) for axis, value in zip(axes, filter(None, each), strict=True)),
        )
        for each, look in looks.items() if each in there
    ]  # fmt: skip


def _by_axes(values: Axes_, shown: Roles, panels: Panels) -> list[Artist]:
    """An entry of the legend for each colour, and for each line style or marker."""
    handles: list[Artist] = []
    if shown.colour:
        handles += colour_keys(values, shown, panels.key)
    for place, value in enumerate(values[shown.hatch] if shown.hatch else []):
        look: dict[str, Any] = {"linestyle": style.LINES[place % len(style.LINES)]}
        if panels.key == "marker":
            look = {"linestyle": "none", "marker": style.MARKERS[place], "markersize": 4}
        handles.append(Line2D([], [], color=style.GREY, label=style.label(shown.hatch or "", value), **look))
    return handles
