"""Two runs in one figure: congestion window and RTT of each flow, the reference in grey and the candidate in colour,
with a line at their first divergence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.plots import cut, gaps, one_of_several, outside, style
from tailback.plots.errors import NotDrawable
from tailback.results import RunPair, RunResult

MAX_FLOWS = 4
"""Maximum number of columns; more would be too narrow."""

PANELS = {"cwnd": "segments", "TCP RTT": "ms"}
SIDES = ("reference", "candidate")
COLUMNS = ("panel", "unit", "flow", "side", "t", "value", "measured", *outside.EDGES)

LOOKS: Mapping[str, Mapping[str, Any]] = {
    "reference": {"color": style.GREY, "linewidth": 1.6},
    "candidate": {"color": style.PALETTE[0], "linewidth": 0.8},
}

OVERSHOOT = 2.0
"""Upper end of an axis over the highest measured value; a spike of slow start may exceed it and is cut off."""


def data(pair: RunPair) -> pd.DataFrame:
    """One row per sample of the first flows of both runs: `COLUMNS`."""
    parts = [_of_run(run, side) for side, run in zip(SIDES, (pair.reference, pair.candidate), strict=True)]
    table = pd.concat(parts, ignore_index=True)
    flows = list(dict.fromkeys(table["flow"]))[:MAX_FLOWS]
    if not flows:
        raise NotDrawable(f"`{pair.reference.path}` has no TCP flow to draw\n  hint: its experiment needs one")
    return table[table["flow"].isin(flows)].reset_index(drop=True)


def _of_run(run: RunResult, side: str) -> pd.DataFrame:
    if not run.has("tcp_info"):
        return pd.DataFrame(columns=list(COLUMNS))
    info = run.tcp_info
    values = {"cwnd": info["snd_cwnd"], "TCP RTT": info["rtt"].where(info["rtt"] > 0) / 1e3}
    parts = [
        pd.DataFrame(
            {"panel": panel, "unit": PANELS[panel], "flow": info["flow"], "side": side, "t": info["t"],
             "value": of_panel.astype(np.float64), "measured": outside.within(info["t"], run), **outside.edges(run)}
        ).dropna(subset=["value"])
        for panel, of_panel in values.items()
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def draw(table: pd.DataFrame, names: Mapping[str, str], divergence: Mapping[str, float]) -> Figure:
    """The figure of a table made by `data`; `names` of the two sides, `divergence` in seconds by flow."""
    flows = list(dict.fromkeys(table["flow"]))
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=_size(len(flows)), layout="constrained")
        grid = figure.subplots(len(PANELS), len(flows), squeeze=False, sharex=True, sharey="row")
        last = float(table["t"].max())
        for row, panel in enumerate(PANELS):
            part = table[table["panel"] == panel]
            for column, flow in enumerate(flows):
                _draw_panel(grid[row, column], part[part["flow"] == flow], divergence.get(flow))
            _finish_row(list(grid[row]), part, panel)
        for column, flow in enumerate(flows):
            grid[0, column].set_title(flow)
            grid[-1, column].set_xlabel("Time (s)")
        for axes in grid.ravel():
            axes.set_xlim(0, last)
            outside.shade(axes, table, last)
        _legend(figure, names, divergence, [*outside.key(table, last), *one_of_several.key(table)])
        figure.align_ylabels()
    return figure


def _size(flows: int) -> tuple[float, float]:
    return (max(style.COLUMN_WIDTH + 1.5, min(style.PAGE_WIDTH + 1.5, 2.4 * flows)), 3.4)


def _draw_panel(axes: Axes, part: pd.DataFrame, divergence: float | None) -> None:
    for side in SIDES:
        samples = part[part["side"] == side]
        gaps.draw(axes, gaps.broken(samples), "value", **LOOKS[side])
    if divergence is not None:
        axes.axvline(divergence, color=style.PALETTE[1], linewidth=0.8, linestyle=":")


def _finish_row(row: Sequence[Axes], part: pd.DataFrame, panel: str) -> None:
    measured = part.loc[part["measured"].astype(bool), "value"].to_numpy(dtype=np.float64)
    highest = float(part["value"].max()) if len(part) else 1.0
    if len(measured):
        highest = min(highest, OVERSHOOT * float(measured.max()))
    for axes in row:
        style.scale(axes, measured, highest)
    row[0].set_ylabel(f"{panel} ({PANELS[panel]})")
    peaks = cut.Peaks()
    peaks.see(row[0], part["value"])
    peaks.note(PANELS[panel])


def _legend(figure: Figure, names: Mapping[str, str], divergence: Mapping[str, float], more: Sequence[Artist]) -> None:
    lines: list[Artist] = [mpl.lines.Line2D([], [], **LOOKS[side]) for side in SIDES]
    labels = [names[side] for side in SIDES]
    if divergence:
        lines.append(mpl.lines.Line2D([], [], color=style.PALETTE[1], linewidth=0.8, linestyle=":"))
        labels.append("First divergence")
    lines += more
    labels += [str(each.get_label()) for each in more]
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
