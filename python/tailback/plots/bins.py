"""The bins of a curve over time: their width, as the user gives it or as fits the length of the run."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tailback.analysis import Window, bin_width_ns, throughput_bins
from tailback.analysis.table import Table
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Choice
from tailback.results import RunResult


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


def width_s(ends: "pd.Series[float]") -> float:
    """The width of bins with these ends; the first bin begins at 0."""
    return float(np.diff(np.unique([0.0, *ends])).min())


def from_start(series: pd.DataFrame, width: float) -> pd.DataFrame:
    """A series of bins with the start of its first one, without which the step to its end would not be drawn."""
    first = series.iloc[:1]
    return pd.concat([first.assign(t=first["t"] - width), series])


def received(run: RunResult, flows: Collection[str] | None = None) -> Table:
    """What each flow has received, or each of these."""
    table = Table.of(run.flows)
    return table if flows is None else table.where(table.words("flow").among(flows))


def goodput(run: RunResult, choice: Choice, flows: Collection[str] | None = None) -> pd.DataFrame:
    """Goodput of each flow, or of these, in bins over the whole run: t (s, end of the bin), flow, mbps."""
    return throughput_bins(received(run, flows), Window(0, run.scenario.duration_ns), width_ns(run, choice))
