"""Draws what a paper's figure shows into ours: points and bands that were read off it.

A point is a ring in the colour of its series, a range a shaded area; both are below our marks. On bars a value is a
black line. A value that is outside the axes widens them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tailback.papers.claims import Range, Reported
from tailback.plots import NotDrawable, style

OF_THE_PAPER = "as the paper has it"
MARGIN = 1.08
"""How far the axes reach beyond a value."""


def overlay(figure: Figure, reported: Sequence[Reported]) -> None:
    """Draws the values into the axes with their quantity and title."""
    for value in reported:
        found = list(_axes(figure, value))
        if not found:
            raise NotDrawable(f"no axes `{value.quantity}` with the title `{value.panel}`")
        for axes in found:
            _draw(axes, value, _colour(figure, value.series))
    if reported:
        title, legend = figure.get_suptitle(), _legend(reported)
        figure.suptitle(f"{title}\n{legend}" if title else legend, fontsize=7, color=style.GREY)


def _legend(reported: Sequence[Reported]) -> str:
    """What the marks of these values mean, by the kinds of mark that are there."""
    *others, last = [kind for kind in ("rings", "shaded areas", "black lines") if kind in map(_mark, reported)]
    return f"{', '.join(others)}{' and ' if others else ''}{last}: {OF_THE_PAPER}"


def _mark(value: Reported) -> str:
    """What `_draw` makes of a value."""
    if isinstance(value.at, str):
        return "black lines"
    point = all(span is not None and span[0] == span[1] for span in (_span(value.at), _span(value.value)))
    return "rings" if point else "shaded areas"


def _axes(figure: Figure, value: Reported) -> Iterator[Axes]:
    """The axes of a quantity: the first column of their row has its label."""
    rows = {_row(axes): axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()}
    for axes in figure.axes:
        titled = not value.panel or _title_of_column(figure, axes) == value.panel
        label = axes.get_ylabel() or rows.get(_row(axes), "")
        if titled and label.startswith(value.quantity):
            yield axes


def _row(axes: Axes) -> int:
    place = axes.get_subplotspec()
    return place.rowspan.start if place is not None else 0


def _title_of_column(figure: Figure, axes: Axes) -> str:
    place = axes.get_subplotspec()
    column = place.colspan.start if place is not None else 0
    for other in figure.axes:
        there = other.get_subplotspec()
        if there is not None and there.rowspan.start == 0 and there.colspan.start == column:
            return other.get_title()
    return ""


def _colour(figure: Figure, series: str) -> str:
    """The colour of a series in the legend."""
    if not series:
        return style.GREY
    for legend in (*figure.legends, *(found for axes in figure.axes if (found := axes.get_legend()) is not None)):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if text.get_text() == series and handle is not None:
                return to_hex(_colour_of(handle))
    raise NotDrawable(f"the figure has no series `{series}`")


def _colour_of(handle: Any) -> Any:
    return handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()


def _draw(axes: Axes, value: Reported, colour: str) -> None:
    x = _bar(axes, value) if isinstance(value.at, str) else _span(value.at)
    y = _span(value.value)
    if y is None:
        if x is not None:
            axes.axvspan(*_thick(axes.get_xlim(), x), color=colour, alpha=0.13, linewidth=0, zorder=0.5)
        return
    if x is None:
        axes.axhspan(*_thick(axes.get_ylim(), y), color=colour, alpha=0.13, linewidth=0, zorder=0.5)
    elif isinstance(value.at, str):
        axes.plot(x, [sum(y) / 2] * 2, color="black", linewidth=1.6, zorder=5)
    elif x[0] == x[1] and y[0] == y[1]:
        axes.plot(
            x[:1], y[:1], "o", color=colour, markersize=13, markerfacecolor="none", markeredgewidth=2.2,
            alpha=0.4, zorder=0.6, clip_on=False,
        )  # fmt: skip
    else:
        (left, right), (low, high) = _thick(axes.get_xlim(), x), _thick(axes.get_ylim(), y)
        area = Rectangle((left, low), right - left, high - low, color=colour, alpha=0.25, linewidth=0, zorder=0.5)
        axes.add_patch(area)
    _widen(axes, x, y, by_name=isinstance(value.at, str))


def _bar(axes: Axes, value: Reported) -> tuple[float, float]:
    """From the left to the right of the bar of a series, or of the only one."""
    names = next(filter(any, map(_names, axes.get_shared_x_axes().get_siblings(axes))), [])
    bars = [found for found in axes.containers if isinstance(found, BarContainer) and found.get_label() == value.series]
    chosen = bars or [found for found in axes.containers if isinstance(found, BarContainer)]
    if value.at not in names or not chosen:
        raise NotDrawable(f"the axis has no `{value.at}`")
    patch = chosen[0].patches[names.index(value.at)]
    return patch.get_x(), patch.get_x() + patch.get_width()


def _names(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def _span(value: float | Range | None) -> tuple[float, float] | None:
    if value is None:
        return None
    return (value[0], value[1]) if isinstance(value, tuple) else (value, value)


def _thick(axis: tuple[float, float], span: tuple[float, float]) -> tuple[float, float]:
    """A single value as a band that can be seen."""
    least = 0.02 * (axis[1] - axis[0])
    middle, half = sum(span) / 2, max(span[1] - span[0], least) / 2
    return middle - half, middle + half


def _widen(axes: Axes, x: tuple[float, float] | None, y: tuple[float, float], *, by_name: bool) -> None:
    if x is not None and not by_name and MARGIN * x[1] > axes.get_xlim()[1]:
        axes.set_xlim(right=MARGIN * x[1])
    if MARGIN * y[1] > axes.get_ylim()[1]:
        axes.set_ylim(top=MARGIN * y[1])
