"""Goodput, ping, TCP RTT and cwnd over time: means over the repetitions, and the 95 % interval of that mean as a band.

In bins of 1 s or of `--bin`: goodput of all flows together, and means over pings or flows of RTT and cwnd. A mean
over time series that are not in phase hides their oscillations; `timeseries` shows single runs. If there are more
curves than line styles, each has a colour and a line style of its own, and the legend has the highest first.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import t_interval
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, lines
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look
from tailback.plots.offered import one_of
from tailback.results import Results, RunFolder

OVERSHOOT = 2.0
"""Upper limit of an axis for samples before the measurement window, relative to the largest measured value."""

Read = Callable[[RunFolder, Choice], "pd.Series[float]"]
"""Value by time (s, end of the bin)."""


def _goodput(run: RunFolder, choice: Choice) -> "pd.Series[float]":
    return bins.goodput(run, choice).groupby("t")["mbps"].sum()


def _ping(run: RunFolder, choice: Choice) -> "pd.Series[float]":
    if not run.has("ping"):
        raise NotDrawable(f"`{run.path}` has no pings\n  hint: add `{{ping: client -> server}}` to `traffic`")
    if run.ping["rtt_ms"].isna().all():
        raise NotDrawable(f"`{run.path}` has no answered ping\n  hint: add `{{ping: client -> server}}` to `traffic`")
    return _mean(run, choice, run.ping.assign(value=run.ping["rtt_ms"]))


def _rtt(run: RunFolder, choice: Choice) -> "pd.Series[float]":
    return _mean(run, choice, run.tcp_info.assign(value=run.tcp_info["rtt"].where(run.tcp_info["rtt"] > 0) / 1e3))


def _cwnd(run: RunFolder, choice: Choice) -> "pd.Series[float]":
    return _mean(run, choice, run.tcp_info.assign(value=run.tcp_info["snd_cwnd"]))


def _mean(run: RunFolder, choice: Choice, samples: pd.DataFrame) -> "pd.Series[float]":
    """The mean over all flows or pings and samples in each bin."""
    width = bins.width_ns(run, choice) / NANOSECONDS
    ends = np.ceil(samples["t"] / width - 1e-9).clip(lower=1) * width
    return samples["value"].astype(np.float64).groupby(ends).mean().dropna()


SERIES: dict[str, tuple[str, str, Read]] = {
    "goodput": ("Goodput", "Mbit/s", _goodput),
    "ping": ("Ping", "ms", _ping),
    "rtt": ("TCP RTT", "ms", _rtt),
    "cwnd": ("cwnd", "segments", _cwnd),
}


def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and bin: axes, panel, unit, n (repetitions), t, mean, low, high, measured."""
    series = one_of(choice.metric or "goodput", SERIES, "bands")
    title, unit, read = series
    parts = [
        _intervals(axes, runs, (title, unit, lambda run: read(run, choice))) for axes, runs in results.configurations
    ]
    return pd.concat(parts, ignore_index=True)


def _intervals(
    axes: dict[str, str], runs: list[RunFolder], series: tuple[str, str, Callable[[RunFolder], "pd.Series[float]"]]
) -> pd.DataFrame:
    title, unit, read = series
    wide = pd.DataFrame({run.repetition: read(run) for run in runs}).sort_index()
    ends = np.array([t_interval(row[~np.isnan(row)], 0.0) for row in wide.to_numpy(dtype=np.float64)]).reshape(-1, 2)
    start, end = (edge / NANOSECONDS for edge in runs[0].window_ns)
    times = wide.index.to_numpy(dtype=np.float64)
    return pd.DataFrame(
        {**axes, "panel": title, "unit": unit, "n": wide.notna().sum(axis=1).to_numpy(), "t": times,
         "mean": wide.mean(axis=1).to_numpy(), "low": ends[:, 0], "high": ends[:, 1],
         "measured": (times > start) & (times <= end)}
    )  # fmt: skip


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    t = rows["t"].to_numpy()
    axes.fill_between(t, rows["low"].to_numpy(), rows["high"].to_numpy(), color=look.colour, alpha=0.2, linewidth=0)
    axes.plot(t, rows["mean"].to_numpy(), color=look.colour, linestyle=look.line, linewidth=1.1)


def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    label = f"{table['panel'].iloc[0]} ({table['unit'].iloc[0]})"
    return lines.draw(
        table,
        lines.Panels(_paint, _scale, "Time (s)", label, height="mean", band=lines.INTERVAL, order=_from_above),
        choice,
    )


def _from_above(rows: pd.DataFrame) -> float:
    """The place of the rows of one curve, the highest first."""
    return -float(rows["mean"].mean())


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    measured = table[table["measured"]]
    highest = float((measured if len(measured) else table)["mean"].max())
    top = min(float(table["mean"].max()), OVERSHOOT * highest)
    axes.set_ylim(0, top * 1.08 if top > 0 else 1)
    axes.set_xlim(0, float(table["t"].max()))


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The lines and bands on `axes`."""
    lines.on(axes, table, _paint)
