"""Candlesticks: from the 10th to the 90th percentile with a bar at the median, one per configuration.

Throughput is the goodput of all flows together in bins of 1 s, RTT the samples of all flows; both over the
measurement window and over all repetitions. This is the form of figures 4 and 5 of `access21`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from tailback.analysis import Window, ping_samples, tcp_rtt_samples, throughput_bins
from tailback.analysis.metrics import Samples
from tailback.plots import style
from tailback.plots.errors import NotDrawable
from tailback.results import Results, RunFolder

BIN_NS = 1_000_000_000
"""Bins of throughput. Narrower ones show at 10 Mbit/s how data waits behind a hole at the receiver, not throughput."""

FEWEST_BINS = 10
"""A window with fewer is too short for percentiles of such bins; then those of the table `flows` are taken."""

LOW, MIDDLE, HIGH = "p10", "p50", "p90"
VALUES = ("panel", "unit", "n", LOW, MIDDLE, HIGH)


@dataclass(frozen=True)
class Panel:
    """What one row of the figure shows."""

    title: str
    unit: str
    samples: Callable[[RunFolder], Samples]


def _throughput(run: RunFolder) -> Samples:
    start, end = run.window_ns
    width = BIN_NS if end - start >= FEWEST_BINS * BIN_NS else int(run.scenario["record"]["interval_ns"])
    table = throughput_bins(run.flows, Window(start, end), width)
    return table.groupby("t")["mbps"].sum().to_numpy(dtype=np.float64)


def _tcp_rtt(run: RunFolder) -> Samples:
    return tcp_rtt_samples(run.tcp_info, Window(*run.window_ns))


def _ping(run: RunFolder) -> Samples:
    return ping_samples(run.ping, Window(*run.window_ns))


THROUGHPUT = Panel("Throughput", "Mbit/s", _throughput)
TCP_RTT = Panel("TCP RTT", "ms", _tcp_rtt)
PING = Panel("Ping", "ms", _ping)


def data(results: Results, panels: Sequence[Panel]) -> pd.DataFrame:
    """One row per configuration and panel: the axes, panel, unit, n, p10, p50, p90."""
    groups: dict[tuple[tuple[str, str], ...], list[RunFolder]] = {}
    for run in results.runs:
        groups.setdefault(tuple(run.axes.items()), []).append(run)
    rows = [_row(dict(axes), runs, panel) for panel in panels for axes, runs in groups.items()]
    return pd.DataFrame(rows)


def _row(axes: Mapping[str, str], runs: Sequence[RunFolder], panel: Panel) -> dict[str, Any]:
    samples = np.concatenate([panel.samples(run) for run in runs])
    if not len(samples):
        where = ", ".join(axes.values()) or "this run"
        raise NotDrawable(
            f"{where} has no {panel.title.lower()} in its measurement window\n  hint: try another plot, see `--list`"
        )
    low, middle, high = np.percentile(samples, (10, 50, 90))
    found = {LOW: float(low), MIDDLE: float(middle), HIGH: float(high)}
    return {**axes, "panel": panel.title, "unit": panel.unit, "n": len(samples), **found}


@dataclass(frozen=True)
class Roles:
    """Which axis of the grid is shown by what. An axis with one value is shown by nothing."""

    x: str | None
    colour: str | None
    hatch: str | None
    columns: tuple[str, ...]


def roles(axes: Mapping[str, Sequence[str]]) -> Roles:
    """Colour tells congestion controls apart and hatching small-queue limits, where both vary with something else."""
    left = [axis for axis, values in axes.items() if len(values) > 1]
    places = [axis for axis in left if axis not in ("cc", "tsq")]
    x = next(iter(places or [axis for axis in ("tsq", "cc") if axis in left]), None)
    left = [axis for axis in left if axis != x]
    colour = "cc" if "cc" in left else next(iter(left[::-1]), None)
    left = [axis for axis in left if axis != colour]
    hatch = "tsq" if "tsq" in left else None
    return Roles(x, colour, hatch, tuple(axis for axis in left if axis != hatch))


def draw(table: pd.DataFrame) -> Figure:
    """The figure of a table made by `data`."""
    axes = {str(axis): [str(value) for value in table[axis].unique()] for axis in table if axis not in VALUES}
    shown = roles(axes)
    panels = list(table["panel"].unique())
    columns = _columns(table, shown)
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=_size(table, panels, columns), layout="constrained")
        grid = figure.subplots(len(panels), len(columns), squeeze=False, sharex="col", sharey="row")
        for row, panel in enumerate(panels):
            for place, (label, part) in enumerate(columns):
                _draw_panel(grid[row, place], part[part["panel"] == panel], axes, shown)
                if row == 0:
                    grid[row, place].set_title(label)
            _finish_row(grid[row], table[table["panel"] == panel])
        for axis in grid[-1]:
            axis.set_xlabel(shown.x or "")
        figure.suptitle(", ".join(style.label(axis, *values) for axis, values in axes.items() if len(values) == 1))
        _legend(figure, axes, shown)
        figure.align_ylabels()
    return figure


def _columns(table: pd.DataFrame, shown: Roles) -> list[tuple[str, pd.DataFrame]]:
    """The parts of `table` side by side, with the values that tell them apart."""
    if not shown.columns:
        return [("", table)]
    parts = [part for _, part in table.groupby(list(shown.columns), sort=False)]
    return [(", ".join(style.label(axis, str(part[axis].iloc[0])) for axis in shown.columns), part) for part in parts]


def _size(table: pd.DataFrame, panels: Sequence[str], columns: Sequence[Any]) -> tuple[float, float]:
    sticks = len(table) / len(panels)
    width = min(style.PAGE_WIDTH, max(style.COLUMN_WIDTH, 1.2 + 0.22 * sticks))
    return (max(width, 1.6 * len(columns)), 0.7 + 1.75 * len(panels))


STICK = 0.8
"""Share of the place of a stick that it fills."""


def _draw_panel(axes: Axes, part: pd.DataFrame, values: Mapping[str, Sequence[str]], shown: Roles) -> None:
    """The sticks of one panel and column."""
    ticks = values[shown.x] if shown.x else [""]
    side_by_side = _sticks(values, shown)
    width = STICK / len(side_by_side)
    for (colour, hatch), look in side_by_side.items():
        for tick, value in enumerate(ticks):
            row = _find(part, {shown.x: value, shown.colour: colour, shown.hatch: hatch})
            if row is not None:
                centre = tick + (look.place - (len(side_by_side) - 1) / 2) * width
                _draw_stick(axes, row, (centre, width * 0.84), look)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlim(-0.5, len(ticks) - 0.5)
    for border in range(1, len(ticks)):
        axes.axvline(border - 0.5, color="#d9d9d9", linewidth=0.5, zorder=0)
    axes.tick_params(axis="x", length=0)
    if shown.x and max(map(len, ticks)) * len(ticks) > 60:
        axes.tick_params(axis="x", rotation=30)


@dataclass(frozen=True)
class _Look:
    place: int
    colour: str
    hatch: str
    marker: str

    @property
    def face(self) -> str:
        """A hatched stick is white inside, or the hatch would not show in print."""
        return "white" if self.hatch else self.colour


def _sticks(values: Mapping[str, Sequence[str]], shown: Roles) -> dict[tuple[str | None, str | None], _Look]:
    """The sticks beside each other at one tick, by their values of colour and hatch."""
    by_colour: Sequence[str | None] = values[shown.colour] if shown.colour else [None]
    by_hatch: Sequence[str | None] = values[shown.hatch] if shown.hatch else [None]
    colour_of = style.colours(values[shown.colour]) if shown.colour else {}
    hatch_of = style.hatches(values[shown.hatch]) if shown.hatch else {}
    marker_of = dict(zip(hatch_of, style.MARKERS, strict=False))
    pairs = [(colour, hatch) for colour in by_colour for hatch in by_hatch]
    return {
        (colour, hatch): _Look(
            place,
            colour_of.get(colour or "", style.PALETTE[0]),
            hatch_of.get(hatch or "", ""),
            marker_of.get(hatch or "", style.MARKERS[0]),
        )
        for place, (colour, hatch) in enumerate(pairs)
    }


def _find(part: pd.DataFrame, wanted: Mapping[str | None, str | None]) -> pd.Series | None:
    """The row with these values, if the grid has it."""
    for axis, value in wanted.items():
        if axis is not None:
            part = part[part[axis].astype(str) == value]
    return None if part.empty else part.iloc[0]


def _draw_stick(axes: Axes, row: "pd.Series[Any]", place: tuple[float, float], look: _Look) -> None:
    centre, width = place
    low, middle, high = float(row[LOW]), float(row[MIDDLE]), float(row[HIGH])
    axes.add_patch(
        Rectangle(
            (centre - width / 2, low), width, high - low, facecolor=look.face, edgecolor=look.colour,
            hatch=look.hatch, linewidth=0.9, zorder=2,
        )
    )  # fmt: skip
    axes.hlines(middle, centre - width / 2, centre + width / 2, colors=style.BLACK, linewidth=1, zorder=3)
    # Where the spread is nil the mark is all there is to tell configurations apart.
    axes.plot(
        centre, middle, marker=look.marker, markersize=3.4, zorder=4, markerfacecolor=look.face,
        markeredgecolor=style.BLACK if not look.hatch else look.colour, markeredgewidth=0.6,
    )  # fmt: skip


def _finish_row(row: Sequence[Axes], rows: pd.DataFrame) -> None:
    """Scale and label of one panel; its columns share them."""
    values = rows[[LOW, MIDDLE, HIGH]].to_numpy(dtype=np.float64)
    for axes in row:
        style.scale(axes, values.ravel(), float(values.max()))
    row[0].set_ylabel(f"{rows['panel'].iloc[0]} ({rows['unit'].iloc[0]})")


def _legend(figure: Figure, values: Mapping[str, Sequence[str]], shown: Roles) -> None:
    handles: list[Patch] = []
    if shown.colour:
        handles += [
            Patch(facecolor=colour, edgecolor=colour, label=style.label(shown.colour, value))
            for value, colour in style.colours(values[shown.colour]).items()
        ]
    if shown.hatch:
        handles += [
            Patch(facecolor="white" if hatch else style.GREY, edgecolor=style.GREY, hatch=hatch,
                  label=style.label(shown.hatch, value))
            for value, hatch in style.hatches(values[shown.hatch]).items()
        ]  # fmt: skip
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 8), handlelength=1.6)
