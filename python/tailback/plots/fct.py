"""Flow completion time over size: a point per flow, and the medians by size. If all flows have the same size, the
distribution of their completion times.

A median is that of a third of a decade of sizes, and is drawn above the points of all configurations. `--colour group`
distinguishes the entries of `traffic`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from tailback.analysis.parts import group_of
from tailback.analysis.sharing import completion_times, flow_events
from tailback.analysis.window import Window
from tailback.plots import lines, style
from tailback.plots.errors import TO_RECORD, NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult

GROUP = "group"
"""The axis of the groups of flows: the `group` of an entry of `traffic`, else the entry."""

KIB = 1024
"""Bytes."""

PER_DECADE = 3
"""Bins of the medians per decade of sizes."""

WINDOW = (
    "flows with a size are there: let the window contain the start and the end of some, such as "
    "`measure: {warmup: 0s}`, or a longer `duration`"
)
"""What to do about flows with sizes of which none is measured."""

ORDER = 1
"""The seed of the order of the points."""

SPOT, FAINT = 5.0, 0.4
"""The area of a point in square points, and how opaque it is."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per completed flow: axes, repetition, series (flow), x (size, bytes), y (completion time, ms); and its
    `group`, if the choice names it.
    """
    found = pd.concat([_completion_rows(run) for run in results.runs], ignore_index=True)
    if found.empty:
        sized = any(flow.bytes is not None for run in results.runs for flow in run.scenario.tcp)
        hint = WINDOW if sized else TO_RECORD["sizes"]
        raise NotDrawable(f"no flow of `{results.path}` began and completed in the measurement window\n  hint: {hint}")
    named = GROUP in results.axes or GROUP in (choice.colour, *choice.facet)
    return found if named else found.drop(columns=GROUP)


def _completion_rows(run: RunResult) -> pd.DataFrame:
    sizes = {flow.name: flow.bytes for flow in run.scenario.tcp if flow.bytes is not None}
    events = flow_events({name: run.table(name) for name in ("events", "completions") if run.has(name)})
    times = {} if events is None else completion_times(events, sizes, Window(*run.window_ns))
    head = {**run.axes, "repetition": run.repetition}
    groups = [group_of(flow, run.manifest["measure"]) for flow in times]
    return pd.DataFrame({
        GROUP: groups, **{name: [value] * len(times) for name, value in head.items()},
        "series": list(times),
        "x": [sizes[flow] for flow in times], "y": [1000 * seconds for seconds in times.values()],
    })  # fmt: skip


def _cloud(axes: Axes, there: Sequence[tuple[pd.DataFrame, Look]]) -> None:
    """A point per flow of all configurations, in an order by chance, so that none covers another."""
    points = pd.concat([rows[["x", "y"]].assign(look=place) for place, (rows, _) in enumerate(there)])
    points = points.sample(frac=1.0, random_state=ORDER)
    faded = [to_rgba(look.colour, FAINT) for _, look in there]
    axes.scatter(
        points["x"].to_numpy(), points["y"].to_numpy(), c=[faded[place] for place in points["look"]],
        s=SPOT, marker=style.MARKERS[0], linewidths=0, zorder=2,
    )  # fmt: skip


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    """The medians of the bins of one configuration, with a white edge that lifts them off the points."""
    bins = np.floor(np.log10(rows["x"].to_numpy(dtype=np.float64)) * PER_DECADE)
    medians = rows.groupby(bins)[["x", "y"]].median()
    edge = [Stroke(linewidth=3.4, foreground="white"), Normal()]
    look_of: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "linewidth": 1.8, "path_effects": edge}
    dots: dict[str, Any] = {"marker": look.marker, "markersize": 3.5, "markeredgecolor": "white"}
    axes.plot(medians["x"].to_numpy(), medians["y"].to_numpy(), **look_of, **dots, markeredgewidth=0.4, zorder=4)


def _explained(_table: pd.DataFrame) -> list[Artist]:
    flow: dict[str, Any] = {"linestyle": "none", "marker": style.MARKERS[0], "markersize": 2.5, "alpha": 0.6}
    return [
        Line2D([], [], color=style.GREY, label="Flow", **flow),
        Line2D([], [], color=style.GREY, linewidth=1.8, marker="o", markersize=3.5, label="Median by size"),
    ]


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    if table["x"].nunique() == 1:
        label = f"Completion time of flows of {_size(int(table['x'].iloc[0]))} (ms)"
        panels = lines.Panels(_paint_shares, _scale_times, label, "Cumulative share of flows", order=_median)
        return lines.draw(table, panels, choice)
    panels = lines.Panels(
        _paint, _scale, "Size (bytes)", "Flow completion time (ms)", under=_cloud, explained=_explained
    )
    return lines.draw(table, panels, choice)


def _size(count: int) -> str:
    """`64 KiB`, as tc's `64kb`; `100k bytes` where that is no whole number of KiB."""
    return f"{style.short_number(count, 0)} bytes" if count % KIB else f"{count // KIB} KiB"


def _paint_shares(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    """The distribution of the completion times of one configuration."""
    times = np.sort(rows["y"].to_numpy(dtype=np.float64))
    shares = np.arange(len(times) + 1) / len(times)
    axes.step([times[0], *times], shares, where="post", **look.drawn, linewidth=1.1)


def _median(rows: pd.DataFrame) -> float:
    return float(rows["y"].median())


def _scale_times(axes: Axes, table: pd.DataFrame) -> None:
    """Times along x, the same in all panels; logarithmic if they span decades."""
    times = table["y"].to_numpy(dtype=np.float64)
    axes.set_ylim(0, 1.02)
    if style.spans_decades(times):
        style.logarithmic_x(axes, (float(times.min()) / 1.3, float(times.max()) * 1.3))
    else:
        axes.set_xlim(0, float(times.max()) * 1.05)


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    """Both scales are logarithmic, the same in all panels."""
    size, times = table["x"], table["y"]
    style.logarithmic_x(axes, (float(size.min()) / 1.5, float(size.max()) * 1.5))
    axes.xaxis.set_major_formatter(style.short_number)
    style.logarithmic_y(axes, (float(times.min()) / 1.5, float(times.max()) * 1.5))
