"""Time series: RTT (TCP and ping), congestion window and goodput of one run, in rows.

Columns are configurations, with common linear scales; `--y-scale log` makes them logarithmic. The time outside of the
measurement window is grey. The figure shows one repetition of each, because time series of different runs have no
meaningful average. It has the form of figures 6 and 7 of `access21`. Of more flows than colours, the colour is what a
flow has in common with others (`plots.kinds`). Of many flows or pings, it has their median and a band (`plots.many`).
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from msgspec import Struct

from tailback.plots import bins, cut, gaps, kinds, labels, layout, many, one_of_several, outside, senders, style
from tailback.plots.errors import NotDrawable, lacking
from tailback.plots.layout import AUTOMATIC, Choice, worded
from tailback.plots.offered import one_of
from tailback.results import Results, RunResult
from tailback.results.sampled import over_time

MAX_RUNS = 8
"""Maximum number of columns; more would be too narrow."""

OVERSHOOT = 2.0
"""How far above what is measured an axis goes for the start; a spike of slow start would flatten all the rest."""

RTT, CWND, GOODPUT = "RTT", "cwnd", "Goodput"
UNITS = {RTT: "ms", CWND: "segments", GOODPUT: "Mbit/s"}
METRICS = {"rtt": RTT, "cwnd": CWND, "goodput": GOODPUT}
"""The panel for each `--metric`."""

PING = "ping"
SHAPES = ".x+1^v"
"""The marks of several pings."""

TOTAL = "total"
BESIDE = "results"
"""The axis of results that `--with` adds."""

WINDOW = "measured"
"""Column with whether a sample is in the measurement window."""

PLACE = (one_of_several.NUMBER, one_of_several.COUNT)

COLUMNS = ("panel", "unit", "series", "t", "value", WINDOW, bins.WIDTH, *outside.EDGES)


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per sample, and per bin of goodput: the axes, the repetition of how many repetitions, panel, unit, series
    (a flow, `ping` or `total`), t (s), value, the bin width (s; of bins), and whether it is in the measurement window,
    which is from `window start` to `window end` (s).
    Several pings are `ping EF`, ...; with flows in both directions, the totals are `total up` and `total down`, each if
    it is of several flows. Of many flows, one row per bin: `value` is the median of the `n` active flows, between p10
    and p90.
    """
    places = {tuple(axes.items()): one_of_several.columns(runs) for axes, runs in results.configurations}
    runs = [runs[0] for _, runs in results.configurations]
    if len(runs) > MAX_RUNS:
        axes = "; ".join(f"{axis}: {', '.join(values)}" for axis, values in results.axes.items())
        raise NotDrawable(
            f"{len(runs)} configurations are too many for time series, at most {MAX_RUNS} fit\n"
            f"  hint: choose some with `--where AXIS=VALUE`; the axes are {axes}"
        )
    flows = many.lines_of([(run, _flows(run)) for run in runs])
    pings = many.lines_of([(run, _pings(run)) for run in runs], "pings", style.MOST_COLOURS)
    none = [None] * len(runs)
    read = [
        Read(run, places[tuple(run.axes.items())], choice, *lines)
        for run, *lines in zip(runs, flows or none, pings or none, strict=True)
    ]
    tables = list(map(_of_run, read))
    of_flows = None if flows else kinds.labelled([kinds.of_flows(run, _flows(run)) for run in runs], "flows")
    table = kinds.with_column(tables, "series", of_flows)
    if choice.metric is None:
        return _in_common(table, tables) if BESIDE in results.axes else table
    panel = one_of(choice.metric, METRICS, "time series")
    if not (table["panel"] == panel).any():
        raise NotDrawable(f"`{results.path}` has no {panel} over time\n  hint: leave out --metric to see what it has")
    return table[table["panel"] == panel].reset_index(drop=True)


def _in_common(table: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The panels that all results have, of results of different origin; if there are none, all."""
    shared = set.intersection(*(set(each["panel"]) for each in tables))
    return table[table["panel"].isin(shared)].reset_index(drop=True) if shared else table


class Read(Struct, frozen=True):
    """What is read of a run."""

    run: RunResult
    place: Mapping[str, int]
    """Which of how many repetitions it is."""
    choice: Choice
    flows: many.Series | None
    """The line of each of many flows; None if each flow is a line."""
    pings: many.Series | None


def _flows(run: RunResult) -> list[str]:
    """The flows that have sent or received something."""
    tables = [senders.samples(run)]
    tables += [run.flows] if run.has("flows") else []
    return list(dict.fromkeys(flow for table in tables for flow in table["flow"].unique()))


def _pings(run: RunResult) -> list[str]:
    return list(run.ping.loc[run.ping["rtt_ms"].notna(), "ping"].unique()) if run.has("ping") else []


def _of_run(read: Read) -> pd.DataFrame:
    run = read.run
    parts = [*_rtt(read), *_cwnd(read), *_goodput(read)]
    if not parts:
        raise lacking(run.path, "flow or ping to draw over time", "tcp")
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(**{WINDOW: outside.within(table["t"], run), **outside.edges(run)})
    places: dict[str, str | int] = {**run.axes, **read.place}
    for place, (axis, value) in enumerate(places.items()):
        table.insert(place, axis, value)
    return table


def _rtt(read: Read) -> list[pd.DataFrame]:
    run, parts = read.run, []
    sampled = senders.samples(run)
    if len(sampled):
        if read.flows is None:
            known = sampled[sampled["rtt"] > 0]
            parts.append(_series(RTT, known["flow"], known["t"], known["rtt"] / 1e3))
        else:
            instants = over_time(run)
            these = instants.where(instants.numbers("rtt") > 0)
            samples = {"flow": these.words("flow").plain(), "t": these.numbers("t"), "ms": these.numbers("rtt") / 1e3}
            parts.append(_over(RTT, _means(read, samples, "flow", "ms"), read.flows))
    if run.has("ping"):
        answered = run.ping[run.ping["rtt_ms"].notna()]
        if read.pings is None:
            parts.append(_series(RTT, _ping_names(answered["ping"]), answered["t"], answered["rtt_ms"]))
        else:
            parts.append(_over(RTT, _means(read, answered, "ping", "rtt_ms"), read.pings))
    return parts


def _ping_names(names: "pd.Series[str]") -> "pd.Series[str]":
    """`ping`; if there are several, `ping EF` for `udp-ping.EF`."""
    if names.nunique() < 2:
        return pd.Series(PING, index=names.index)
    marks = names.astype(str).str.rpartition(".")[2]
    return marks.where(marks == PING, f"{PING} " + marks)


def _cwnd(read: Read) -> list[pd.DataFrame]:
    run = read.run
    # Imported results have RTT without windows.
    sampled = senders.samples(run)
    if sampled["snd_cwnd"].isna().all():
        return []
    if read.flows is not None:
        return [_over(CWND, _means(read, over_time(run), "flow", "snd_cwnd"), read.flows)]
    return [_series(CWND, sampled["flow"], sampled["t"], sampled["snd_cwnd"])]


def _means(read: Read, samples: Any, name: str, column: str) -> many.Cells:
    return many.means(samples, (name, column), bins.width_ns(read.run, read.choice))


def _over(panel: str, cells: many.Cells, lines: many.Series) -> pd.DataFrame:
    """The median and the band of many flows or pings."""
    found = many.over_flows(cells, lines)
    part = _series(panel, found["series"], found["t"], found[many.MIDDLE])
    return part.assign(**{column: found[column] for column in many.BESIDE})


def _goodput(read: Read) -> list[pd.DataFrame]:
    run = read.run
    if not run.has("flows") or run.flows.empty:
        return []
    if read.flows is not None:
        cells = many.goodput(run, read.choice)
        ways = _ways(run, cells.flows)
        totals = [_series(GOODPUT, name, *cells.total(ways == name), cells.width_s) for name in dict.fromkeys(ways)]
        return [_over(GOODPUT, cells, read.flows), *totals]
    table = bins.goodput(run, read.choice)
    parts = [_series(GOODPUT, table["flow"], table["t"], table["mbps"], table[bins.WIDTH])]
    for name, theirs in table.groupby(_ways(run, table["flow"]), sort=False):
        # The total of one flow would cover its line.
        if theirs["flow"].nunique() > 1:
            parts.append(_total(str(name), theirs))
    return parts


def _ways(run: RunResult, flows: Iterable[str]) -> npt.NDArray[np.object_]:
    """The total that each flow belongs to: one for each direction, because different directions share no link."""
    directions = run.manifest["measure"]["directions"]
    ways = [directions.get(flow, "across") for flow in flows]
    alone = len(set(ways)) == 1
    return np.array([TOTAL if alone else f"{TOTAL} {way}" for way in ways], dtype=object)


def _total(name: str, table: pd.DataFrame) -> pd.DataFrame:
    total = table.groupby("t", as_index=False)["mbps"].sum()
    names = pd.Series(name, index=total.index)
    return _series(GOODPUT, names, total["t"], total["mbps"], table[bins.WIDTH].iloc[0])


def _series(panel: str, names: Any, t: Any, values: Any, width: Any = np.nan) -> pd.DataFrame:
    columns = {"panel": panel, "unit": UNITS[panel], "series": names, "t": t, "value": values, bins.WIDTH: width}
    return pd.DataFrame(columns).astype({"value": np.float64, bins.WIDTH: np.float64})


@worded
def draw(table: pd.DataFrame, _choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    axes = [str(column) for column in table if column not in (*COLUMNS, *many.BESIDE, kinds.COLUMN, *PLACE)]
    varying = [axis for axis in axes if table[axis].nunique() > 1]
    groups = table.groupby([*axes, one_of_several.NUMBER], sort=False)
    runs = [(", ".join(_values(part, varying)), part) for _, part in groups]
    panels = [panel for panel in UNITS if (table["panel"] == panel).any()]
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=_size(len(runs), len(panels)), layout="constrained")
        grid = figure.subplots(len(panels), len(runs), squeeze=False, sharex=True, sharey="row")
        looks, last = _looks(table), bins.last(table)
        same = [axis for axis in axes if axis not in varying]
        labels.entitle(figure, ", ".join(_values(table, same)))
        for column, (label, part) in enumerate(runs):
            grid[0, column].set_title(label)
            grid[-1, column].set_xlabel("Time (s)")
            for row, panel in enumerate(panels):
                _draw_panel(grid[row, column], part[part["panel"] == panel], looks)
                grid[row, column].set_xlim(0, last)
                outside.shade(grid[row, column], part, last)
        for row, panel in enumerate(panels):
            _finish_row(grid[row], table[table["panel"] == panel])
        bands = [many.key()] if many.summarised(table) else []
        said = [*bands, *outside.key(table), *one_of_several.key(table)]
        labels.finish(figure, [*_handles(table, looks), *said])
    return figure


def _values(part: pd.DataFrame, axes: Sequence[str]) -> list[str]:
    return [style.label(axis, str(part[axis].iloc[0])) for axis in axes]


def _size(runs: int, panels: int) -> tuple[float, float]:
    return (max(style.COLUMN_WIDTH, min(style.PAGE_WIDTH, 2.6 * runs), 1.5 * runs), 0.8 + 1.35 * panels)


Look = Mapping[str, Any]


def _looks(table: pd.DataFrame) -> dict[str, Look]:
    """The style of each series: flows as lines, pings as dots, the total as a black line."""
    flows = [name for name in sorted(table["series"].unique(), key=_natural) if _is_flow(name)]
    looks: dict[str, Look] = {}
    kind_of, of_kinds = _kinds(table), kinds.looks(table) if kinds.COLUMN in table else {}
    for place, flow in enumerate(flows):
        kind = kind_of.get(flow)
        drawn = (of_kinds[kind] if kind else layout.of_place(place)).drawn
        looks[flow] = {**drawn, "linewidth": 0.6 if kind else 0.8}
    others = [name for name in table["series"].unique() if not _is_flow(name)]
    for line, name in zip(itertools.cycle(style.LINES), (name for name in others if _is(TOTAL, name)), strict=False):
        looks[name] = {"color": style.BLACK, "linewidth": 1.5, "linestyle": line}
    # Many pings do not cover the lines.
    dots: Look = {"linestyle": "none", "marker": ".", "markersize": 1.8, "alpha": 0.7, "zorder": 1.5}
    pings = [name for name in others if _is(PING, name)]
    taken = {look["color"] for look in looks.values()}
    free = [colour for colour in style.PALETTE if colour not in taken] or style.PALETTE
    theirs = zip(itertools.cycle((style.BLACK,) if len(pings) == 1 else free), itertools.cycle(SHAPES), strict=False)
    for name, (colour, shape) in zip(pings, theirs, strict=False):
        looks[name] = {**dots, "color": colour, "marker": shape}
    return looks


def _kinds(table: pd.DataFrame) -> kinds.Kinds:
    """The kind of each flow, if there are more than colours."""
    if kinds.COLUMN not in table:
        return {}
    pairs = table[["series", kinds.COLUMN]].dropna().drop_duplicates("series")
    return {str(flow): str(kind) for flow, kind in pairs.itertuples(index=False)}


def _is(kind: str, name: str) -> bool:
    """Whether a series is a ping, or a total."""
    return name == kind or name.startswith(f"{kind} ")


def _is_flow(name: str) -> bool:
    return not _is(PING, name) and not _is(TOTAL, name)


def _natural(name: str) -> tuple[str, int]:
    """Sort key that puts `upload.10` after `upload.9`."""
    stem, _, number = name.rpartition(".")
    return (stem, int(number)) if number.isdecimal() else (name, 0)


def _draw_panel(axes: Axes, part: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    # A bin is a step; the other panels show samples.
    drawstyle = "steps-pre" if (part["panel"] == GOODPUT).any() else "default"
    rows = {str(name): of_series for name, of_series in part.groupby("series", sort=False)}
    for name, look in looks.items():
        series = rows.get(name)
        if series is not None:
            series = bins.steps(series) if drawstyle == "steps-pre" else series
            series = series if look["linestyle"] == "none" else gaps.broken(series)
            many.band(axes, series, look["color"], "pre" if drawstyle == "steps-pre" else None)
            # A line through a single sample, as of a flow shorter than the interval, could not be seen.
            dot: Look = {"marker": ".", "markersize": 4} if len(series) == 1 else {}
            gaps.draw(axes, series, "value", **{**dot, **look, "drawstyle": drawstyle})


def _finish_row(row: Sequence[Axes], rows: pd.DataFrame) -> None:
    tops = many.tops(rows)
    highest = float(tops.max())
    if rows[WINDOW].any():
        highest = min(highest, OVERSHOOT * float(tops[rows[WINDOW]].max()))
    row[0].set_ylim(0, highest * 1.08 if highest > 0 else 1)
    row[0].set_ylabel(labels.of_table(rows))
    peaks = cut.Peaks()
    peaks.see(row[0], tops)
    peaks.note(str(rows["unit"].iloc[0]))


def _handles(table: pd.DataFrame, looks: Mapping[str, Look]) -> list[Artist]:
    """The entries of the legend for lines and pings; one for all flows of a kind."""
    kind_of, seen = _kinds(table), set()
    handles: list[Artist] = []
    for name, look in looks.items():
        label = kind_of.get(name, name if _is_flow(name) else labels.sentence(name))
        if label not in seen:
            seen.add(label)
            handles.append(Line2D([], [], **{**look, "markersize": 4, "linewidth": 1.1}, label=label))
    return handles
