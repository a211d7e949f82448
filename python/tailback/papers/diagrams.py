"""Draws the diagrams and the tables of a paper, from the data of its testbed."""

import textwrap
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from tailback.papers.drawing import Drawing
from tailback.papers.testbed import Diagram, PrintedTable
from tailback.plots import style

BOX, GAP = 2.0, 1.1
"""Widths of a box and of the arrow to the next one."""
HEIGHT = 0.8
"""Of a box."""


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
            to = one.back_to * (BOX + GAP) + BOX / 2
            axes.annotate(
                "", (to, -HEIGHT / 2), (end - BOX / 2, -HEIGHT / 2),
                arrowprops={"arrowstyle": "->", "connectionstyle": "bar,fraction=-0.08", "linewidth": 0.7},
            )  # fmt: skip
            axes.text((to + end - BOX / 2) / 2, -0.82, one.back, ha="center", va="bottom", fontsize=6.5)
    return figure


def _box(axes: Axes, left: float, text: str) -> None:
    frame = FancyBboxPatch(
        (left, -HEIGHT / 2), BOX, HEIGHT, boxstyle="round,pad=0,rounding_size=0.1", facecolor="white",
        edgecolor=style.BLACK, linewidth=0.8,
    )  # fmt: skip
    axes.add_patch(frame)
    axes.text(left + BOX / 2, 0, _in_lines(text, 24), ha="center", va="center", fontsize=7)


def _arrow(axes: Axes, left: float, text: str) -> None:
    axes.annotate("", (left + GAP - 0.05, 0), (left + 0.05, 0), arrowprops={"arrowstyle": "->", "linewidth": 0.8})
    axes.text(left + GAP / 2, 0.08, _in_lines(text, 12), ha="center", va="bottom", fontsize=6)


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
        longest = [max(len(line) for cell in column for line in cell.splitlines())
                   for column in zip(header, *wrapped, strict=True)]  # fmt: skip
        for (row, column), cell in drawn.get_celld().items():
            cell.PAD = PADDING / longest[column]
            lines = 1 if row == 0 else heights[row - 1]
            cell.set_height(lines / (1.5 + sum(heights)))
            cell.set_linewidth(0.4)
    return figure


CELL = 64
"""The longest line of a cell."""
PADDING = 1.0
"""Beside the text of a cell, in characters: as a share of its width, wide columns would begin far from the border."""
