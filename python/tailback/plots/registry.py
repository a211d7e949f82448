"""The plots there are, by name, and writing one to a file."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from tailback.plots import candlestick, style, timeseries
from tailback.plots.errors import NotDrawable
from tailback.results import Results
from tailback.results.durable import make_folder, write_file

__all__ = ["PLOTS", "NotDrawable", "Plot", "default_plot", "draw_to", "find_plot", "rendered"]


@dataclass(frozen=True)
class Plot:
    """Results to a table, the table to a figure."""

    name: str
    summary: str
    data: Callable[[Results], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Figure]


def _candlestick(name: str, summary: str, panels: tuple[candlestick.Panel, ...]) -> Plot:
    return Plot(name, summary, partial(candlestick.data, panels=panels), candlestick.draw)


PLOTS: Mapping[str, Plot] = {
    plot.name: plot
    for plot in (
        _candlestick(
            "candlestick",
            "10-50-90 % of throughput and TCP RTT per configuration",
            (candlestick.THROUGHPUT, candlestick.TCP_RTT),
        ),
        _candlestick(
            "candlestick_ping",
            "10-50-90 % of throughput and ping per configuration",
            (candlestick.THROUGHPUT, candlestick.PING),
        ),
        Plot("timeseries", "RTT, cwnd and throughput over time, one column per run", timeseries.data, timeseries.draw),
    )
}

FORMATS: Mapping[str, Mapping[str, Any]] = {
    # What a file would say of the occasion it was made on is left out: the same data is the same file.
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}


def find_plot(name: str) -> Plot:
    """The plot called `name`."""
    if name not in PLOTS:
        known = ", ".join(f"`{known}`" for known in PLOTS)
        raise NotDrawable(f"`{name}` is not a plot\n  hint: there are {known}")
    return PLOTS[name]


def default_plot(results: Results) -> Plot:
    """Candlesticks to compare configurations; time series if there is but one."""
    alone = all(len(values) == 1 for values in results.axes.values())
    return PLOTS["timeseries" if alone else "candlestick"]


def draw_to(plot: Plot, results: Results, target: Path) -> tuple[Path, Path]:
    """Draws `plot` into `target` (format by extension) and its data into the CSV beside it; returns both paths."""
    if target.suffix.lower() not in FORMATS:
        known = ", ".join(f"`{suffix}`" for suffix in FORMATS)
        raise NotDrawable(f"`{target}` does not end in a known format\n  hint: end it in one of {known}")
    table = plot.data(results)
    beside = target.with_suffix(".csv")
    make_folder(target.parent)
    write_file(beside, table.to_csv(index=False, lineterminator="\n").encode())
    write_file(target, rendered(plot.draw(table), target.suffix.lower()))
    return target, beside


def rendered(figure: Figure, suffix: str) -> bytes:
    """`figure` as the bytes of a file that ends in `suffix` (`.svg`); the same figure is the same bytes."""
    sink = io.BytesIO()
    with mpl.rc_context(style.STYLE):
        figure.savefig(sink, format=suffix[1:], metadata=dict(FORMATS[suffix]))
    return sink.getvalue()
