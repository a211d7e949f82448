"""The length of each queue over time: what waits in the root discipline of each device, as `tc -s` counts it.

Radios whose driver uses mac80211's queues have no root discipline. What waits there for all stations together is a line
of its own, `access -> air (mac80211)`; where a run did not record it, or not in this unit, the legend says so.

A line goes through the samples. The band above it reaches up to the most that waited in each interval between samples,
where the backend knows it (the simulator does); samples alone miss queues that are full for less than an interval.

One panel per configuration, and one repetition of each, because queues of different runs are not in phase. All panels
have the same linear scale; a panel whose queues are too short to be seen on it says how long they were at most, and
`--share-y none` gives each panel a scale of its own. Devices that never had more than a packet are left out. The
colours are those of the longest queues; queues that are much shorter are grey, and the legend says how many and how
long they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailback.analysis.digits import significant
from tailback.plots import bins, cut, cwnd, gaps, kinds, labels, layout, lines, one_of_several, outside, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult, station_queues

DEVICE = "device"

SHORT = 0.1
"""Length relative to the longest queue below which a queue matters less."""

FEWEST_SHORT = 2
"""Queues that are summed up in the legend; a single one is named."""

BAND = 0.25
"""Opacity of the band up to the most that waited."""

FLAT = 20.0
"""Ratio of the scale to the longest queue of a panel from which the panel says how long it was."""

UNITS: Mapping[str, tuple[str, float]] = {"packets": ("backlog_packets", 1.0), "kB": ("backlog_bytes", 1e-3)}
"""For each `--metric`, the column of the table `qdisc`, and its factor."""

MOST = "max_"
"""The beginning of the names of the columns for the most since the sample before."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per sample: axes, panel, unit, device, t (s), value (packets, or kB), most (since the sample before;
    unknown if the backend does not tell), measured, the measurement window, and which of how many repetitions it is.
    """
    unit = choice.metric or "packets"
    if unit not in UNITS:
        raise NotDrawable(f"`{unit}` is not a unit of queues\n  hint: --metric is one of {', '.join(UNITS)}")
    firsts = [runs[0] for _, runs in results.configurations]
    parts = [
        part.assign(**one_of_several.columns(runs))
        for _, runs in results.configurations
        for part in (*_backlogs(runs[0], unit), *_at_radios(runs[0], unit))
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({DEVICE: [], "value": []})
    busy = table.groupby(DEVICE)["packets"].max() if len(table) else pd.Series(dtype=float)
    known = table["value"].notna()
    table = table[table[DEVICE].isin(busy[busy > 1].index) | ~known] if len(table) else table
    if not table["value"].notna().any():
        raise NotDrawable(_nothing(results, firsts) + _where_unknown(table))
    return table.drop(columns="packets").reset_index(drop=True)


def _nothing(results: Results, runs: Sequence[RunResult]) -> str:
    """Why there is no queue to draw."""
    dropped = sum(_dropped(run) for run in runs)
    if not dropped:
        return f"`{results.path}` has no queue in which packets waited\n  hint: try another plot, see `--list`"
    if all(f"{MOST}backlog_packets" in run.qdisc for run in runs if run.has("qdisc")):
        return (
            f"no queue of `{results.path}` held more than one packet, although {dropped:,.0f} were dropped\n"
            "  hint: they were dropped when they arrived; see the events `drop`"
        )
    return (
        f"no sample of `{results.path}` found packets waiting, although the queues dropped {dropped:,.0f}: they were "
        "full for less than a sampling interval\n"
        "  hint: run it again with a shorter `measure.interval`; the simulator also records the most that waited"
    )


def _where_unknown(table: pd.DataFrame) -> str:
    """Where to look for queues of which the run does not tell."""
    if table.empty:
        return ""
    return f"\n  hint: {labels.within(_unknown(table))}"


def _dropped(run: RunResult) -> float:
    """Packets that the root disciplines dropped in the whole run."""
    roots = run.qdisc[run.qdisc["depth"] == 0] if run.has("qdisc") else pd.DataFrame({DEVICE: [], "dropped": []})
    return float(roots.groupby(DEVICE)["dropped"].max().sum())


def _backlogs(run: RunResult, unit: str) -> Iterator[pd.DataFrame]:
    """The root disciplines."""
    if not run.has("qdisc"):
        return
    roots = run.qdisc[run.qdisc["depth"] == 0]
    column, factor = UNITS[unit]
    known = MOST + column in roots
    values = {
        "t": roots["t"],
        "value": roots[column].astype(float) * factor,
        "most": roots[MOST + column].astype(float) * factor if known else np.nan,
        "measured": outside.within(roots["t"], run),
        "packets": roots[f"{MOST}backlog_packets"] if known else roots["backlog_packets"],
    }
    head = {**run.axes, DEVICE: roots["device"].astype(str), "panel": "Queue", "unit": unit}
    yield pd.DataFrame({**head, **values, **outside.edges(run)})


def _at_radios(run: RunResult, unit: str) -> Iterator[pd.DataFrame]:
    """The queues of mac80211; of one that the run does not tell in this unit, a row without a value."""
    waiting = station_queues.waiting(run) if unit == "packets" else {}
    for name in station_queues.radios(run):
        head = {**run.axes, DEVICE: f"{name} (mac80211)", "panel": "Queue", "unit": unit}
        values: dict[str, Any] = {"t": [0.0], "value": np.nan, "most": np.nan, "measured": False, "packets": np.nan}
        if name in waiting:
            of = waiting[name]
            measured = outside.within(of.t, run)
            values = {"t": of.t, "value": of.packets, "most": of.most, "measured": measured, "packets": of.most}
        yield pd.DataFrame({**head, **values, **outside.edges(run)})


def _unknown(table: pd.DataFrame) -> str:
    """`Not drawn: mac80211's queues at 3 radios, not recorded (table radios: what they dropped)`; empty if all are
    known.
    """
    count = table.loc[table["value"].isna(), DEVICE].nunique()
    if not count:
        return ""
    radios = "a radio" if count == 1 else f"{count} radios"
    bytes_ = (table["unit"] == "kB").any()
    where = "in kB (--metric packets may have them)" if bytes_ else "(table radios: what they dropped)"
    return f"Not drawn: mac80211's queues at {radios}, not recorded {where}"


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    rows = gaps.broken(rows)
    # What matters less is below what has a colour.
    below = 0.5 if kinds.COLUMN in rows and str(rows[kinds.COLUMN].iloc[0]).startswith(kinds.REST) else 0.0
    gaps.draw(axes, rows, "value", **look.drawn, linewidth=0.8, zorder=2 - below)
    if "most" in rows and rows["most"].notna().any():
        # A step holds for the interval that ends at its sample.
        axes.fill_between(
            rows["t"].to_numpy(), rows["value"].to_numpy(), rows["most"].to_numpy(), step="pre", color=look.colour,
            alpha=BAND, linewidth=0, zorder=1 - below,
        )  # fmt: skip


def _explained(table: pd.DataFrame) -> list[Artist]:
    """The entry of the legend for what is above the samples, if it is known."""
    if "most" not in table or table["most"].isna().all():
        return []
    return [Patch(facecolor=style.GREY, alpha=BAND, linewidth=0, label="Up to the most of each sampling interval")]


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    varying = [axis for axis, values in layout.axes_of(table).items() if len(values) > 1 and axis != DEVICE]
    panels = (*choice.facet, *(axis for axis in varying if axis not in choice.facet))
    unknown = [Line2D([], [], linestyle="none", color=style.BLACK, label=said)] if (said := _unknown(table)) else []
    table = table[table["value"].notna()]
    table, label = _with_kinds(table), labels.of_table(table)
    longest: dict[Axes, float] = {}
    peaks = cut.Peaks()

    def paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
        _paint(axes, rows, look)
        peaks.see(axes, _highest(rows))
        if rows["measured"].any():
            longest[axes] = max(longest.get(axes, 0.0), float(_highest(rows[rows["measured"]]).max()))

    shown = lines.Panels(paint, _scale, lines.TIME, label, explained=lambda rows: [*_explained(rows), *unknown])
    figure = lines.draw(table, shown, replace(choice, colour=DEVICE, facet=panels))
    for axes, value in longest.items() if choice.y_scale != "log" else ():
        _note_flat(axes, value, str(table["unit"].iloc[0]))
    peaks.note(str(table["unit"].iloc[0]))
    return figure


def _with_kinds(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the kinds of its queues, if some matter less than others."""
    tops = _highest(table).groupby(table[DEVICE], sort=False).max().sort_values(ascending=False, kind="stable")
    # Of queues that are equally long, all are named or none.
    next_longest = tops.iloc[style.MOST_COLOURS] if len(tops) > style.MOST_COLOURS else -1.0
    long = tops[(tops >= SHORT * tops.max()) & (tops > next_longest)].index
    rest = tops[~tops.index.isin(long)]
    if len(rest) < FEWEST_SHORT:
        return table
    head = f"{kinds.REST}{len(rest)} shorter queues" if len(long) else f"{len(rest)} queues"
    label = f"{head}, up to {significant(rest.max())} {table['unit'].iloc[0]}"
    of = {**dict.fromkeys(rest.index, label), **{device: device for device in long}}
    return table.assign(**{kinds.COLUMN: table[DEVICE].map(of)})


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    """Sets the limits of one panel: time, and lengths up to a little more than is measured."""
    highest = cwnd.top(table.assign(value=_highest(table)))
    axes.set_ylim(0, highest * 1.08 if highest > 0 else 1)
    axes.set_xlim(0, bins.last(table))


def _highest(table: pd.DataFrame) -> "pd.Series[float]":
    """The most that is known to have waited in each interval."""
    return table["most"].fillna(table["value"]) if "most" in table else table["value"]


def _note_flat(axes: Axes, longest: float, unit: str) -> None:
    """Writes into a panel how long its queues were in the measurement window, if the common scale does not show it."""
    if longest * FLAT < axes.get_ylim()[1]:
        where: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top", "fontsize": 6.5}
        axes.text(0.97, 0.95, f"measured: up to {significant(longest)} {unit}", **where)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The queues of one configuration on `axes`."""
    for place, (_, rows) in enumerate(table.groupby(DEVICE, sort=False)):
        _paint(axes, rows, layout.of_place(place))
