"""Labels in the room that a figure has: broken into lines where one line is too long, and along an x axis turned, or
replaced by letters with a key in the legend.

The room is estimated from the width of the figure and the number of its columns, because the layout is not known before
the figure is drawn.
"""

import functools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from tailback.plots import style

POINTS = 72
"""Points of an inch."""

SIDE = 36.0
"""Points at the left of a panel for the numbers and the label of its y axis."""

BAR = 79.0
"""Points at the right of heat maps for the colour bar, its numbers and its label."""

GAP = 6.0
"""Points between panels, and between labels side by side."""

LINE = 1.2
"""Height of a line, in font sizes."""

SPACING = 0.5
"""Space between the entries of a legend, in font sizes."""

USUAL_ROWS = 3
"""Rows of a legend that figures have room for."""

MAX_LEGEND = 8
"""Maximum number of columns of a legend."""

MAX_LINES = 4
"""Maximum number of lines of a label along x."""

LONGEST = 110.0
"""Points of the longest label that is turned, about 25 characters; longer ones become letters."""

TURN, UPRIGHT = 30.0, 90.0
"""Degrees by which labels along x are turned, and by which they are turned if there are many."""

USUAL = 30.0
"""Points below a panel and at its left that figures have for labels."""


NAMES = ("cwnd", "ssthresh", "srtt")
"""Variables of the kernel, which stay as they are at the beginning of a label."""


def sentence(text: str) -> str:
    """A label begins with a capital letter, except the name of a variable; the rest stays: `Median ping`, `cwnd`."""
    return text if text.startswith(NAMES) else text[:1].upper() + text[1:]


def within(title: str) -> str:
    """A title within a sentence: `ping`, `median TCP RTT`; abbreviations stay."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def quantity(title: str, unit: str) -> str:
    """A quantity along an axis: `TCP RTT (ms)`; without a unit only its name: `MOS`."""
    return f"{sentence(title)} ({unit})" if unit else sentence(title)


def of_table(table: pd.DataFrame) -> str:
    """The label of the quantity in a table with `panel` and `unit`."""
    return quantity(str(table["panel"].iloc[0]), str(table["unit"].iloc[0]))


@functools.lru_cache(maxsize=10_000)
def width(text: str, size: float) -> float:
    """The width of the widest line of a text in points. Panels side by side have the same labels."""
    font = FontProperties(family=style.STYLE["font.sans-serif"], size=size)
    return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in text.split("\n"))


def wrapped(text: str, room: float, size: float) -> str:
    """`text` in lines of at most `room` points, broken between words; only a word that is wider is cut."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if width(joined, size) <= room:
            lines[-1] = joined
            continue
        parts = _cut(word, room, size)
        lines[-1:] = [*filter(None, lines[-1:]), *parts]
    return "\n".join(lines)


def _cut(word: str, room: float, size: float) -> list[str]:
    """The parts of a word that fit."""
    parts = [""]
    for letter in word:
        if parts[-1] and width(parts[-1] + letter, size) > room:
            parts.append("")
        parts[-1] += letter
    return parts


def panel_width(axes: Axes) -> float:
    """The estimated width of a panel in points."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    if figure is None or place is None:
        return float(style.COLUMN_WIDTH * POINTS - SIDE)
    columns = place.get_gridspec().ncols
    siblings = (each.get_subplotspec() for each in axes.get_shared_y_axes().get_siblings(axes))
    shared = len({each.colspan.start for each in siblings if each is not None}) > 1
    around = SIDE * (1 if shared else columns) + (BAR if axes.images else 0)
    return (figure.get_figwidth() * POINTS - around) / columns - GAP


def grow(figure: Figure, points: float) -> None:
    """Makes a figure higher, so that longer labels do not shrink its panels."""
    if points > 0:
        figure.set_figheight(figure.get_figheight() + points / POINTS)


def beside(text: str) -> str:
    """A label at the left of a panel."""
    return wrapped(text, LONGEST, float(style.STYLE["ytick.labelsize"]))


def widen(figure: Figure, texts: Sequence[str]) -> None:
    """Makes a figure wider, so that long labels at the left do not shrink its panels."""
    size = float(style.STYLE["ytick.labelsize"])
    points = max(width(beside(text), size) for text in texts) - USUAL
    if points > 0:
        figure.set_figwidth(figure.get_figwidth() + points / POINTS)


def entitle(figure: Figure, text: str) -> None:
    """The title of a figure, in as many lines as it needs."""
    _fit_title(figure, figure.suptitle(text))


def _fit_title(figure: Figure, title: Text) -> None:
    room = figure.get_figwidth() * POINTS - 2 * GAP
    title.set_text(wrapped(title.get_text(), room, float(title.get_fontsize())))


def fit_titles(figure: Figure) -> float:
    """Breaks the titles of panels into lines; returns the points that the lines beyond the first of each row and of the
    title of the figure take.
    """
    rows: dict[int, int] = {}
    size = float(style.STYLE["axes.titlesize"])
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is not None and axes.get_title():
            axes.title.set_text(wrapped(axes.get_title(), panel_width(axes), size))
            row = place.rowspan.start
            rows[row] = max(rows.get(row, 0), axes.get_title().count("\n"))
    return (sum(rows.values()) + figure.get_suptitle().count("\n")) * LINE * size


@dataclass(frozen=True)
class Ticks:
    """Labels along x as they are shown."""

    texts: Sequence[str]
    turn: float = 0.0
    """Degrees by which they are turned."""
    key: Mapping[str, str] = field(default_factory=dict)
    """The label that each letter stands for."""

    @property
    def height(self) -> float:
        """Points that they need beyond the usual."""
        size = float(style.STYLE["xtick.labelsize"])
        if self.turn:
            return float(max(width(text, size) for text in self.texts) * np.sin(np.deg2rad(self.turn)) - USUAL)
        return max((text.count("\n") for text in self.texts), default=0) * LINE * size

    def explained(self) -> list[Artist]:
        """The entries of a legend for the letters."""
        return [Line2D([], [], linestyle="none", label=f"{letter}: {text}") for letter, text in self.key.items()]


def ticks(texts: Sequence[str], slot: float) -> Ticks:
    """Labels along x, each with a slot of this many points: in one line, else in several, else turned."""
    size, room = float(style.STYLE["xtick.labelsize"]), slot - GAP
    if all(width(text, size) <= room for text in texts):
        return Ticks(texts)
    words = [word for text in texts for word in text.split()]
    broken = [wrapped(text, room, size) for text in texts]
    if all(width(word, size) <= room for word in words) and max(text.count("\n") for text in broken) < MAX_LINES:
        return Ticks(broken)
    if all(width(text, size) <= LONGEST for text in texts):
        return _turned(texts, slot)
    return _lettered(texts, slot)


def _turned(texts: Sequence[str], slot: float) -> Ticks:
    """Labels that are turned a little, or upright where their lines would touch; of more than fit so, every second,
    third, ... one has its label."""
    line = LINE * float(style.STYLE["xtick.labelsize"])
    if slot >= line / np.sin(np.deg2rad(TURN)):
        return Ticks(texts, TURN)
    stride = max(1, int(np.ceil(line / slot)))
    return Ticks([text if place % stride == 0 else "" for place, text in enumerate(texts)], UPRIGHT)


def _lettered(texts: Sequence[str], slot: float) -> Ticks:
    """Letters for the labels that are too long to be turned."""
    long = [text for text in texts if width(text, float(style.STYLE["xtick.labelsize"])) > LONGEST]
    names = [letter + number for number in ("", *string.digits) for letter in string.ascii_uppercase]
    letters = dict(zip(long, names, strict=False))
    short = ticks([letters.get(text, text) for text in texts], slot)
    return Ticks(short.texts, short.turn, {letter: text for text, letter in letters.items()})


def along(axes: Axes, texts: Sequence[str]) -> Ticks:
    """Labels the positions 0, 1, ... along x of `axes`; returns how."""
    found = ticks(texts, panel_width(axes) / max(1, len(texts)))
    turned: dict[str, Any] = {"rotation": found.turn, "ha": "right", "rotation_mode": "anchor"} if found.turn else {}
    if found.turn == UPRIGHT:
        turned["va"] = "center"
    axes.set_xticks(range(len(texts)), found.texts, **turned)
    return found


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """A legend below the panels, in as many rows as its labels need. If they leave it one column, the figure grows by
    the lines of its labels; it also grows by the rows beyond the usual.
    """
    if not handles:
        return
    size, room = float(style.STYLE["legend.fontsize"]), _legend_room(figure)
    for handle in handles:
        handle.set_label(wrapped(str(handle.get_label()), room, size))
    columns = _columns(figure, handles)
    figure.legend(handles=list(handles), loc="outside lower center", ncols=columns, handlelength=1.6)
    rows = -(-len(handles) // columns)
    grow(figure, max(0, rows - USUAL_ROWS) * (LINE + SPACING) * size)
    if columns == 1:
        lines = "\n".join(str(handle.get_label()) for handle in handles).count("\n")
        grow(figure, lines * (LINE + SPACING) * size)


def finish(figure: Figure, handles: Sequence[Artist] = (), more: float = 0.0) -> None:
    """What all figures have in common: a legend, titles that fit, numbers without a factor beside the axis, and labels
    along y that are no longer than their panel is high. `more` are points that the figure needs for other labels.
    """
    legend(figure, handles)
    grow(figure, more + fit_titles(figure))
    for axes in figure.axes:
        style.plain(axes.xaxis)
        style.plain(axes.yaxis)
    # Measured only where it may be needed, because all panels are laid out for it.
    if any(_long(axes) for axes in figure.axes):
        _fit_y_labels(figure)
    figure.align_ylabels()


def _long(axes: Axes) -> bool:
    """Whether the label along y may be longer than its panel is high."""
    figure, place = axes.get_figure(root=True), axes.get_subplotspec()
    if figure is None or place is None or not axes.get_ylabel():
        return False
    each = figure.get_figheight() * POINTS / place.get_gridspec().nrows
    return width(axes.get_ylabel(), float(axes.yaxis.label.get_fontsize())) > HALF * each


HALF = 0.5
"""The share of its row that a panel has at least, beside its title, its numbers and a legend."""


SHADES = 6
"""Entries of a legend for shades in their order."""

BETWEEN = "And the values between"
"""What stands in a legend for the values that have no entry."""


def thinned(handles: Sequence[Artist]) -> list[Artist]:
    """Some of the entries for shades in their order, with the first and the last, and one for the others."""
    places = np.linspace(0, len(handles) - 1, SHADES).round().astype(int)
    return [*(handles[place] for place in places), Line2D([], [], linestyle="none", label=BETWEEN)]


def refit(figure: Figure) -> None:
    """Arranges the titles, legends and labels along y of a figure anew after its size has changed."""
    fit_titles(figure)
    for text in figure.texts:
        if text.get_text() == figure.get_suptitle():
            _fit_title(figure, text)
    _refit_legends(figure)
    _fit_y_labels(figure)


def _fit_y_labels(figure: Figure) -> None:
    """Breaks labels along y between words where they are longer than their panel is high."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    for axes in figure.axes:
        label = axes.yaxis.label
        if text := label.get_text():
            size, height = float(label.get_fontsize()), axes.get_window_extent().height * POINTS / figure.dpi
            label.set_text(wrapped(text, max(height, *(width(word, size) for word in text.split())), size))


def _refit_legends(figure: Figure) -> None:
    size, room = float(style.STYLE["legend.fontsize"]), _legend_room(figure)
    for found in figure.legends:
        handles = [each for each in found.legend_handles if each is not None]
        for handle, text in zip(handles, found.get_texts(), strict=True):
            handle.set_label(wrapped(text.get_text(), room, size))
            text.set_text(str(handle.get_label()))
        found.set_ncols(_columns(figure, handles))


def _label_margin() -> float:
    """Points beside a label of a legend: a handle, a gap behind it, and a gap to the next column."""
    return (1.6 + 0.8 + float(style.STYLE["legend.columnspacing"])) * float(style.STYLE["legend.fontsize"])


def _legend_room(figure: Figure) -> float:
    """The widest label of a legend."""
    return _legend_width(figure) - _label_margin()


def _legend_width(figure: Figure) -> float:
    return figure.get_figwidth() * POINTS - 2 * float(style.STYLE["legend.fontsize"])


def _columns(figure: Figure, handles: Sequence[Artist]) -> int:
    """The number of columns of a legend: as few rows as the width of the figure allows, of equal length."""
    size = float(style.STYLE["legend.fontsize"])
    widths = [width(str(each.get_label()), size) + _label_margin() for each in handles]
    fitting = (
        count
        for count in range(min(len(handles), MAX_LEGEND), 0, -1)
        if sum(max(part) for part in np.array_split(widths, count)) <= _legend_width(figure)
    )
    rows = -(-len(handles) // next(fitting, 1))
    return -(-len(handles) // rows)
