"""Sizes of the aggregates in a Wi-Fi cell, and the airtime of its stations.

`aggregates` shows the share of PPDUs by number of MPDUs (`analysis.wifi.ampdu_samples`): the mean over the repetitions
with the 95 % interval of that mean. `aggregate_rtt` has a point per repetition: the mean size of aggregates and the
median TCP RTT. Points at the lower right are better. Both show the direction up, or down if only downloads carry data;
`--metric up` and `--metric down` choose. `airtime` has a bar per station.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import Window, t_interval
from tailback.analysis.metrics import Samples
from tailback.analysis.stations import station_traits
from tailback.analysis.wifi import DOWN, UP, Pair, ampdu_samples
from tailback.plots import bar, kinds, labels, layout, lines, quantity, scatter, style
from tailback.plots.errors import TO_RECORD, NotDrawable, lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult

STATION = "station"
"""The axis of the table of `airtime` beside those of the results."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and size: axes, panel, unit, n (repetitions), x (MPDUs), value (share), low, high."""
    way = _way(results, choice)
    parts = [part for axes, runs in results.configurations if (part := _size_shares(axes, runs, way)) is not None]
    if not parts:
        hint = f"choose the other direction: --metric {UP if way == DOWN else DOWN}"
        hint = hint if any(run.has("wifi") for run in results.runs) else TO_RECORD["wifi"]
        raise NotDrawable(f"`{results.path}` has no Wi-Fi station that sent {way}\n  hint: {hint}")
    return pd.concat(parts, ignore_index=True)


def _way(results: Results, choice: Choice) -> str:
    """The direction that is shown: aggregates of the other one carry only ACKs if no flow sends that way."""
    sent = {direction for run in results.runs for direction in run.summary.get("goodput_mbps", {})}
    way = choice.metric or (DOWN if DOWN in sent and UP not in sent else UP)
    if way not in (UP, DOWN):
        raise NotDrawable(f"`{way}` is not a direction\n  hint: --metric is one of {UP}, {DOWN}")
    return way


def pairs_of(run: RunResult) -> list[Pair]:
    """Pairs of access point and station of a run."""
    names = run.scenario.host_names
    return [(names[access_point], names[station]) for access_point, station in run.scenario.radios]


def _size_shares(axes: dict[str, str], runs: list[RunResult], way: str) -> pd.DataFrame | None:
    samples = [found for run in runs if run.has("wifi") and len(found := _sizes(run, way))]
    if not samples:
        return None
    sizes = np.arange(1, int(max(each.max() for each in samples)) + 1)
    shares = np.array([np.bincount(each.astype(int), minlength=len(sizes) + 1)[1:] / len(each) for each in samples])
    ends = np.array([t_interval(column, 0.0, 1.0) for column in shares.T])
    columns = {"x": sizes, "value": shares.mean(axis=0), "low": ends[:, 0], "high": ends[:, 1]}
    head = {**axes, "panel": f"Aggregates {way}", "unit": "MPDUs", "n": len(samples)}
    return pd.DataFrame({**head, **columns})


def _sizes(run: RunResult, way: str) -> Samples:
    found = ampdu_samples(run.table("wifi"), pairs_of(run), Window(*run.window_ns))
    return found.get(way, np.array([], dtype=np.float64))


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    x = rows["x"].to_numpy(dtype=np.float64)
    if rows["low"].notna().all():
        ends = (rows["low"].to_numpy(), rows["high"].to_numpy())
        axes.fill_between(x, *ends, step="mid", color=look.colour, alpha=0.2, linewidth=0)
    axes.step(x, rows["value"].to_numpy(), where="mid", **look.drawn, linewidth=1.0)


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    axes.set_xlim(0, float(table["x"].max()) + 1)
    axes.set_ylim(0, float(table["value"].max()) * 1.08)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    way = str(table["panel"].iloc[0]).rpartition(" ")[2]
    panels = lines.Panels(_paint, _scale, f"MPDUs of a PPDU, {way}", "Share of PPDUs", "value", band=lines.INTERVAL)
    return lines.draw(table, panels, choice)


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The distributions on `axes`."""
    lines.on(axes, table, _paint)


@worded
def data_of_rtt(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per run: axes, repetition, panel, unit, x (mean MPDUs of a PPDU, up or `--metric down`), y (ms)."""
    way = _way(results, choice)
    size = quantity.Quantity(f"ampdu_mpdus.{way}.mean", f"Mean MPDUs of a PPDU, {way}", "")
    sizes, rtts = quantity.values(results, size), quantity.values(results, quantity.TCP_RTT)
    if not len(sizes) or not len(rtts):
        raise lacking(results.path, "TCP over Wi-Fi", "tcp" if len(sizes) else "wifi")
    places = [*results.axes, "repetition"]
    both = sizes.merge(rtts[[*places, "value"]], on=places, suffixes=("", " rtt"))
    return both.rename(columns={"value": "x", "value rtt": "y"})


@worded
def draw_rtt(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data_of_rtt`."""
    scale = partial(_scale_rtt, widest=float(table["x"].max()))
    label, rtt = labels.of_table(table), labels.quantity(quantity.TCP_RTT.title, quantity.TCP_RTT.unit)
    panels = lines.Panels(
        scatter.paint, scale, label, rtt, height="y", key="marker", explained=scatter.explained
    )  # fmt: skip
    return lines.draw(table, panels, choice)


def _scale_rtt(axes: Axes, table: pd.DataFrame, widest: float) -> None:
    values: Any = table["y"].to_numpy(dtype=np.float64)
    axes.set_xlim(0, widest * 1.1)
    style.scale(axes, values, scatter.reach(table))


@worded
def data_of_airtime(results: Results, _choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration and station: axes, station, panel, unit, n, mean share of the airtime of all PPDUs, and
    the ends of its 95 % interval (low, high); of more stations than colours, what distinguishes them (kind).
    """
    stations = dict.fromkeys(station for run in results.runs for _, station in pairs_of(run))
    shares = ((station, quantity.of_key(f"airtime_share.{station}")) for station in stations)
    means = [quantity.means(results, [share]).assign(panel="Airtime share", station=name) for name, share in shares]
    found = [rows for rows in means if "mean" in rows]
    if not found:
        raise lacking(results.path, "Wi-Fi station", "wifi")
    table = pd.concat(found, ignore_index=True)
    traits = station_traits(results.runs[0].scenario)
    if len(stations) > style.MOST_COLOURS and any(traits.values()):
        table[kinds.COLUMN] = table[STATION].map(traits)
    return table


@worded
def draw_airtime(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data_of_airtime`: a colour per station if there are several configurations and
    colours for all stations, else a place along x; and a linear scale, because the shares add up.
    """
    if kinds.COLUMN in table:
        # With names at the places of the bars, there is room for what distinguishes a station.
        named = [", ".join(filter(None, names)) for names in zip(table[STATION], table[kinds.COLUMN], strict=True)]
        table = table.assign(**{STATION: named})
    values = layout.axes_of(table)
    several = any(len(values[axis]) > 1 for axis in values if axis != STATION)
    many = len(values[STATION]) > style.MOST_COLOURS
    x = choice.x or (STATION if many and choice.colour != STATION else None)
    colour = choice.colour or (STATION if several and x != STATION else None)
    return bar.draw(table, replace(choice, x=x, colour=colour, y_scale=choice.y_scale or "linear"))
