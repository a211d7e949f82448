"""The bins of a curve over time: their width, as the user gives it or as fits the length of the run.

The `t` of a bin is its middle, so that its value is not drawn later than it was.
"""

from collections.abc import Collection

import pandas as pd

from tailback.analysis import Window, bin_width_ns, throughput_bins
from tailback.analysis.table import Table
from tailback.analysis.window import NANOSECONDS
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Choice
from tailback.results import RunResult

WIDTH = "bin width"
"""Column with the width (s) of the bin that a row is of, whose middle is its `t`; unknown for a sample."""


def width_ns(run: RunResult, choice: Choice) -> int:
    """The width of bins: that of `choice` in whole sampling intervals, else 1 s or a twentieth of a short run."""
    interval = run.scenario.record.interval_ns
    if choice.bin_ns is None:
        return bin_width_ns(run.scenario.duration_ns, interval)
    if choice.bin_ns < interval:
        raise NotDrawable(
            f"bins of {_ms(choice.bin_ns)} are shorter than the interval of the samples, {_ms(interval)}\n"
            f"  hint: --bin {_ms(interval)}, or `measure: {{interval: {_ms(choice.bin_ns)}}}` in a new run"
        )
    return choice.bin_ns // interval * interval


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:g}ms"


def ends(table: pd.DataFrame) -> "pd.Series[float]":
    """The ends (s) of bins; of samples their times."""
    return table["t"] + table[WIDTH].fillna(0.0) / 2 if WIDTH in table else table["t"]


def last(table: pd.DataFrame) -> float:
    """When the last bin ends, or the last sample was taken (s)."""
    return float(ends(table).max())


def steps(series: pd.DataFrame) -> pd.DataFrame:
    """The bins of a series for steps that end at their `t`, after the start of the first one, without which the step to
    its end would not be drawn.
    """
    found = series.assign(t=ends(series))
    first = found.iloc[:1]
    return pd.concat([first.assign(t=first["t"] - first[WIDTH]), found])


def received(run: RunResult, flows: Collection[str] | None = None) -> Table:
    """What each flow has received, or each of these."""
    table = Table.of(run.flows)
    return table if flows is None else table.where(table.words("flow").among(flows))


def goodput(run: RunResult, choice: Choice, flows: Collection[str] | None = None) -> pd.DataFrame:
    """Goodput of each flow, or of these, in bins over the whole run: t (s), flow, mbps, bin width (s)."""
    width = width_ns(run, choice)
    found = throughput_bins(received(run, flows), Window(0, run.scenario.duration_ns), width)
    return found.assign(t=found["t"] - width / NANOSECONDS / 2, **{WIDTH: width / NANOSECONDS})
