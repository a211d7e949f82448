"""More flows than a panel can show as lines: their median, and a band from the 10th to the 90th percentile.

At each moment they are those of the flows that are active: in each bin of time, a flow with samples counts with their
mean, and a flow that transfers counts with its goodput in this bin, from its first byte to its last. Flows of different
kinds (`plots.kinds`: the `group` of an entry of `traffic`, else the entry, and how a station differs) stay apart, so
that one long flow is visible beside thousands of short ones; with more groups than colours, the directions stay apart.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from msgspec import Struct

from tailback.analysis.active import active
from tailback.analysis.metrics import BITS, MEGA
from tailback.analysis.table import Columns, Places, Table, Values
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, kinds, style
from tailback.plots.layout import Choice
from tailback.results import RunResult

MOST_LINES = 20
"""The number of lines up to which each is drawn. More cover each other, for there are eight colours; and from here on,
there are two flows outside of each end of the band."""

LOW, MIDDLE, HIGH = "p10", "value", "p90"
SHARES = {LOW: 0.1, MIDDLE: 0.5, HIGH: 0.9}

BAND = "10th to 90th percentile around the median"
"""What the line and the band are, for the legend."""

BESIDE = ("n", LOW, HIGH, bins.WIDTH)
"""The columns of a table of many flows beside those of single flows: the number of active flows, the band, and the
width of the bins."""

Series = Mapping[str, str]
"""The name of the line to which each flow belongs."""


class Cells(Struct, frozen=True):
    """A value for each flow in each bin in which it is active."""

    flows: list[str]
    of: Places
    """The flow of each value, as a place in `flows`."""
    bins: Places
    values: Values
    width_s: float

    @property
    def count(self) -> int:
        """The number of bins up to the last in which a flow is active."""
        return int(self.bins.max(initial=-1)) + 1

    def total(self, flows: npt.NDArray[np.bool_]) -> tuple[Values, Values]:
        """The middles of all bins in s, and the sum of these flows in each."""
        these = flows[self.of]
        sums = np.bincount(self.bins[these], self.values[these], self.count)
        return self.middles(np.arange(self.count)), np.asarray(sums, dtype=np.float64)

    def middles(self, places: Places) -> Values:
        """The middles of bins in s."""
        return np.asarray((places + 0.5) * self.width_s, dtype=np.float64)


def lines_of(
    runs: Sequence[tuple[RunResult, Sequence[str]]], kind: str = "flows", most: int = MOST_LINES
) -> list[Series] | None:
    """For each run with its flows, the line to which each flow belongs; None if there are few enough to draw each."""
    if max((len(flows) for _, flows in runs), default=0) <= most:
        return None
    found: list[Series] = [kinds.of_flows(run, flows) for run, flows in runs]
    if len({group for each in found for group in each.values()}) > len(style.PALETTE):
        found = [{flow: _way(flow, run) for flow in flows} for run, flows in runs]
        if len({way for each in found for way in each.values()}) == 1:
            found = [dict.fromkeys(flows, "all") for _, flows in runs]
    labels = _labels(found, kind)
    return [{flow: labels[group] or flow for flow, group in each.items()} for each in found]


def _way(flow: str, run: RunResult) -> str:
    return str(run.manifest["measure"]["directions"].get(flow, "across"))


def _labels(found: Sequence[Series], kind: str) -> dict[str, str]:
    """For each group, its name and how many flows it has; empty if it is one flow."""
    sizes: dict[str, list[int]] = {}
    for each in found:
        groups, counts = np.unique(list(each.values()), return_counts=True)
        for group, count in zip(groups.tolist(), counts.tolist(), strict=True):
            sizes.setdefault(group, []).append(count)
    return {group: "" if max(each) == 1 else label(group, each, kind) for group, each in sizes.items()}


def label(name: str, sizes: Sequence[int], kind: str) -> str:
    """The label of a line that stands for many: `upload (1000 flows)`; `sizes` are those in each run."""
    low, high = min(sizes), max(sizes)
    return f"{name} ({low if low == high else f'{low} to {high}'} {kind})"


def means(samples: Columns, columns: tuple[str, str], width_ns: int) -> Cells:
    """The mean of the samples of each flow in each bin; `columns` are those of the flow and of the value.

    Unknown values are left out.
    """
    name, column = columns
    table = Table.of(samples).known(column)
    words = table.words(name)
    flows, flow = words.present(), words.ranks()
    # A sample at the end of a bin belongs to it, and one at 0 to the first.
    places = np.maximum(-(-table.t_ns // width_ns) - 1, 0)
    count = int(places.max(initial=0)) + 1
    cells, which = np.unique(flow * count + places, return_inverse=True)
    values = np.bincount(which, table.numbers(column), len(cells)) / np.bincount(which, minlength=len(cells))
    return Cells(flows, cells // count, cells % count, values, width_ns / NANOSECONDS)


def goodput(run: RunResult, choice: Choice, flows: Collection[str] | None = None) -> Cells:
    """The goodput of each flow (Mbit/s), or of these, in each bin from its first byte to its last."""
    width_ns = bins.width_ns(run, choice)
    table = bins.received(run, flows)
    places = np.maximum(-(-table.t_ns // width_ns) - 1, 0)
    # A bin that would extend beyond the run is left out, as `throughput_bins` does.
    whole = places < run.scenario.duration_ns // width_ns
    table, places = table.where(whole), places[whole]
    words = table.words("flow")
    names, flow = words.present(), words.ranks()
    found = active(flow, places, table.numbers("bytes"))
    mbps = found.sums * BITS * NANOSECONDS / width_ns / MEGA
    return Cells(names, found.of, found.bins, mbps, width_ns / NANOSECONDS)


def over_flows(cells: Cells, series: Series) -> pd.DataFrame:
    """One row per line and bin: series, t (s), bin width (s), n (active flows), p10, value (the median), p90."""
    names = list(dict.fromkeys(series[flow] for flow in cells.flows))
    code = {name: place for place, name in enumerate(names)}
    line = np.array([code[series[flow]] for flow in cells.flows], dtype=np.intp)[cells.of]
    count = max(1, cells.count)
    places, n, found = _percentiles(line * count + cells.bins, cells.values)
    named = np.array(names, dtype=object)[places // count]
    head = {"series": named, "t": cells.middles(places % count), bins.WIDTH: cells.width_s}
    return pd.DataFrame({**head, "n": n, **found})


def by_time(t: Values, values: Values) -> dict[str, Any]:
    """For each time: t, n, and the percentiles of its values."""
    times, places = np.unique(t, return_inverse=True)
    _, n, found = _percentiles(places, values)
    return {"t": times, "n": n, **found}


def _percentiles(places: Places, values: Values) -> tuple[Places, Places, dict[str, Values]]:
    """The distinct places, their numbers of values, and the percentiles of the values of each, which interpolate
    linearly between order statistics."""
    ordered = values[np.lexsort((values, places))]
    distinct, n = np.unique(places, return_counts=True)
    starts = np.cumsum(n) - n
    found: dict[str, npt.NDArray[np.float64]] = {}
    for name, share in SHARES.items():
        place = share * (n - 1)
        below = np.floor(place).astype(np.intp)
        low, high = ordered[starts + below], ordered[starts + np.minimum(below + 1, n - 1)]
        found[name] = low + (high - low) * (place - below)
    return distinct, n, found


def band(axes: Axes, rows: pd.DataFrame, colour: str, step: Literal["pre"] | None = None) -> None:
    """The band of one line, if it is one of many flows."""
    if summarised(rows):
        low, high = (rows[end].to_numpy(dtype=np.float64) for end in (LOW, HIGH))
        axes.fill_between(rows["t"].to_numpy(), low, high, step=step, color=colour, alpha=0.25, linewidth=0)


def key() -> Patch:
    """The entry of a legend for the bands."""
    return Patch(facecolor=style.GREY, alpha=0.3, linewidth=0, label=BAND)


def summarised(table: pd.DataFrame) -> bool:
    """Whether a table has medians and bands of many flows."""
    return LOW in table and bool(table[LOW].notna().any())


def tops(table: pd.DataFrame) -> "pd.Series[float]":
    """The upper ends of what is drawn: of bands, else of lines."""
    return table[HIGH].fillna(table[MIDDLE]) if summarised(table) else table[MIDDLE]


def top(table: pd.DataFrame) -> str:
    """The column with the upper ends, if all lines have bands or none has."""
    return HIGH if summarised(table) else MIDDLE
