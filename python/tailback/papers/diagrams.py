"""Draws the diagrams and the tables of a paper, from the data of its testbed."""

import textwrap
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.papers.drawing import Drawing
from tailback.papers.testbed import Diagram, PrintedTable
from tailback.plots import style

BOX, GAP = 2.0, 1.1
"""Widths of a box and of the arrow to the next one."""


def diagram(one: Diagram) -> Drawing:
    """A chain of boxes with arrows."""
    return Drawing(one.figure, (), one.caption, lambda: _chain(one))


def table(one: PrintedTable) -> Drawing:
    """A table as a figure."""
    return Drawing(one.figure, (), one.caption, lambda: _table(one.header, one.rows))


def _chain(one: Diagram) -> Figure:
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.PAGE_WIDTH, 1.5), layout="constrained")
        axes = figure.subplots()
        axes.axis("off")
        end = len(one.chain) * (BOX + GAP) - GAP
        axes.set_xlim(-0.1, end + 0.1)
        axes.set_ylim(-1.1, 1.1)
        for place, text in enumerate(one.chain):
            _box(axes, place * (BOX + GAP), text)
        for place, text in enumerate(one.links):
            _arrow(axes, place * (BOX + GAP) + BOX, text)
        if one.back:
            axes.annotate(
                "", (BOX / 2, -0.55), (end - BOX / 2, -0.55),
                arrowprops={"arrowstyle": "->", "connectionstyle": "bar,fraction=-0.06", "linewidth": 0.7},
            )  # fmt: skip
            axes.text(end / 2, -1.0, one.back, ha="center", va="center", fontsize=6.5)
    return figure


def _box(axes: Axes, left: float, text: str) -> None:
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": style.BLACK, "linewidth": 0.8}
    axes.text(left + BOX / 2, 0, _in_lines(text, 18), ha="center", va="center", fontsize=6.5, bbox=frame)


def _arrow(axes: Axes, left: float, text: str) -> None:
    axes.annotate("", (left + GAP - 0.05, 0), (left + 0.05, 0), arrowprops={"arrowstyle": "->", "linewidth": 0.8})
    axes.text(left + GAP / 2, 0.3, _in_lines(text, 12), ha="center", va="bottom", fontsize=6)


def _in_lines(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Figure:
    wrapped = [[_in_lines(cell, CELL) for cell in row] for row in rows]
    heights = [max(cell.count("\n") + 1 for cell in row) for row in wrapped]
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(style.PAGE_WIDTH, 0.3 + 0.16 * (1 + sum(heights))), layout="constrained")
        axes = figure.subplots()
        axes.axis("off")
        drawn = axes.table(wrapped, colLabels=list(header), loc="center", cellLoc="left")
        drawn.auto_set_font_size(False)
        drawn.set_fontsize(6.5)
        drawn.auto_set_column_width(range(len(header)))
        for (row, _), cell in drawn.get_celld().items():
            lines = 1 if row == 0 else heights[row - 1]
            cell.set_height(lines / (1.5 + sum(heights)))
            cell.set_linewidth(0.4)
    return figure


CELL = 64
"""The longest line of a cell."""
