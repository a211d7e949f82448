"""A metric over two axes: a cell per pair of values, with the mean over the repetitions and its interval.

Other axes have a panel for each combination of values. The colour scale is viridis reversed, whose lightness is
uniform, so that it is readable in grey print and with colour blindness; it is logarithmic if values span decades.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from tailback.analysis.intervals import Form, form_of, spread_in_words
from tailback.plots import labels, layout, lines, quantity, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, worded
from tailback.results import Results

COLOURS = "viridis_r"

DIVERGING = "PuOr"
"""Colours for values on both sides of a middle, which is white."""
IN_CELL = 6.5
"""Size of the text in a cell."""

MOST_DECIMALS = 4
"""Decimals of a number in a cell; smaller ones have an exponent."""

MAX_PANELS = 24
ACROSS = 4
Drawn = tuple[AxesImage, labels.Ticks]
"""The cells, and the labels along x."""


@dataclass(frozen=True)
class Shades:
    """The colour of each value."""

    norm: Normalize
    colours: str = COLOURS

    def dark(self, value: float) -> bool:
        """Whether white text is easier to read on the colour of this value than black text."""
        return style.is_dark(mpl.colormaps[self.colours](float(self.norm(value))))


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration: axes, panel, unit, n, mean, low, high."""
    wanted = quantity.chosen(results, choice, (quantity.TCP_RTT, quantity.PING, quantity.GOODPUT))[:1]
    return quantity.means(results, wanted)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    values = layout.axes_of(table)
    x, y, rest = _sides(values, choice)
    parts = layout.facets(table, rest)
    if len(parts) > MAX_PANELS:
        raise NotDrawable(f"{len(parts)} panels are too many\n  hint: choose some with `--where AXIS=VALUE`")
    across = min(ACROSS, len(parts))
    down = math.ceil(len(parts) / across)
    size = (len(values[x]), len(values[y]))
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        figure = Figure(figsize=_size(across, down, size, _cell_width(parts)), layout="constrained")
        labels.widen(figure, values[y])
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel()
        shades = Shades(_norm(table))
        for axes, (label, part) in zip(grid, parts, strict=False):
            image, along = on(axes, part, (x, y), shades)
            axes.set_title(label)
        for axes in grid[len(parts) :]:
            axes.set_visible(False)
        for place, axes in enumerate(grid[: len(parts)]):
            axes.set_ylabel(y if place % across == 0 else "")
            if place + across >= len(parts):
                axes.set_xlabel(x)
                axes.tick_params(labelbottom=True)
        bar = figure.colorbar(image, ax=list(grid), shrink=0.9, pad=0.02)
        if isinstance(shades.norm, LogNorm):
            style.readable(bar.ax.yaxis)
        bar.set_label(labels.of_table(table))
        labels.entitle(figure, layout.title(values))
        labels.finish(figure, [*along.explained(), *explained(table)], along.height)
    return figure


def explained(table: pd.DataFrame) -> list[Artist]:
    """The entry of a legend for the numbers in a cell."""
    interval = bool(table["low"].notna().any())
    return [Line2D([], [], linestyle="none", label=f"In a cell: mean, {lines.INTERVAL}")] if interval else []


def on(axes: Axes, part: pd.DataFrame, sides: tuple[str, str], shades: Shades | None = None) -> Drawn:
    """Draws the cells of `part` on `axes`; `sides` are the axes along x and y."""
    columns, rows = ([str(value) for value in part[side].unique()] for side in sides)
    means = np.full((len(rows), len(columns)), np.nan)
    shades = shades or Shades(_norm(part))
    for (_, row), text in zip(part.iterrows(), _texts(part), strict=True):
        place = (rows.index(str(row[sides[1]])), columns.index(str(row[sides[0]])))
        means[place] = row["mean"]
        axes.text(
            place[1], place[0], text, ha="center", va="center",
            fontsize=IN_CELL, color="white" if shades.dark(float(row["mean"])) else style.BLACK,
        )  # fmt: skip
    axes.tick_params(length=0)
    image = axes.imshow(means, cmap=shades.colours, norm=shades.norm, aspect="auto", interpolation="none")
    axes.set_yticks(range(len(rows)), [labels.beside(row) for row in rows])
    return image, labels.along(axes, columns)


def _texts(part: pd.DataFrame) -> list[str]:
    """The text of each cell: the mean, and below it the interval, in one form for the panel."""
    cells = [
        (float(mean), (float(low), float(high)), _digits(float(mean)))
        for mean, low, high in part[["mean", "low", "high"]].itertuples(index=False)
    ]
    form = form_of(cells)
    return [_words(*cell, form) for cell in cells]


def _digits(mean: float) -> str:
    decimals = 0 if mean == 0 else max(0, 2 - math.floor(math.log10(abs(mean))))
    return f".{decimals}f" if decimals <= MOST_DECIMALS else ".2e"


def _words(mean: float, ends: tuple[float, float], digits: str, form: Form) -> str:
    text = f"{mean:{digits}}"
    return text if math.isnan(ends[0]) else f"{text}\n{spread_in_words(mean, ends, digits, form)}"


def _sides(values: layout.Axes_, choice: Choice) -> tuple[str, str, tuple[str, ...]]:
    """The axes along x and y, and those with panels."""
    varying = [axis for axis, each in values.items() if len(each) > 1 and axis not in choice.facet]
    chosen = [axis for axis in (choice.x, choice.colour) if axis]
    for axis in (*chosen, *choice.facet):
        if axis not in values:
            raise NotDrawable(f"`{axis}` is not an axis here\n  hint: there is {', '.join(values) or 'none'}")
    free = sorted((axis for axis in varying if axis not in chosen), key=lambda axis: -len(values[axis]))
    x, y = (*chosen, *free, None, None)[:2]
    if x is None or y is None:
        there = ", ".join(f"`{axis}`" for axis in varying) or "none"
        raise NotDrawable(
            f"a heat map needs two axes that vary, and there is {there}\n"
            "  hint: try `-p bar`, or vary something else, too: vary: {cc: [cubic, bbr], tsq: [1ms, off]}"
        )
    return x, y, tuple(axis for axis in values if axis in {*varying, *choice.facet} - {x, y})


def _norm(table: pd.DataFrame) -> Normalize:
    means = table["mean"].to_numpy(dtype=np.float64)
    low, high = float(means.min()), float(means.max())
    # Differences as small as the intervals have similar shades.
    missing = float((table["high"] - table["low"]).max()) - (high - low)
    if missing > 0:
        low, high = max(low - missing / 2, min(low, 0.0)), high + missing / 2
    if low > 0 and high / low > style.DECADES:
        return LogNorm(low, high)
    return Normalize(low, high if high > low else low + 1)


def _cell_width(parts: Sequence[tuple[str, pd.DataFrame]]) -> float:
    """Inches that the widest text of a cell needs."""
    texts = [text for _, part in parts for text in _texts(part)]
    return max(0.55, (max(labels.width(text, IN_CELL) for text in texts) + labels.GAP) / labels.POINTS)


def _size(across: int, down: int, cells: tuple[int, int], width: float) -> tuple[float, float]:
    return (max(style.COLUMN_WIDTH, 1.6 + across * width * cells[0]), 0.8 + down * (0.35 + 0.42 * cells[1]))
