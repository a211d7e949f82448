"""What holds each sender over time: a strip for each flow, in which each cause has its share of the time of a bin.

The causes are those of the metric `held`: the congestion window, pacing, the small queue, the receiver's window, the
send buffer, the application (`no_data`), a handshake without an answer, and others (Nagle, deferral of trains, a local
drop). A real kernel tells neither the first three nor the others: that is its `network`. In bins of 1 s or of `--bin`,
from the second sample of a flow on; shows the first repetition of each configuration. Of more than eight flows there is
one strip, the mean over the flows.
"""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tailback.analysis.sockets import BY_KERNEL, HELD, held_in_bins
from tailback.analysis.window import NANOSECONDS
from tailback.plots import bins, labels, one_of_several, outside, style
from tailback.plots.errors import NotDrawable, lacking
from tailback.plots.layout import AUTOMATIC, Choice, worded
from tailback.results import Results, RunResult

FLOW, CAUSE = "flow", "series"

COLUMNS = ("t", "flow", "rtt", *HELD.values(), *BY_KERNEL)

MAX_STRIPS = 8
MAX_PANELS = 12

HEIGHT = 0.8
"""Height of a strip, in rows."""

WORDS: Mapping[str, str] = {
    "cwnd": "cwnd", "pacing": "Pacing", "small_queue": "Small queue", "receive_window": "Receive window",
    "send_buffer": "Send buffer", "no_data": "Application", "network": "Network (cwnd, pacing)", "other": "Other",
    "handshake": "Handshake",
}  # fmt: skip
"""The causes in the order of a strip, from below, in words."""

LOOKS: Mapping[str, tuple[str, str]] = dict(
    zip(WORDS, zip((*style.PALETTE, "#BBBBBB"), (*style.HATCHES, "--"), strict=True), strict=True)
)
"""The colour and the hatch of each cause, which are the same in all figures."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per configuration, flow, bin and cause: axes, panel, unit, flow, t (s), series (the cause), value (% of
    the bin), bin width (s), the measurement window, and which of how many repetitions it is.
    """
    having = [runs for _, runs in results.configurations if runs[0].has("tcp_info")]
    parts = [_shares(runs[0], choice).assign(**one_of_several.columns(runs)) for runs in having]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise lacking(results.path, "times for which senders were held", "tcp")
    return pd.concat(parts, ignore_index=True)


def _shares(run: RunResult, choice: Choice) -> pd.DataFrame:
    width = bins.width_ns(run, choice)
    found = held_in_bins(run.columns("tcp_info", COLUMNS), width)
    parts = [
        pd.DataFrame({FLOW: flow, "t": (each.ends_ns - width / 2) / NANOSECONDS, CAUSE: cause, "value": shares})
        for flow, each in found.items()
        for cause, shares in each.shares.items()
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame({FLOW: [], "t": [], CAUSE: [], "value": []})
    count = table[FLOW].nunique()
    if count > MAX_STRIPS:
        means = table.groupby(["t", CAUSE], sort=False)["value"].mean().reset_index()
        table = means.assign(**{FLOW: f"mean of {count} flows"})
    label = ", ".join(style.label(axis, value) for axis, value in run.axes.items())
    head = {**run.axes, "panel": label, "unit": "%"}
    values = {name: table[name] for name in (FLOW, "t", CAUSE, "value")}
    return pd.DataFrame({**head, **values, bins.WIDTH: width / NANOSECONDS, **outside.edges(run)})


@worded
def draw(table: pd.DataFrame, _choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    panels = {str(panel): rows for panel, rows in table.groupby("panel", sort=False)}
    if len(panels) > MAX_PANELS:
        hint = "choose some with `--where AXIS=VALUE`"
        raise NotDrawable(f"{len(panels)} configurations are too many, at most {MAX_PANELS} fit\n  hint: {hint}")
    strips = [int(rows[FLOW].nunique()) for rows in panels.values()]
    with mpl.rc_context({**style.STYLE, "axes.grid": False}):
        size = (style.PAGE_WIDTH, 0.9 + sum(0.35 + 0.28 * count for count in strips))
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), 1, squeeze=False, sharex=True, height_ratios=[1 + each for each in strips])
        for axes, (panel, rows) in zip(grid[:, 0], panels.items(), strict=True):
            on(axes, rows)
            axes.set_title(labels.wrapped(panel, labels.panel_width(axes), style.STYLE["axes.titlesize"]), loc="left")
        grid[-1, 0].set_xlabel("Time (s)")
        labels.finish(figure, [*_explained(table), *outside.key(table), *one_of_several.key(table)])
    return figure


def _explained(table: pd.DataFrame) -> list[Patch]:
    """The entries of the legend: the causes that hold any flow."""
    seen = set(table[table["value"] > 0][CAUSE])
    return [_patch(cause) for cause in WORDS if cause in seen]


def _patch(cause: str) -> Patch:
    colour, hatch = LOOKS[cause]
    return Patch(facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0, label=WORDS[cause])


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The strips of one configuration on `axes`, the first flow at the top."""
    flows = list(table[FLOW].unique())
    for place, flow in enumerate(flows):
        _strip(axes, table[table[FLOW] == flow], float(len(flows) - 1 - place))
    axes.set_yticks(range(len(flows)), flows[::-1])
    axes.set_ylim(-0.5, len(flows) - 0.5)
    last = bins.last(table)
    axes.set_xlim(0, last)
    outside.shade(axes, table, last)


def _strip(axes: Axes, rows: pd.DataFrame, row: float) -> None:
    """One flow: the shares of each bin on top of each other. A bin is a box around its `t`."""
    wide = rows.pivot_table(index="t", columns=CAUSE, values="value", fill_value=0.0)
    middles, width = wide.index.to_numpy(dtype=np.float64), rows[bins.WIDTH].iloc[0]
    base = np.full(len(middles), row - HEIGHT / 2)
    for cause in WORDS:
        if cause not in wide or not (wide[cause] > 0).any():
            continue
        height = wide[cause].to_numpy(dtype=np.float64) / 100 * HEIGHT
        colour, hatch = LOOKS[cause]
        axes.bar(middles, height, width, base, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        base = base + height
