"""Cumulative distributions of TCP RTT, ping or goodput: the share of samples at or below a value.

The line is the mean of the quantiles of the repetitions, the band the pointwise 95 % interval of that mean
(`analysis.intervals`), within what is possible: not below 0, and for goodput not beyond what the links carry. If the
axis of the line styles, or the only axis, has more than four values, each curve has a colour and a line style of its
own, and the legend has the order of the medians.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis.intervals import t_intervals
from tailback.plots import candlestick, capacity, labels, lines, style
from tailback.plots.errors import TO_RECORD, NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.plots.offered import one_of
from tailback.plots.stacking import stacked
from tailback.results import Results, RunResult

SHARES = (*range(0, 100), 99.5, 99.9, 100)
WIDE = 20.0
"""Ratio of the 99th percentiles of configurations from which the scale is logarithmic."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and share: axes, panel, unit, n (repetitions), share, value, low, high."""
    panel = one_of(choice.metric or "rtt", candlestick.PANELS, "distributions")
    parts = [part for axes, runs in results.configurations if (part := _distribution(axes, runs, panel))]
    if not parts:
        others = ", ".join(name for name, each in candlestick.PANELS.items() if each is not panel)
        raise NotDrawable(
            f"`{results.path}` has no {labels.within(panel.title)} in its measurement window\n"
            f"  hint: {TO_RECORD[panel.need]}; or choose another: --metric is one of {others}"
        )
    return stacked(parts)


def _distribution(axes: dict[str, str], runs: list[RunResult], panel: candlestick.Panel) -> dict[str, Any]:
    """The rows of one configuration; empty if it has no samples."""
    samples = [found for run in runs if len(found := panel.samples(run))]
    if not samples:
        return {}
    quantiles = np.array([np.percentile(each, SHARES) for each in samples])
    means, ends = quantiles.mean(axis=0), np.array(t_intervals(quantiles, 0.0))
    highest = capacity.bounded_each(ends[:, 1], means, panel.most(runs))
    columns = {"share": np.array(SHARES) / 100, "value": means, "low": ends[:, 0], "high": highest}
    return {**axes, "panel": panel.title, "unit": panel.unit, "n": len(samples), **columns}


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    share = rows["share"].to_numpy()
    if rows["low"].notna().all():
        axes.fill_betweenx(
            share, rows["low"].to_numpy(), rows["high"].to_numpy(), color=look.colour, alpha=0.2, linewidth=0
        )
    axes.plot(rows["value"].to_numpy(), share, **look.drawn, linewidth=1.1)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    panels = lines.Panels(
        _paint, _scale, labels.of_table(table), "Cumulative share", band=lines.INTERVAL, order=_median
    )
    return lines.draw(table, panels, choice)


def _median(rows: pd.DataFrame) -> float:
    """The median of the rows of one curve, over all panels."""
    return float(rows.loc[rows["share"] == 0.5, "value"].mean())


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    shown = table[table["share"] <= 0.999]["value"]
    tails = table.loc[table["share"] == 0.99, "value"]
    axes.set_ylim(0, 1.02)
    if float(tails.max()) > WIDE * max(float(tails.min()), 1e-9) and float(shown.min()) > 0:
        style.logarithmic_x(axes, (float(shown.min()) / 1.3, float(shown.max()) * 1.3))
        return
    axes.set_xlim(min(0.0, float(shown.min())), float(shown.max()) * 1.05)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The distributions on `axes`."""
    lines.on(axes, table, _paint)
