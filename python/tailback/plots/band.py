"""Goodput, ping, TCP RTT, cwnd and queue over time: means over the repetitions, and the 95 % interval of that mean as a
band, within what is possible: not below 0, and for goodput not beyond what the links carry.

In bins of 1 s or of `--bin`, each drawn at its middle: goodput of all flows together, means over pings or flows of RTT
and cwnd, and the mean length of the longest queue, of all root disciplines and mac80211's queues at radios, over the
samples of a bin. A mean over time series that are not in phase hides their oscillations; `timeseries` shows single
runs. If there are more curves than line styles, each has a colour and a line style of its own, and the legend has the
highest first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis.intervals import t_intervals
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, capacity, cut, gaps, labels, lines, outside
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.plots.offered import one_of
from tailback.plots.stacking import stacked
from tailback.results import Results, RunResult, curves

OVERSHOOT = 2.0
"""Upper limit of an axis for samples before the measurement window, relative to the largest measured value."""

BAND = 1.5
"""Upper limit of an axis for a band, relative to the largest measured mean; what is above is cut off."""

QUEUE = "queue"
"""The name of the longest queue, which is no metric of a summary."""

Read = Callable[[RunResult, int], curves.Points]


@dataclass(frozen=True)
class Series:
    """A quantity over time."""

    title: str
    unit: str
    table: str
    """The table that it is read from."""
    read: Read
    need: str
    """What an experiment needs to record it (`errors.TO_RECORD`)."""
    most: Callable[[Sequence[RunResult]], float | None] = lambda _: None
    """The largest possible value."""


SERIES: dict[str, Series] = {
    "goodput": Series("Goodput", "Mbit/s", "flows", curves.goodput, "goodput", capacity.most_mbps),
    "ping": Series("Ping", "ms", "ping", curves.ping, "ping"),
    "rtt": Series("TCP RTT", "ms", "tcp_info", curves.rtt, "tcp"),
    "cwnd": Series("cwnd", "segments", "tcp_info", curves.cwnd, "tcp"),
    "queue": Series("Longest queue", "packets", "qdisc", curves.queue, "queue"),
}


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and bin: axes, panel, unit, n (repetitions), t (s), mean, low, high, measured, the bin
    width (s), and the measurement window.
    """
    series = SERIES[QUEUE] if choice.metric == QUEUE else one_of(choice.metric or "goodput", SERIES, "bands")
    having = [(axes, [run for run in runs if run.has(series.table)]) for axes, runs in results.configurations]
    found = stacked([_intervals(axes, runs, (series, choice)) for axes, runs in having if runs])
    if found.empty:
        raise lacking(results.path, f"{labels.within(series.title)} over time", series.need)
    return found


def _intervals(axes: dict[str, str], runs: list[RunResult], shown: tuple[Series, Choice]) -> dict[str, Any]:
    series, choice = shown
    width = bins.width_ns(runs[0], choice) / NANOSECONDS
    times, wide = curves.side_by_side([series.read(run, bins.width_ns(run, choice)) for run in runs])
    times = times - width / 2
    known = ~np.isnan(wide)
    counts = known.sum(axis=1)
    means, ends = np.empty(len(times)), np.empty((len(times), 2))
    for count in np.unique(counts):
        some = counts == count
        values = wide[some][known[some]].reshape(-1, count)
        means[some] = values.mean(axis=1)
        ends[some] = t_intervals(values.T, 0.0)
    highest = capacity.bounded_each(ends[:, 1], means, series.most(runs))
    return {
        **axes, "panel": series.title, "unit": series.unit, "n": counts, "t": times,
        "mean": means, "low": ends[:, 0], "high": highest, "measured": outside.within(times, runs[0]),
        bins.WIDTH: width, **outside.edges(runs[0]),
    }  # fmt: skip


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    rows = gaps.broken(rows)
    t = rows["t"].to_numpy()
    axes.fill_between(t, rows["low"].to_numpy(), rows["high"].to_numpy(), color=look.colour, alpha=0.2, linewidth=0)
    gaps.draw(axes, rows, "mean", **look.drawn, linewidth=1.1)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    label = labels.of_table(table)
    peaks = cut.Peaks()

    def paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
        _paint(axes, rows, look)
        peaks.see(axes, rows["mean"])

    panels = lines.Panels(paint, _scale, lines.TIME, label, height="mean", band=lines.INTERVAL, order=_from_above)
    figure = lines.draw(table, panels, choice)
    peaks.note(str(table["unit"].iloc[0]))
    return figure


def _from_above(rows: pd.DataFrame) -> float:
    """The place of the rows of one curve, the highest first."""
    return -float(rows["mean"].mean())


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    measured = table[table["measured"]]
    highest = float((measured if len(measured) else table)["mean"].max())
    # The band is shown where it does not make the curves small.
    top = min(float(table[["mean", "high"]].max().max()), max(BAND * highest, float(table["mean"].max())))
    top = min(top, OVERSHOOT * highest)
    axes.set_ylim(0, top * 1.08 if top > 0 else 1)
    axes.set_xlim(0, bins.last(table))


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The lines and bands on `axes`."""
    lines.on(axes, table, _paint)
