"""The forms of figures that several papers share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.papers.measuring import Reader, goodput_mbps, mpdus_up, ping_ms, tcp_rtt_ms
from tailback.papers.sample import Sample
from tailback.plots import PLOTS, Choice, style
from tailback.plots.layout import Look
from tailback.plots.scatter import FEWEST, ellipse
from tailback.results import Results


@dataclass(frozen=True)
class Drawing:
    """One figure of a paper."""

    figure: str
    """The number of the figure in the paper."""
    experiments: tuple[str, ...]
    caption: str
    draw: Callable[..., Figure]
    """Draws it from the `Results` of each experiment."""


@dataclass(frozen=True)
class Scale:
    """One axis of a scatter plot."""

    label: str
    read: Reader


GOODPUT = Scale("Goodput (Mbit/s)", goodput_mbps)
PING = Scale("Median ping (ms)", ping_ms)
TCP_RTT = Scale("Median TCP RTT (ms)", tcp_rtt_ms)
AGGREGATE = Scale("Aggregate (MPDUs)", mpdus_up)


@dataclass(frozen=True)
class Scatter:
    """A scatter plot of two quantities: one colour per value of an axis, lines along the values of another."""

    colour: str
    along: str | None = None
    x: Scale = PING
    y: Scale = GOODPUT
    facet: str | None = None
    """An axis with one panel per value."""

    def __call__(self, results: Results) -> Figure:
        panels = results.axes[self.facet] if self.facet else [""]
        with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
            figure = Figure(figsize=_size(len(panels), 2.9), layout="constrained")
            grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
            for axes, value in zip(grid, panels, strict=True):
                self._panel(axes, results.select(**{self.facet: value}) if self.facet else results)
                axes.set_title(style.label(self.facet, value) if self.facet else "")
            grid[0].set_ylabel(self.y.label)
            figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right center")
        return figure

    def on(self, axes: Axes, results: Results) -> None:
        """Draws into axes that other scatter plots are beside."""
        self._panel(axes, results)
        axes.set_ylabel(self.y.label)

    def _panel(self, axes: Axes, results: Results) -> None:
        values = results.axes[self.colour]
        colours = style.colours(values)
        for place, value in enumerate(values):
            look = Look(place, colours[value], "", marker_of(place))
            self._series(axes, results.select(**{self.colour: value}), (value, look))
        axes.set_xlabel(self.x.label)
        _from_zero(axes)
        low, high = axes.get_xlim()
        if low > 0 and high / low > style.DECADES:
            style.logarithmic_x(axes, (low, high))
        else:
            axes.set_xlim(left=0)

    def _series(self, axes: Axes, results: Results, named: tuple[str, Look]) -> None:
        value, look = named
        steps = results.axes[self.along] if self.along else [None]
        middles = [
            self._cloud(axes, results.select(**{str(self.along): step}) if step else results, look) for step in steps
        ]
        x, y = zip(*middles, strict=True)
        axes.plot(
            x, y, marker=look.marker, color=look.colour, markerfacecolor="white", markeredgewidth=1.1, markersize=4.5,
            linewidth=0.7, label=value,
        )  # fmt: skip
        for step, middle in zip(steps, middles, strict=True):
            if step and look.place == 0:
                axes.annotate(step, middle, xytext=(3, -7), textcoords="offset points", fontsize=5.5, color=style.GREY)

    def _cloud(self, axes: Axes, results: Results, look: Look) -> tuple[float, float]:
        """Draws the repetitions with their ellipse; returns their centre."""
        x, y = (np.array([scale.read(run) for run in results.runs]) for scale in (self.x, self.y))
        if len(x) >= FEWEST:
            axes.plot(x, y, ".", color=look.colour, markersize=1.5, alpha=0.6)
            axes.add_patch(ellipse(x, y, look))
        return float(x.mean()), float(y.mean())


def marker_of(place: int) -> str:
    """The marker of a series; each round of the markers begins one later, so that a colour that comes again has
    another."""
    rounds, rest = divmod(place, len(style.MARKERS))
    return style.MARKERS[(rest + rounds) % len(style.MARKERS)]


@dataclass(frozen=True)
class Beside:
    """Scatter plots of the same runs side by side, of other quantities."""

    panels: Sequence[Scatter]

    def __call__(self, results: Results) -> Figure:
        with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both"}):
            figure = Figure(figsize=_size(2, 3.1), layout="constrained")
            grid = figure.subplots(1, len(self.panels), squeeze=False)[0]
            for axes, panel in zip(grid, self.panels, strict=True):
                panel.on(axes, results)
            figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return figure


def _size(panels: int, height: float) -> tuple[float, float]:
    return (4.6 if panels == 1 else style.PAGE_WIDTH, height)


def plotted(name: str, choice: Choice | None = None, **wanted: str) -> Callable[[Results], Figure]:
    """A figure of `tailback plot` for the runs with these values of axes."""

    def draw(results: Results) -> Figure:
        plot, chosen = PLOTS[name], choice or Choice()
        return plot.draw(plot.data(results.select(**wanted), chosen), chosen)

    return draw


@dataclass(frozen=True)
class Bars:
    """Grouped bars for each value of an axis, one bar per reader, with 95 % intervals; pings below."""

    axis: str
    readers: Mapping[str, Reader]
    facet: str | None = None

    def __call__(self, results: Results) -> Figure:
        """The bars of each panel, pings below."""
        panels = results.axes[self.facet] if self.facet else [""]
        with mpl.rc_context(style.STYLE):
            figure = Figure(figsize=_size(2, 3.4), layout="constrained")
            grid = figure.subplots(2, len(panels), squeeze=False, sharex=True, sharey="row", height_ratios=[3, 2])
            for column, value in enumerate(panels):
                part = results.select(**{self.facet: value}) if self.facet else results
                self._bars(grid[0, column], part, self.readers)
                self._bars(grid[1, column], part, {"Median ping": ping_ms})
                grid[0, column].set_title(style.label(self.facet, value) if self.facet else "")
            grid[0, 0].set_ylabel(GOODPUT.label)
            grid[1, 0].set_ylabel(PING.label)
            figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        return figure

    def _bars(self, axes: Axes, results: Results, readers: Mapping[str, Reader]) -> None:
        names, width = results.axes[self.axis], 0.8 / len(readers)
        colours = (style.GREY,) if len(readers) == 1 else style.PALETTE
        for place, (label, reader) in enumerate(readers.items()):
            samples = [Sample(label, name, _read(results, {self.axis: name}, reader)) for name in names]
            means = [float(np.mean(sample.values)) for sample in samples]
            errors = [sample.half_width for sample in samples]
            at = np.arange(len(names)) + (place - (len(readers) - 1) / 2) * width
            axes.bar(at, means, width, yerr=errors, label=label, color=colours[place], error_kw={"linewidth": 0.7})
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")


@dataclass(frozen=True)
class PingBars:
    """Pings as bars, grouped by an axis, one bar per value of another."""

    axis: str
    series: str

    def __call__(self, results: Results) -> Figure:
        names, values = results.axes[self.axis], results.axes[self.series]
        with mpl.rc_context(style.STYLE):
            figure = Figure(figsize=_size(1, 2.6), layout="constrained")
            axes = figure.subplots()
            width = 0.8 / len(values)
            for place, value in enumerate(values):
                at = np.arange(len(names)) + (place - (len(values) - 1) / 2) * width
                found = [_read(results, {self.axis: name, self.series: value}, ping_ms) for name in names]
                axes.bar(at, [float(np.mean(one)) for one in found], width, label=style.label(self.series, value),
                         color=style.PALETTE[place])  # fmt: skip
            axes.set_xticks(range(len(names)), names)
            axes.set_ylabel(PING.label)
            axes.legend()
        return figure


def _read(results: Results, place: Mapping[str, str], reader: Reader) -> list[float]:
    return [reader(run) for run in results.select(**place).runs]


@dataclass(frozen=True)
class Line:
    """One line or cloud of points over time."""

    name: str
    t: Any
    values: Any
    style: str = "-"


def panels_over_time(
    rows: Sequence[tuple[str, Sequence[Sequence[Line]]]], titles: Sequence[str], span_s: tuple[float, float]
) -> Figure:
    """A grid of panels: rows of quantities, columns of configurations."""
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "both", "path.simplify_threshold": 0.8}):
        width = max(style.COLUMN_WIDTH, min(style.PAGE_WIDTH, 2.4 * len(titles)))
        figure = Figure(figsize=(width, 0.7 + 1.5 * len(rows)), layout="constrained")
        grid = figure.subplots(len(rows), len(titles), squeeze=False, sharex=True, sharey="row")
        for row, (label, columns) in zip(grid, rows, strict=True):
            for axes, lines in zip(row, columns, strict=True):
                _lines(axes, lines)
            row[0].set_ylabel(label)
            _from_zero(row[0])
        for axes, title in zip(grid[0], titles, strict=True):
            axes.set_title(title)
        for axes in grid[-1]:
            axes.set_xlabel("Time (s)")
            axes.set_xlim(*span_s)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _lines(axes: Axes, lines: Iterable[Line]) -> None:
    for place, line in enumerate(lines):
        cloud: dict[str, Any] = (
            {"markersize": 0.6, "linestyle": "none", "rasterized": True} if line.style == "." else {}
        )
        axes.plot(
            line.t, line.values, color=style.PALETTE[place], label=line.name, marker="." if cloud else "", **cloud
        )


def lines_of(table: pd.DataFrame, column: str, look: str = "-") -> list[Line]:
    """A line for each flow of a table with `t`, `flow` and `column`."""
    return [Line(str(flow), part["t"], part[column], look) for flow, part in table.groupby("flow", sort=True)]


def _from_zero(axes: Axes) -> None:
    """A scale from 0, with room above the highest mark also where all values are alike."""
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.06 * axes.dataLim.y1))
