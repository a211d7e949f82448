"""The registry of plots by name, and a function that writes one to a file."""

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tailback import plain
from tailback.on_demand import by_name
from tailback.plots import (
    aggregates,
    air,
    band,
    bar,
    box,
    candlestick,
    cdf,
    cwnd,
    fct,
    heatmap,
    held,
    names,
    pareto,
    queue,
    rrul,
    scatter,
    shares,
    style,
    timeseries,
)
from tailback.plots.errors import TO_RECORD, NotDrawable
from tailback.plots.frame import Frame
from tailback.plots.layout import AUTOMATIC, Choice, with_words, worded
from tailback.results import Results
from tailback.results.durable import make_folder, write_file

__all__ = ["PLOTS", "NotDrawable", "Plot", "default_plot", "draw_to", "find_plot", "rendered"]


@dataclass(frozen=True)
class Plot:
    """A plot: from results to a table, and from the table to a figure; both take the user's `Choice`."""

    name: str
    summary: str
    data: Callable[..., pd.DataFrame]
    draw: Callable[..., Figure]
    takes: str = ""
    """What `--metric` may be, for hints; empty if the plot takes no metric."""
    parts: tuple[str, ...] = ()
    """What distinguishes flows within a run, which `--colour` and `--facet` may name beside the axes."""
    free_y: bool = False
    """Whether its panels may have scales of their own along y (`--share-y`)."""

    def table(self, results: Results, choice: Choice = AUTOMATIC, **words: Any) -> pd.DataFrame:
        """The table of the plot, after a check of the user's choice, whose fields may be keywords, too."""
        choice = with_words(choice, words)
        if choice.metric is not None and not self.takes:
            hint = (
                f"leave it out; a metric is for {', '.join(f'`{plot.name}`' for plot in PLOTS.values() if plot.takes)}"
            )
            raise NotDrawable(f"`{self.name}` takes no --metric, and there is `{choice.metric}`\n  hint: {hint}")
        if choice.share_y is not None and not self.free_y:
            hint = f"leave it out; it is for {', '.join(f'`{plot.name}`' for plot in PLOTS.values() if plot.free_y)}"
            raise NotDrawable(f"`{self.name}` takes no --share-y\n  hint: {hint}")
        for axis in filter(None, (choice.x, choice.colour, *choice.facet)):
            if axis not in results.axes and axis not in self.parts:
                raise NotDrawable(f"`{axis}` is not an axis of `{results.path}`\n  hint: {_axes_of(results, axis)}")
        return self.data(results, choice)


WITH_PING = (candlestick.GOODPUT, candlestick.PING)


def _samples(panels: Sequence[candlestick.Panel], shares: Sequence[int]) -> Callable[..., pd.DataFrame]:
    @worded
    def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
        table = candlestick.percentiles(results, candlestick.chosen(choice, panels), shares)
        if choice.metric is None and candlestick.PING.title not in set(table["panel"]):
            hint = f"{TO_RECORD['ping']}; or draw `candlestick`, which has the RTT of TCP"
            raise NotDrawable(f"`{results.path}` has no ping in its measurement window\n  hint: {hint}")
        return table

    return data


def _plot(name: str, data: Callable[..., pd.DataFrame], draw: Callable[..., Figure], **more: Any) -> Plot:
    offered = names.PLOTS[name]
    return Plot(name, offered.summary, data, draw, offered.takes, **more)


_DRAWN: tuple[Plot, ...] = (
    _plot("candlestick", candlestick.data, candlestick.draw),
    _plot("candlestick_ping", _samples(WITH_PING, candlestick.SHARES), candlestick.draw),
    _plot("box", box.data, box.draw),
    _plot("box_ping", _samples(WITH_PING, box.SHARES), box.draw),
    _plot("bar", bar.data, bar.draw),
    _plot("cdf", cdf.data, cdf.draw, free_y=True),
    _plot("fct", fct.data, fct.draw, parts=(fct.GROUP,), free_y=True),
    _plot("scatter", scatter.data, scatter.draw, free_y=True),
    _plot("pareto", pareto.data, pareto.draw),
    _plot("heatmap", heatmap.data, heatmap.draw),
    _plot("band", band.data, band.draw, free_y=True),
    _plot("aggregates", aggregates.data, aggregates.draw, free_y=True),
    _plot("aggregate_rtt", aggregates.data_of_rtt, aggregates.draw_rtt, free_y=True),
    _plot("airtime", aggregates.data_of_airtime, aggregates.draw_airtime),
    _plot("air", air.data, air.draw),
    _plot("queue", queue.data, queue.draw, free_y=True),
    _plot("shares", shares.data, shares.draw, free_y=True),
    _plot("rrul", rrul.data, rrul.draw),
    _plot("cwnd", cwnd.data, cwnd.draw, free_y=True),
    _plot("held", held.data, held.draw),
    _plot("timeseries", timeseries.data, timeseries.draw),
)

PLOTS: Mapping[str, Plot] = by_name(_DRAWN)

FORMATS: Mapping[str, Mapping[str, Any]] = {
    # Creation date and program are left out, so the same data gives the same bytes.
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}

SAYS = {".png": "Description", ".pdf": "Subject", ".svg": "Description"}
"""The metadata field that holds the command that drew the figure."""


def _axes_of(results: Results, word: str) -> str:
    """The hint for a word that names no axis."""
    if not results.axes:
        return "it has none: vary something in the experiment file, such as vary: {cc: [cubic, bbr]}"
    return plain.meant(word, list(results.axes)) + "there is " + ", ".join(f"`{axis}`" for axis in results.axes)


def find_plot(name: str) -> Plot:
    """The plot called `name`."""
    if name not in PLOTS:
        known = ", ".join(f"`{known}`" for known in PLOTS)
        raise NotDrawable(f"`{name}` is not a plot\n  hint: {plain.meant(name, list(PLOTS))}there are {known}")
    return PLOTS[name]


def default_plot(results: Results) -> Plot:
    """Candlesticks to compare configurations; time series if there is only one."""
    alone = all(len(values) == 1 for values in results.axes.values())
    return PLOTS["timeseries" if alone else "candlestick"]


@dataclass(frozen=True)
class Output:
    """Where a figure is written, and its metadata."""

    target: Path
    """The file of the figure; the suffix selects the format."""
    command: str = ""
    """The command that draws it again, stored in the metadata of the file."""
    frame: Frame = field(default_factory=Frame)
    """What the user sets about the finished figure."""


def draw_to(plot: Plot, results: Results, output: Output | Path, choice: Choice = AUTOMATIC) -> tuple[Path, Path]:
    """Draws `plot` into a file and its data into the CSV beside it; returns both paths."""
    output = output if isinstance(output, Output) else Output(output)
    target, suffix = output.target, output.target.suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(f"`{suffix}`" for suffix in FORMATS)
        raise NotDrawable(f"`{target}` does not end in a known format\n  hint: end it in one of {known}")
    choice = replace(choice, y_scale=output.frame.y_scale)
    table = plot.table(results, choice)
    beside = target.with_suffix(".csv")
    make_folder(target.parent)
    write_file(beside, table.to_csv(index=False, lineterminator="\n").encode())
    figure = plot.draw(table, choice)
    output.frame.apply(figure)
    write_file(target, rendered(figure, suffix, output.command))
    return target, beside


def rendered(figure: Figure, suffix: str, command: str = "") -> bytes:
    """`figure` as the bytes of a file that ends in `suffix` (`.svg`); the same figure gives the same bytes."""
    sink = io.BytesIO()
    described = {SAYS[suffix]: command} if command else {}
    with mpl.rc_context(style.STYLE), _arranged(figure, suffix):
        figure.savefig(sink, format=suffix[1:], dpi=figure.dpi, metadata={**FORMATS[suffix], **described})
    return sink.getvalue()


@contextlib.contextmanager
def _arranged(figure: Figure, suffix: str) -> Iterator[None]:
    """Within it, the panels of a PNG have their places. Otherwise matplotlib draws the whole figure twice, the first
    time to have them arranged. Other formats measure text in their own way, so that it has to arrange their panels.
    """
    engine = figure.get_layout_engine()
    if suffix != ".png" or engine is None:
        yield
        return
    FigureCanvasAgg(figure)
    engine.execute(figure)
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
