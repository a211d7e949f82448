"""How flows share the capacity over time: the share of each group of flows in the goodput of all, from 0 to 1.

A group is the `group` of an entry of `traffic`, else the entry (`upload` for `upload.3`); if there is one group only,
each flow is shown. In bins of 1 s, or a twentieth of a run of less than 20 s, as means over the repetitions, with the
95 % interval of that mean as a band. An upload and a download do not share, so each direction has its own panel where
there are downloads.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import t_interval
from tailback.analysis.parts import group_of
from tailback.analysis.wifi import DOWN, UP
from tailback.plots import bins, layout, lines
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look
from tailback.results import Results, RunFolder

GROUP, WAY = "flows", "direction"


def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration, direction, group and bin: axes, panel, unit, n (repetitions), t, mean, low, high."""
    parts = [part for axes, runs in results.configurations for part in _of(axes, runs, choice)]
    if not parts:
        raise NotDrawable(f"`{results.path}` has no flows that share\n  hint: it needs two flows in one direction")
    table = pd.concat(parts, ignore_index=True)
    return table if table[WAY].nunique() > 1 else table.drop(columns=WAY)


def _of(axes: dict[str, str], runs: list[RunFolder], choice: Choice) -> list[pd.DataFrame]:
    each = [_bins(run, choice).assign(repetition=run.repetition) for run in runs if run.has("flows")]
    table = pd.concat(each or [_NONE])
    if DOWN not in set(table[WAY]):
        table = table.assign(**{WAY: UP})
    found = []
    for way, rows in table.groupby(WAY, sort=True):
        group = rows["flow"] if rows[GROUP].nunique() == 1 else rows[GROUP]
        if group.nunique() > 1:
            found.append(_shares({**axes, WAY: str(way)}, rows.assign(**{GROUP: group})))
    return found


_NONE = pd.DataFrame({"flow": [], "t": [], "mbps": [], GROUP: [], WAY: [], "repetition": []})


def _bins(run: RunFolder, choice: Choice) -> pd.DataFrame:
    if run.flows.empty:
        return _NONE
    table = bins.goodput(run, choice)
    measure = run.manifest["measure"]
    ways = table["flow"].map(lambda flow: measure["directions"].get(flow, "across"))
    return table.assign(**{WAY: ways, GROUP: table["flow"].map(lambda flow: group_of(flow, measure))})


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
        named = {**head, GROUP: str(group), "panel": "Share of goodput", "unit": ""}
        parts.append(pd.DataFrame({**named, **columns, "low": ends[:, 0], "high": ends[:, 1]}))
    return pd.concat(parts, ignore_index=True)


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    t = rows["t"].to_numpy()
    axes.fill_between(t, rows["low"].to_numpy(), rows["high"].to_numpy(), color=look.colour, alpha=0.2, linewidth=0)
    axes.plot(t, rows["mean"].to_numpy(), color=look.colour, linestyle=look.line, linewidth=1.1)


def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    varying = [axis for axis, values in layout.axes_of(table).items() if len(values) > 1 and axis != GROUP]
    panels = (*choice.facet, *(axis for axis in varying if axis not in choice.facet))
    shown = lines.Panels(_paint, _scale, "Time (s)", "Share of goodput", band=lines.INTERVAL)
    return lines.draw(table, shown, replace(choice, colour=GROUP, facet=panels))


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    axes.set_ylim(0, 1)
    axes.set_xlim(0, float(table["t"].max()))
