"""How flows share the capacity over time: the share of each group of flows in the goodput of all, from 0 to 1.

A group is the `group` of an entry of `traffic`, else the entry (`upload` for `upload.3`); if there is one group only,
each flow is shown. In bins of 1 s, or a twentieth of a run of less than 20 s, as means over the repetitions, with the
95 % interval of that mean as a band; a bin that goes on after the last flow has stopped is left out. An upload and a
download do not share, so each direction has its own panel where there are downloads. Of many flows of one group, or of
many groups, the median of their shares and a band from the 10th to the 90th percentile (`plots.many`), over all
repetitions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import t_interval
from tailback.analysis.parts import group_of
from tailback.analysis.wifi import DOWN, UP
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, gaps, kinds, labels, layout, lines, many, outside
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult

GROUP, WAY = "flows", "direction"
PANEL = "Share of goodput"


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration, direction, group and bin: axes, panel, unit, n (repetitions), t (s), mean, low, high,
    bin width (s), and the measurement window. Of many that share, one row per bin: `value` is the median of the `n`
    active ones, between p10 and p90.
    """
    tables = [(axes, _table(runs, choice)) for axes, runs in results.configurations]
    sharing = [(axes, each) for axes, table in tables for each in _sharing(table)]
    if max((rows[GROUP].nunique() for _, (_, rows) in sharing), default=0) > many.MOST_LINES:
        parts = _over_all(sharing)
    else:
        parts = [_shares({**axes, WAY: way}, rows) for axes, (way, rows) in sharing]
        parts = [kinds.with_column(parts, GROUP, _labels(results, parts))] if parts else []
    if not parts:
        raise lacking(results.path, "flows that share", "sharing")
    table = pd.concat(parts, ignore_index=True)
    return table if table[WAY].nunique() > 1 else table.drop(columns=WAY)


def _labels(results: Results, parts: Sequence[pd.DataFrame]) -> list[kinds.Kinds] | None:
    """For each part, the kind of each flow or group, if there are more of them than colours."""
    of_run = {tuple(axes.values()): runs[0] for axes, runs in results.configurations}
    found = []
    for part in parts:
        run = of_run[tuple(str(part[axis].iloc[0]) for axis in results.axes)]
        found.append(kinds.of_flows(run, part[GROUP].unique()))
    return kinds.labelled(found, "flows")


def _table(runs: list[RunResult], choice: Choice) -> pd.DataFrame:
    """The goodput of each flow in each bin: flow, group, direction, repetition, t, mbps, and `KEPT`."""
    each = [
        _bins(run, choice).assign(repetition=run.repetition, **outside.edges(run)) for run in runs if run.has("flows")
    ]
    return pd.concat(each or [_NONE])


Sharing = tuple[str, pd.DataFrame]
"""A direction, and the goodput of those that share it, which are groups, or the flows of one group."""


def _sharing(table: pd.DataFrame) -> list[Sharing]:
    if DOWN not in set(table[WAY]):
        table = table.assign(**{WAY: UP})
    found = []
    for way, rows in table.groupby(WAY, sort=True):
        group = rows["flow"] if rows[GROUP].nunique() == 1 else rows[GROUP]
        if group.nunique() > 1:
            found.append((str(way), rows.assign(**{GROUP: group})))
    return found


KEPT = (bins.WIDTH, *outside.EDGES)
"""Columns that are the same in all bins of a run."""

_NONE = pd.DataFrame(columns=["flow", "t", "mbps", GROUP, WAY, "repetition", *KEPT], dtype=np.float64)


def _bins(run: RunResult, choice: Choice) -> pd.DataFrame:
    if run.flows.empty:
        return _NONE
    measure = run.manifest["measure"]
    table = _goodput(run, choice)
    # What arrives later is what the queues still held, in which shares mean nothing.
    table = table[bins.ends(table) <= run.scenario.last_stop_ns / NANOSECONDS + 1e-9]
    flows = table["flow"].unique()
    ways = {flow: measure["directions"].get(flow, "across") for flow in flows}
    groups = {flow: group_of(flow, measure) for flow in flows}
    return table.assign(**{WAY: table["flow"].map(ways), GROUP: table["flow"].map(groups)})


def _goodput(run: RunResult, choice: Choice) -> pd.DataFrame:
    """The goodput of each flow in each bin: t (s), flow, mbps, bin width (s); of many flows, only in those in which it
    is active.
    """
    if run.flows["flow"].nunique() <= many.MOST_LINES:
        return bins.goodput(run, choice)
    cells = many.goodput(run, choice)
    names = np.array(cells.flows, dtype=object)[cells.of]
    found = {"t": cells.middles(cells.bins), "flow": names, "mbps": cells.values}
    return pd.DataFrame({**found, bins.WIDTH: cells.width_s})


def _over_all(sharing: Sequence[tuple[dict[str, str], Sharing]]) -> list[pd.DataFrame]:
    """The median and the band of the shares of many."""
    sizes: dict[str, list[int]] = {}
    for _, (way, rows) in sharing:
        sizes.setdefault(way, []).append(rows[GROUP].nunique())
    parts = []
    for axes, (way, rows) in sharing:
        kind = "flows" if rows[GROUP].equals(rows["flow"]) else "groups"
        each = rows.groupby(["repetition", "t", GROUP], sort=False)["mbps"].sum()
        share = (each / each.groupby(level=["repetition", "t"]).transform("sum")).dropna()
        found = many.by_time(share.index.get_level_values("t").to_numpy(), share.to_numpy())
        head = {**axes, WAY: way, GROUP: many.label("all", sizes[way], kind), "panel": PANEL, "unit": ""}
        parts.append(pd.DataFrame({**head, **found, **_kept(rows)}))
    return parts


def _shares(head: dict[str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """The mean share of each group in each bin."""
    wide = rows.pivot_table(index=["t", "repetition"], columns=GROUP, values="mbps", aggfunc="sum", fill_value=0.0)
    totals = wide.sum(axis=1)
    shares = wide[totals > 0].div(totals[totals > 0], axis=0)
    parts = []
    for group in shares:
        each = shares[group].groupby("t")
        ends = np.array([t_interval(values.to_numpy(np.float64), 0.0, 1.0) for _, values in each]).reshape(-1, 2)
        mean = each.mean()
        columns = {"n": each.size().to_numpy(), "t": mean.index.to_numpy(), "mean": mean.to_numpy()}
        named = {**head, GROUP: str(group), "panel": PANEL, "unit": ""}
        parts.append(pd.DataFrame({**named, **columns, "low": ends[:, 0], "high": ends[:, 1], **_kept(rows)}))
    return pd.concat(parts, ignore_index=True)


def _kept(rows: pd.DataFrame) -> dict[str, float]:
    return {name: float(rows[name].iloc[0]) for name in KEPT}


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    """A bin is a step."""
    rows = gaps.broken(bins.steps(rows))
    t = rows["t"].to_numpy()
    line: dict[str, Any] = {**look.drawn, "linewidth": 1.1, "drawstyle": "steps-pre"}
    if many.summarised(rows):
        many.band(axes, rows, look.colour, "pre")
        gaps.draw(axes, rows, many.MIDDLE, **line)
        return
    ends = (rows["low"].to_numpy(), rows["high"].to_numpy())
    axes.fill_between(t, *ends, step="pre", color=look.colour, alpha=0.2, linewidth=0)
    gaps.draw(axes, rows, "mean", **line)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    varying = [axis for axis, values in layout.axes_of(table).items() if len(values) > 1 and axis != GROUP]
    panels = (*choice.facet, *(axis for axis in varying if axis not in choice.facet))
    band = many.BAND if many.summarised(table) else lines.INTERVAL
    shown = lines.Panels(_paint, _scale, lines.TIME, labels.of_table(table), band=band)
    return lines.draw(table, shown, replace(choice, colour=GROUP, facet=panels))


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    # A line at an end of the scale is seen whole.
    axes.set_ylim(*((0, float(many.tops(table).max()) * 1.08) if many.summarised(table) else (-0.02, 1.02)))
    axes.set_xlim(0, bins.last(table))
