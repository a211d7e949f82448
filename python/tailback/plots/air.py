"""The PPDUs on the air of a Wi-Fi cell, over a few milliseconds in the middle of the measurement window.

A row per sender, the access point above its stations, and a box per PPDU from its start to its end, with the number of
its MPDUs if there is room. Filled: first transmission; hatched: retransmission; black outline: some MPDUs were lost;
black: collision. The colour is that of the sender, or of the receiver where a sender, as an access point, has several;
of more stations than colours, the colour is what a station has in common with others (`plots.kinds`). The line before a
box is the time at the head of its hardware queue: deferring, backing off, waiting for other stations. Responses (block
acks) are in the gaps. Shows the first repetition of each configuration; `--metric 50` shows 50 ms.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tailback.analysis.stations import station_traits
from tailback.analysis.window import NANOSECONDS
from tailback.plots import kinds, labels, one_of_several, outside, style
from tailback.plots.aggregates import pairs_of
from tailback.plots.errors import NotDrawable, lacking
from tailback.plots.layout import AUTOMATIC, Choice, worded
from tailback.results import Results, RunResult

SPAN_MS = 20.0
MAX_PANELS = 12
HEIGHT = 0.62
"""Height of a box, in rows."""

ROOM = 0.018
"""Width that a number needs, as a fraction of the time span."""

PLAIN = "#b8b8b8"
"""The colour of a box in the legend, which is that of no host."""

COLLIDED = "#1f1f1f"
"""The colour of PPDUs that collided."""

COLUMNS = ("from", "to", "mpdus", "received", "duration_us", "tries", "colliders", "access_us", "closed_by")


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per PPDU: axes, panel, unit, t (s), x (ms since the beginning of the span), share (the span, ms), the
    measurement window (s), which of how many repetitions it is, and columns of the table `wifi`, whose hosts are in the
    order of the cells: an access point, then its stations.
    """
    try:
        span = float(choice.metric) if choice.metric is not None else SPAN_MS
    except ValueError:
        raise NotDrawable(f"`{choice.metric}` is not a number of milliseconds\n  hint: --metric 50") from None
    having = [runs for _, runs in results.configurations if runs[0].has("wifi")]
    firsts = [runs[0] for runs in having]
    parts = [_ppdus(runs[0], span).assign(**one_of_several.columns(runs)) for runs in having]
    if not parts or not any(len(part) for part in parts):
        raise lacking(results.path, "PPDU on the air", "wifi")
    of_stations = [station_traits(run.scenario) for run in firsts]
    parts = [part.assign(station=_station(part, each)) for part, each in zip(parts, of_stations, strict=True)]
    table = kinds.with_column(parts, "station", kinds.labelled(of_stations, "stations")).drop(columns="station")
    order = list(dict.fromkeys(host for run in results.runs for pair in pairs_of(run) for host in pair))
    hosts = pd.CategoricalDtype(order)
    return table.astype({"ppdu.from": hosts, "ppdu.to": hosts})


def _station(ppdus: pd.DataFrame, stations: Collection[str]) -> "pd.Series[str]":
    """The station of each PPDU, which is its sender or its receiver."""
    return ppdus["ppdu.from"].where(ppdus["ppdu.from"].isin(list(stations)), ppdus["ppdu.to"])


def _ppdus(run: RunResult, span: float) -> pd.DataFrame:
    wifi = run.table("wifi")
    middle = sum(run.window_ns) / 2 / NANOSECONDS
    end = wifi["t"] + wifi["duration_us"] / 1e6
    rows = wifi[(end > middle) & (wifi["t"] < middle + span / 1e3)]
    columns = {f"ppdu.{name}": rows[name] for name in COLUMNS}
    label = ", ".join(style.label(axis, value) for axis, value in run.axes.items())
    times = {"t": rows["t"], "x": (rows["t"] - middle) * 1e3, "share": span}
    return pd.DataFrame({**run.axes, "panel": label, "unit": "ms", **times, **columns, **outside.edges(run)})


@worded
def draw(table: pd.DataFrame, _choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    panels = list(table["panel"].unique())
    if len(panels) > MAX_PANELS:
        hint = "choose some with `--where AXIS=VALUE`"
        raise NotDrawable(f"{len(panels)} configurations are too many, at most {MAX_PANELS} fit\n  hint: {hint}")
    senders = _senders(table)
    looks = _colours(table)
    with mpl.rc_context({**style.STYLE, "axes.grid.axis": "x"}):
        size = (style.PAGE_WIDTH, 0.9 + len(panels) * (0.35 + 0.3 * len(senders)))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
        for axes, panel in zip(grid, panels, strict=True):
            on(axes, table[table["panel"] == panel], senders, looks)
            axes.set_title(labels.wrapped(panel, labels.panel_width(axes), style.STYLE["axes.titlesize"]), loc="left")
        start = float(table["t"].iloc[0] - table["x"].iloc[0] / 1e3)
        grid[-1].set_xlabel(f"Time (ms after {start:g} s)")
        said = [*_not_measured(grid, table), *one_of_several.key(table)]
        labels.finish(figure, [*_receivers(table, looks), *_handles(table), *said])
    return figure


def _not_measured(grid: Iterable[Axes], table: pd.DataFrame) -> list[Patch]:
    """Shades what of the span is beyond the measurement window; its entry of the legend."""
    found: list[Patch] = []
    if not outside.known(table):
        return found
    for axes, (_, rows) in zip(grid, table.groupby("panel", sort=False), strict=True):
        begin, span = float((rows["t"] - rows["x"] / 1e3).iloc[0]), float(rows["share"].iloc[0]) / 1e3
        in_ms = rows[[*outside.EDGES]].sub(begin).mul(1e3)
        outside.shade(axes, in_ms, span * 1e3)
        found = found or outside.key(in_ms, span * 1e3)
    return found


Colours = Mapping[tuple[str, str], str]
"""The colour of PPDUs from a sender to a receiver."""


def _senders(table: pd.DataFrame) -> list[str]:
    """The senders, in the order of the cells."""
    return [str(name) for name in table["ppdu.from"].sort_values().unique()]


def _shown(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """What the colour of the PPDUs from a sender to a receiver stands for: the sender, or the receiver where a sender
    has several; the kind of the station, if there are more stations than colours."""
    ordered = table.sort_values(["ppdu.from", "ppdu.to"])
    pairs = list(dict.fromkeys(zip(ordered["ppdu.from"], ordered["ppdu.to"], strict=True)))
    if kinds.COLUMN in table:
        rows = zip(table["ppdu.from"], table["ppdu.to"], table[kinds.COLUMN], strict=True)
        found = {(str(sender), str(to)): str(kind) for sender, to, kind in rows}
        return {pair: found[pair] for pair in pairs}
    several = _several(pairs)
    return {(sender, to): to if sender in several else sender for sender, to in pairs}


def _colours(table: pd.DataFrame) -> Colours:
    shown = _shown(table)
    looks = style.colours(list(dict.fromkeys(shown.values())))
    return {pair: looks[name] for pair, name in shown.items()}


def _several(pairs: Iterable[tuple[str, str]]) -> set[str]:
    """The senders with several receivers."""
    counts = Counter(sender for sender, _ in pairs)
    return {sender for sender, count in counts.items() if count > 1}


def _receivers(table: pd.DataFrame, looks: Colours) -> list[Patch]:
    """The entries of a legend for the receivers, or for the kinds of stations, that have colours."""
    shown, several = _shown(table), _several(looks)
    if kinds.COLUMN in table:
        found = {name: looks[pair] for pair, name in shown.items()}
    else:
        found = {f"To {name}": looks[pair] for pair, name in shown.items() if pair[0] in several}
    return [Patch(facecolor=colour, edgecolor=colour, label=name) for name, colour in found.items()]


def on(axes: Axes, rows: pd.DataFrame, senders: list[str] | None = None, looks: Colours | None = None) -> None:
    """The PPDUs of one configuration on `axes`."""
    names = senders or _senders(rows)
    colours = looks or _colours(rows)
    for row in rows.to_dict("records"):
        _box(axes, row, (names.index(row["ppdu.from"]), colours[row["ppdu.from"], row["ppdu.to"]]))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, float(rows["share"].iloc[0]) if len(rows) else 1)


def _box(axes: Axes, row: dict[Any, Any], place: tuple[int, str]) -> None:
    height, colour = place
    start, length = row["x"], row["ppdu.duration_us"] / 1e3
    collided, lost = row["ppdu.colliders"] > 0, row["ppdu.received"] < row["ppdu.mpdus"]
    again = row["ppdu.tries"] > 0
    paint = COLLIDED if collided else colour
    axes.plot([start - row["ppdu.access_us"] / 1e3, start], [height, height], color=paint, linewidth=0.5, zorder=1)
    look: dict[str, Any] = {"facecolor": "white" if again else paint, "hatch": "//////" if again else None}
    # The outline would cover a short collided frame, all of which is lost anyway.
    edge = style.BLACK if lost and not collided else paint
    axes.barh(height, length, HEIGHT, left=start, edgecolor=edge, linewidth=0.7, zorder=2, **look)
    seen = max(start, 0.0), min(start + length, row["share"])
    if seen[1] - seen[0] > ROOM * row["share"]:
        ink = style.BLACK if again else style.ink(paint)
        where: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True, "zorder": 3}
        axes.text(sum(seen) / 2, height, str(row["ppdu.mpdus"]), color=ink, fontsize=6, **where)


def _handles(table: pd.DataFrame) -> list[Artist]:
    """The entries of the legend for what there is of first and further transmissions, losses and collisions."""
    lost, collided = table["ppdu.received"] < table["ppdu.mpdus"], table["ppdu.colliders"] > 0
    again = table["ppdu.tries"] > 0
    looks: list[tuple[pd.Series[bool], Artist]] = [
        (~again & ~collided, Patch(facecolor=PLAIN, edgecolor=PLAIN, label="First time")),
        (again, Patch(facecolor="white", edgecolor=PLAIN, hatch="//////", label="Again")),
        (lost & ~collided, Patch(facecolor=PLAIN, edgecolor=style.BLACK, label="Some MPDUs lost")),
        (collided, Patch(facecolor=COLLIDED, edgecolor=COLLIDED, label="Collided")),
        (table["ppdu.access_us"] > 0, Line2D([], [], color=PLAIN, linewidth=0.5, label="Waiting for access")),
    ]
    return [entry for there, entry in looks if there.any()]
