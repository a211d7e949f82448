"""The RRUL test as Flent draws it: download, upload, and ping over time, in three rows.

Each flow and each ping has a line, and their mean is black. Columns are configurations, with common scales; the figure
shows one repetition of each. Any experiment with flows in both directions and pings can be drawn so. A row of many
flows or pings has their median and a band instead (`plots.many`).
[flent]
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tailback.plots import bins, gaps, labels, layout, many, one_of_several, outside, style
from tailback.plots.errors import NotDrawable, lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult

DOWNLOAD, UPLOAD, PING = "Download", "Upload", "Ping"
UNITS = {DOWNLOAD: "Mbit/s", UPLOAD: "Mbit/s", PING: "ms"}
WAYS = {"down": DOWNLOAD, "up": UPLOAD}
MEAN = "mean"
MAX_RUNS = 6


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per ping, and per bin of goodput and of the mean of pings: the axes, panel, unit, series (a flow, a ping,
    or `mean`), t (s), value, bin width (s), the measurement window, and which of how many repetitions it is. Of many
    flows in a direction, `value` is the median of the `n` active flows, between p10 and p90.
    """
    configurations = [runs for _, runs in results.configurations]
    firsts = [runs[0] for runs in configurations]
    if len(firsts) > MAX_RUNS:
        hint = f"choose some with `--where AXIS=VALUE`; the axes are {', '.join(results.axes)}"
        raise NotDrawable(f"{len(firsts)} configurations are too many, at most {MAX_RUNS} fit\n  hint: {hint}")
    most = style.MOST_COLOURS
    lines = {
        panel: many.lines_of([(run, names(run)) for run in firsts], kind, most) for panel, (names, kind) in READ.items()
    }
    parts = []
    for place, (run, *others) in enumerate(configurations):
        of_run = {panel: each[place] for panel, each in lines.items() if each is not None}
        same = {**outside.edges(run), **one_of_several.columns([run, *others])}
        parts += [part.assign(**same) for part in _panel_series(run, choice, of_run)]
    if not parts:
        raise lacking(results.path, "flows or pings", "goodput")
    return pd.concat(parts, ignore_index=True)


def _towards(run: RunResult, way: str) -> list[str]:
    """The flows in this direction that have received something."""
    directions = run.manifest["measure"]["directions"]
    flows = run.flows["flow"].unique() if run.has("flows") else ()
    return [flow for flow in flows if directions.get(flow) == way]


def _pings(run: RunResult) -> list[str]:
    return list(run.ping.loc[run.ping["rtt_ms"].notna(), "ping"].unique()) if run.has("ping") else []


READ: Mapping[str, tuple[Callable[[RunResult], list[str]], str]] = {
    **{panel: (partial(_towards, way=way), "flows") for way, panel in WAYS.items()},
    PING: (_pings, "pings"),
}
"""What is drawn in each row, and its name in the plural."""


def _panel_series(run: RunResult, choice: Choice, lines: Mapping[str, many.Series]) -> list[pd.DataFrame]:
    found = []
    if run.has("flows") and not run.flows.empty:
        for way, panel in WAYS.items():
            flows = _towards(run, way)
            if panel in lines:
                found += _over(run, panel, many.goodput(run, choice, flows), lines[panel])
            else:
                rows = bins.goodput(run, choice, flows)
                found += _series(run, panel, rows.rename(columns={"flow": "series", "mbps": "value"}))
    if PING in lines and run.has("ping"):
        found += _over(run, PING, many.means(run.ping, ("ping", "rtt_ms"), bins.width_ns(run, choice)), lines[PING])
    elif run.has("ping"):
        answered = run.ping[run.ping["rtt_ms"].notna()].rename(columns={"ping": "series", "rtt_ms": "value"})
        found += _series(run, PING, answered)
    return found


def _over(run: RunResult, panel: str, cells: many.Cells, lines: many.Series) -> list[pd.DataFrame]:
    """The medians and bands of many flows or pings."""
    found = many.over_flows(cells, lines)
    head = {**run.axes, "panel": panel, "unit": UNITS[panel]}
    return [pd.DataFrame({**head, **{column: found[column] for column in ("series", "t", many.MIDDLE, *many.BESIDE)}})]


def _series(run: RunResult, panel: str, rows: pd.DataFrame) -> list[pd.DataFrame]:
    if rows.empty:
        return []
    short = _short(list(rows["series"].unique()))
    rows = rows.assign(series=rows["series"].map(short))
    head = {**run.axes, "panel": panel, "unit": UNITS[panel]}
    values = rows["value"].astype(np.float64)
    width = rows.get(bins.WIDTH, np.nan)
    parts = [pd.DataFrame({**head, "series": rows["series"], "t": rows["t"], "value": values, bins.WIDTH: width})]
    if rows["series"].nunique() > 1:
        # Pings are not sent at the same instants, so they are averaged in bins of a second.
        middles = rows["t"] if panel != PING else np.floor(rows["t"] + 1e-9) + 0.5
        mean = values.groupby(middles).mean()
        width = rows[bins.WIDTH].iloc[0] if panel != PING else 1.0
        of_mean = {"t": mean.index.to_numpy(), "value": mean.to_numpy(), bins.WIDTH: width}
        parts.append(pd.DataFrame({**head, "series": MEAN, **of_mean}))
    return parts


def _short(names: Sequence[str]) -> dict[str, str]:
    """The names of the lines of a panel: `upload.EF` is `EF`, as the ping that has this mark, and `upload.2` is
    `flow 2` if all are uploads; the whole names if these are not distinct."""
    alone = len({name.partition(".")[0] for name in names}) == 1
    short = {}
    for name in names:
        end = name.rpartition(".")[2]
        short[name] = end if not end.isdecimal() else f"flow {end}" if alone else name
    return short if len(set(short.values())) == len(names) else {name: name for name in names}


@worded
def draw(table: pd.DataFrame, _choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    values = layout.axes_of(table)
    varying = [axis for axis, each in values.items() if len(each) > 1]
    columns = layout.facets(table, varying)
    panels = [panel for panel in UNITS if (table["panel"] == panel).any()]
    with mpl.rc_context(style.STYLE):
        width = max(style.COLUMN_WIDTH, min(style.PAGE_WIDTH, 2.6 * len(columns)))
        figure = Figure(figsize=(width, 0.9 + 1.5 * len(panels)), layout="constrained")
        grid = figure.subplots(len(panels), len(columns), squeeze=False, sharex=True, sharey="row")
        looks, last = _looks(table), bins.last(table)
        for column, (label, part) in enumerate(columns):
            grid[0, column].set_title(label)
            grid[-1, column].set_xlabel("Time (s)")
            for row, panel in enumerate(panels):
                axes = grid[row, column]
                for name, rows in part[part["panel"] == panel].groupby("series", sort=False):
                    mean: float = 1.2 if name == MEAN else 0.7
                    many.band(axes, curve := gaps.broken(rows), looks[str(name)].colour)
                    gaps.draw(axes, curve, "value", **looks[str(name)].drawn, linewidth=mean)
                axes.set_xlim(0, last)
                outside.shade(axes, part, last)
        for row, panel in enumerate(panels):
            highest = float(many.tops(table)[table["panel"] == panel].max())
            grid[row, 0].set_ylim(0, highest * 1.08 if highest > 0 else 1)
            grid[row, 0].set_ylabel(labels.quantity(panel, UNITS[panel]))
        labels.entitle(figure, layout.title(values))
        handles = [
            mpl.lines.Line2D([], [], **look.drawn, label=labels.sentence(name) if name == MEAN else name)
            for name, look in looks.items()
        ]
        bands = [many.key()] if many.summarised(table) else []
        labels.finish(figure, [*handles, *bands, *outside.key(table), *one_of_several.key(table)])
    return figure


def _looks(table: pd.DataFrame) -> dict[str, Look]:
    """A look for each mark, which is the same for flows and pings; the mean is a thick black line."""
    names = [str(name) for name in dict.fromkeys(table["series"]) if name != MEAN]
    looks = {name: layout.of_place(place) for place, name in enumerate(names)}
    mean = replace(layout.of_place(0), colour=style.BLACK)
    return {**looks, **({MEAN: mean} if (table["series"] == MEAN).any() else {})}
