"""Candlesticks: from the 10th to the 90th percentile with a bar at the median, one per configuration.

Goodput is that of all flows of a direction together in bins of 1 s, RTT the samples of all flows; both over the
measurement window and over all repetitions. This is the form of figures 4 and 5 of `access21`. Where runs load pages or
ask for answers, how long these take comes first: it is what such runs are about.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tailback.analysis import Window, ping_samples, tcp_rtt_samples
from tailback.analysis.browsing import load_times
from tailback.analysis.metrics import Samples, total_bins
from tailback.analysis.sharing import request_latencies
from tailback.analysis.table import Table
from tailback.analysis.values import DOWN, UP
from tailback.plots import capacity, labels, sticks, style
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.plots.offered import one_of
from tailback.results import Results, RunResult
from tailback.results.sampled import over_time

BIN_NS = 1_000_000_000
"""Bins of goodput. At 10 Mbit/s, narrower bins would show reordering at the receiver instead of goodput."""

FEWEST_BINS = 10
"""If a window has fewer bins, it is too short for their percentiles, and the bins of the table `flows` are used."""

LOW, MIDDLE, HIGH = "p10", "p50", "p90"


@dataclass(frozen=True)
class Panel:
    """One row of the figure."""

    title: str
    unit: str
    samples: Callable[[RunResult], Samples]
    need: str
    """What an experiment needs to record it (`errors.TO_RECORD`)."""
    most: Callable[[Sequence[RunResult]], float | None] = lambda _: None
    """The largest possible value."""


def _goodput(run: RunResult, way: str | None = None) -> Samples:
    """The goodput of all flows in each bin, or of those in one direction."""
    if not run.has("flows"):
        return NOTHING
    start, end = run.window_ns
    width = BIN_NS if end - start >= FEWEST_BINS * BIN_NS else run.record.interval_ns
    flows = Table.of(run.columns("flows", ("t", "flow", "bytes")))
    if way is not None:
        directions = run.manifest["measure"]["directions"]
        flows = flows.where(flows.words("flow").among([flow for flow, its in directions.items() if its == way]))
    _, mbps = total_bins(flows, Window(start, end), width)
    return mbps


def _tcp_rtt(run: RunResult) -> Samples:
    if not run.has("tcp_info"):
        return NOTHING
    return tcp_rtt_samples(over_time(run), Window(*run.window_ns))


def _ping(run: RunResult) -> Samples:
    if not run.has("ping"):
        return NOTHING
    return ping_samples(run.columns("ping", ("t", "rtt_ms")), Window(*run.window_ns))


def _pages(run: RunResult) -> Samples:
    if not run.has("objects"):
        return NOTHING
    return load_times(run.columns("objects", ("t", "page", "loaded_ms")), Window(*run.window_ns))


def _requests(run: RunResult) -> Samples:
    if not run.has("requests"):
        return NOTHING
    return request_latencies(run.columns("requests", ("t", "latency_ms")), Window(*run.window_ns))


NOTHING: Samples = np.array([], dtype=np.float64)

GOODPUT = Panel("Goodput", "Mbit/s", _goodput, "goodput", capacity.most_mbps)
EACH_WAY = [
    Panel(f"Goodput {way}", "Mbit/s", partial(_goodput, way=way), "goodput", partial(capacity.most_mbps, way=way))
    for way in (UP, DOWN)
]
TCP_RTT = Panel("TCP RTT", "ms", _tcp_rtt, "tcp")
PING = Panel("Ping", "ms", _ping, "ping")
PAGE_LOAD = Panel("Page load", "s", _pages, "pages")
REQUEST = Panel("Request", "ms", _requests, "requests")
PANELS: Mapping[str, Panel] = {
    "goodput": GOODPUT, "rtt": TCP_RTT, "ping": PING, "page load": PAGE_LOAD, "request": REQUEST,
}  # fmt: skip
"""What `--metric` may name."""

OF_APPLICATIONS = (PAGE_LOAD, REQUEST)
"""Shown where an experiment has them, and missed nowhere."""

STICKS = (*OF_APPLICATIONS, GOODPUT, TCP_RTT)
SHARES = (10, 50, 90)


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """The table of `percentiles` for goodput and TCP RTT, or the metric of the choice."""
    return percentiles(results, chosen(choice, STICKS), SHARES)


def chosen(choice: Choice, panels: Sequence[Panel]) -> Sequence[Panel]:
    """The panels, or the one of the user's metric."""
    return panels if choice.metric is None else [one_of(choice.metric, PANELS, "candlesticks")]


def percentiles(results: Results, panels: Sequence[Panel], shares: Sequence[int]) -> pd.DataFrame:
    """One row per configuration and panel: the axes, panel, unit, n, and these percentiles (p10, p50, p90). With
    flows in both directions, goodput has a panel for each, because different directions share no link. A panel of which
    no run has anything, as TCP RTT of UDP, is left out if there are others. The same holds for a configuration.
    """
    both = all({UP, DOWN} <= {*run.manifest["measure"]["directions"].values()} for run in results.runs)
    shown = [each for panel in panels for each in (EACH_WAY if both and panel is GOODPUT else [panel])]
    rows = [_row(axes, runs, (panel, shares)) for panel in shown for axes, runs in results.configurations]
    found = [row for row in rows if row]
    if not found:
        missed = [panel for panel in panels if panel not in OF_APPLICATIONS] or panels
        titles = " and no ".join(labels.within(panel.title) for panel in missed)
        raise lacking(results.path, f"{titles} in its measurement window", missed[0].need)
    return pd.DataFrame(found)


def _row(axes: Mapping[str, str], runs: Sequence[RunResult], wanted: tuple[Panel, Sequence[int]]) -> dict[str, Any]:
    """The percentiles of one configuration; empty if it has no samples."""
    panel, shares = wanted
    samples = np.concatenate([panel.samples(run) for run in runs])
    if not len(samples):
        return {}
    found = {f"p{share}": float(value) for share, value in zip(shares, np.percentile(samples, shares), strict=True)}
    return {**axes, "panel": panel.title, "unit": panel.unit, "n": len(samples), **found}


def _paint(axes: Axes, row: Mapping[str, Any], place: tuple[float, float], look: Look) -> None:
    centre, width = place
    low, high = float(row[LOW]), float(row[HIGH])
    axes.add_artist(
        Rectangle(
            (centre - width / 2, low), width, high - low, facecolor=look.face, edgecolor=look.colour,
            hatch=look.hatch, linewidth=0.9, zorder=2,
        )
    )  # fmt: skip


def _medians(axes: Axes, marks: Sequence[sticks.Mark]) -> None:
    sticks.across(axes, marks, MIDDLE, {"colors": style.BLACK, "linewidth": 1, "zorder": 3})
    # If the percentiles are equal, only the mark distinguishes configurations.
    shown = [replace(mark, look=replace(mark.look, tells=mark.look.marker)) for mark in marks]
    sticks.all_marked(axes, shown, MIDDLE)


def _explained() -> tuple[Artist, ...]:
    return sticks.outlined("10th to 90th percentile"), sticks.median()


CANDLESTICK = sticks.Painter((LOW, MIDDLE, HIGH), _paint, explained=_explained, together=_medians)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The rows of one panel on `axes`."""
    sticks.on(axes, table, CANDLESTICK)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    return sticks.draw(table, CANDLESTICK, choice)
