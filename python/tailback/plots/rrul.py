"""The RRUL test as Flent draws it: TCP download, TCP upload, and ping over time, in three rows.

Each flow and each ping has a line, and their mean is black. Columns are configurations, with common scales; the figure
shows one repetition of each. Any experiment with flows in both directions and pings can be drawn so.
[flent]
"""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tailback.plots import bins, layout, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice
from tailback.results import Results, RunFolder

DOWNLOAD, UPLOAD, PING = "TCP download", "TCP upload", "Ping"
UNITS = {DOWNLOAD: "Mbit/s", UPLOAD: "Mbit/s", PING: "ms"}
WAYS = {"down": DOWNLOAD, "up": UPLOAD}
MEAN = "mean"
MAX_RUNS = 6
MAX_SERIES = len(style.PALETTE)


def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per sample: the axes, panel, unit, series (a flow, a ping, or `mean`), t (s), value."""
    firsts = [runs[0] for _, runs in results.configurations]
    if len(firsts) > MAX_RUNS:
        hint = f"choose some with `--where AXIS=VALUE`; the axes are {', '.join(results.axes)}"
        raise NotDrawable(f"{len(firsts)} configurations are too many, at most {MAX_RUNS} fit\n  hint: {hint}")
    parts = [part for run in firsts for part in _of(run, choice)]
    if not parts:
        raise NotDrawable(
            f"`{results.path}` has neither TCP flows nor pings\n  hint: it needs `preset: rrul` or the like"
        )
    return pd.concat(parts, ignore_index=True)


def _of(run: RunFolder, choice: Choice) -> list[pd.DataFrame]:
    found = []
    if run.has("flows") and not run.flows.empty:
        table = bins.goodput(run, choice)
        ways = table["flow"].map(run.manifest["measure"]["directions"])
        for way, panel in WAYS.items():
            rows = table[(ways == way).to_numpy()]
            found += _series(run, panel, rows.rename(columns={"flow": "series", "mbps": "value"}))
    if run.has("ping"):
        answered = run.ping[run.ping["rtt_ms"].notna()].rename(columns={"ping": "series", "rtt_ms": "value"})
        found += _series(run, PING, answered)
    return found


def _series(run: RunFolder, panel: str, rows: pd.DataFrame) -> list[pd.DataFrame]:
    if rows.empty:
        return []
    # `upload.EF` is `EF` in its panel, as the ping that has this mark.
    rows = rows.assign(series=[str(name).rpartition(".")[2] for name in rows["series"]])
    head = {**run.axes, "panel": panel, "unit": UNITS[panel]}
    values = rows["value"].astype(np.float64)
    parts = [pd.DataFrame({**head, "series": rows["series"], "t": rows["t"], "value": values})]
    if rows["series"].nunique() > 1:
        # Pings are not sent at the same instants, so they are averaged in bins of a second.
        ends = rows["t"] if panel != PING else np.ceil(rows["t"] + 1e-9)
        mean = values.groupby(ends).mean()
        parts.append(pd.DataFrame({**head, "series": MEAN, "t": mean.index.to_numpy(), "value": mean.to_numpy()}))
    return parts


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
        looks = _looks(table)
        for column, (label, part) in enumerate(columns):
            grid[0, column].set_title(label)
            grid[-1, column].set_xlabel("Time (s)")
            for row, panel in enumerate(panels):
                axes = grid[row, column]
                for name, rows in part[part["panel"] == panel].groupby("series", sort=False):
                    mean: float = 1.2 if name == MEAN else 0.7
                    axes.plot(rows["t"].to_numpy(), rows["value"].to_numpy(), color=looks[str(name)], linewidth=mean)
                axes.set_xlim(0, float(table["t"].max()))
        for row, panel in enumerate(panels):
            highest = float(table.loc[table["panel"] == panel, "value"].max())
            grid[row, 0].set_ylim(0, highest * 1.08 if highest > 0 else 1)
            grid[row, 0].set_ylabel(f"{panel} ({UNITS[panel]})")
        figure.suptitle(layout.title(values))
        handles = [mpl.lines.Line2D([], [], color=colour, label=name) for name, colour in looks.items()]
        style.legend(figure, handles)
        figure.align_ylabels()
    return figure


def _looks(table: pd.DataFrame) -> dict[str, str]:
    """A colour for each mark, which is the same for flows and pings."""
    names: Sequence[str] = [str(name) for name in dict.fromkeys(table["series"]) if name != MEAN]
    colours = {name: style.PALETTE[place % MAX_SERIES] for place, name in enumerate(names)}
    return {**colours, **({MEAN: style.BLACK} if (table["series"] == MEAN).any() else {})}
