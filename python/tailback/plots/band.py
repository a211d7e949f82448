"""Goodput, ping, TCP RTT, cwnd and queue over time: means over the repetitions, and the 95 % interval of that mean as a
band, within what is possible: not below 0, and for goodput not beyond what the links carry.

In bins of 1 s or of `--bin`: goodput of all flows together, means over pings or flows of RTT and cwnd, and the mean
length of the longest queue, of all root disciplines of a run, over the samples of a bin. A mean over time series that
are not in phase hides their oscillations; `timeseries` shows single runs. If there are more curves than line styles,
each has a colour and a line style of its own, and the legend has the highest first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import Window
from tailback.analysis.intervals import t_intervals
from tailback.analysis.metrics import MICROSECONDS_PER_MS, Samples, total_bins
from tailback.analysis.table import Table
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, capacity, gaps, labels, lines
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.plots.offered import one_of
from tailback.plots.stacking import stacked
from tailback.results import Results, RunResult
from tailback.results.sampled import over_time

OVERSHOOT = 2.0
"""Upper limit of an axis for samples before the measurement window, relative to the largest measured value."""

BAND = 1.5
"""Upper limit of an axis for a band, relative to the largest measured mean; what is above is cut off."""

QUEUE = "queue"
"""The name of the longest queue, which is no metric of a summary."""

Points = tuple[Samples, Samples]
"""Times (s, ends of bins) in order, and the value of each."""

Read = Callable[[RunResult, Choice], Points]


def _goodput(run: RunResult, choice: Choice) -> Points:
    flows = run.columns("flows", ("t", "flow", "bytes"))
    return total_bins(flows, Window(0, run.scenario.duration_ns), bins.width_ns(run, choice))


def _ping(run: RunResult, choice: Choice) -> Points:
    return _mean(run, choice, Table.of(run.columns("ping", ("t", "rtt_ms"))), "rtt_ms")


def _rtt(run: RunResult, choice: Choice) -> Points:
    samples = over_time(run)
    ends, means = _mean(run, choice, samples.where(samples.numbers("rtt") > 0), "rtt")
    return ends, means / MICROSECONDS_PER_MS


def _cwnd(run: RunResult, choice: Choice) -> Points:
    return _mean(run, choice, over_time(run), "snd_cwnd")


def _queue(run: RunResult, choice: Choice) -> Points:
    """The longest queue at each sample."""
    samples = Table.of(run.columns("qdisc", ("t", "depth", "backlog_packets")))
    roots = samples.where(samples.numbers("depth") == 0)
    times, places = np.unique(roots.numbers("t"), return_inverse=True)
    longest = np.full(len(times), -np.inf)
    np.maximum.at(longest, places, np.nan_to_num(roots.numbers("backlog_packets"), nan=-np.inf))
    return _mean(run, choice, Table.of({"t": times, "longest": longest}), "longest")


def _mean(run: RunResult, choice: Choice, samples: Table, column: str) -> Points:
    """The mean over all flows or pings and samples in each bin."""
    values = samples.numbers(column)
    known = np.isfinite(values)
    width = bins.width_ns(run, choice) / NANOSECONDS
    ends = np.maximum(np.ceil(samples.numbers("t")[known] / width - 1e-9), 1)
    found, places = np.unique(ends, return_inverse=True)
    sums, counts = np.bincount(places, values[known]), np.bincount(places)
    return found * width, sums / counts


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
    "goodput": Series("Goodput", "Mbit/s", "flows", _goodput, "goodput", capacity.most_mbps),
    "ping": Series("Ping", "ms", "ping", _ping, "ping"),
    "rtt": Series("TCP RTT", "ms", "tcp_info", _rtt, "tcp"),
    "cwnd": Series("cwnd", "segments", "tcp_info", _cwnd, "tcp"),
    "queue": Series("Longest queue", "packets", "qdisc", _queue, "queue"),
}


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and bin: axes, panel, unit, n (repetitions), t, mean, low, high, measured."""
    series = SERIES[QUEUE] if choice.metric == QUEUE else one_of(choice.metric or "goodput", SERIES, "bands")
    having = [(axes, [run for run in runs if run.has(series.table)]) for axes, runs in results.configurations]
    found = stacked([_intervals(axes, runs, (series, choice)) for axes, runs in having if runs])
    if found.empty:
        raise lacking(results.path, f"{labels.within(series.title)} over time", series.need)
    return found


def _intervals(axes: dict[str, str], runs: list[RunResult], shown: tuple[Series, Choice]) -> dict[str, Any]:
    series, choice = shown
    times, wide = _side_by_side([series.read(run, choice) for run in runs])
    known = ~np.isnan(wide)
    counts = known.sum(axis=1)
    means, ends = np.empty(len(times)), np.empty((len(times), 2))
    for count in np.unique(counts):
        some = counts == count
        values = wide[some][known[some]].reshape(-1, count)
        means[some] = values.mean(axis=1)
        ends[some] = t_intervals(values.T, 0.0)
    highest = capacity.bounded_each(ends[:, 1], means, series.most(runs))
    start, end = (edge / NANOSECONDS for edge in runs[0].window_ns)
    return {
        **axes, "panel": series.title, "unit": series.unit, "n": counts, "t": times,
        "mean": means, "low": ends[:, 0], "high": highest, "measured": (times > start) & (times <= end),
    }  # fmt: skip


def _side_by_side(repetitions: Sequence[Points]) -> tuple[Samples, Samples]:
    """All times, and for each a row with the values of the repetitions, NaN where one has none."""
    times = np.unique(np.concatenate([ends for ends, _ in repetitions]))
    wide = np.full((len(times), len(repetitions)), np.nan)
    for column, (ends, values) in enumerate(repetitions):
        wide[np.searchsorted(times, ends), column] = values
    return times, wide


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    rows = gaps.broken(rows)
    t = rows["t"].to_numpy()
    axes.fill_between(t, rows["low"].to_numpy(), rows["high"].to_numpy(), color=look.colour, alpha=0.2, linewidth=0)
    gaps.draw(axes, rows, "mean", **look.drawn, linewidth=1.1)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    label = labels.of_table(table)
    panels = lines.Panels(_paint, _scale, "Time (s)", label, height="mean", band=lines.INTERVAL, order=_from_above)
    return lines.draw(table, panels, choice)


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
    axes.set_xlim(0, float(table["t"].max()))


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The lines and bands on `axes`."""
    lines.on(axes, table, _paint)
