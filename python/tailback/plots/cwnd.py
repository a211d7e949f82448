"""The congestion window of each flow over time: one panel per configuration, one repetition of each, on linear
scales, so that a window that is small for a moment does not flatten the others.

Of more flows than colours, the colour is what a flow has in common with others (`plots.kinds`); of many, their median
and a band (`plots.many`).
"""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.plots import bins, cut, gaps, kinds, layout, lines, many, one_of_several, outside, senders
from tailback.plots.errors import lacking
from tailback.plots.layout import AUTOMATIC, Choice, Look, worded
from tailback.results import Results, RunResult
from tailback.results.sampled import over_time

FLOW = "flow"

OVERSHOOT = 1.5
"""How far above what is measured the axis goes for the start."""


@worded
def data(results: Results, choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per sample: axes, panel, unit, flow, t (s), value (segments), measured, the measurement window, and which
    of how many repetitions it is. Of many flows, one row per bin: `value` is the median of the `n` active flows,
    between p10 and p90, in a bin of this bin width (s).
    """
    having = [runs for _, runs in results.configurations if _has_windows(runs[0])]
    firsts = [runs[0] for runs in having]
    if not firsts:
        raise lacking(results.path, "TCP flow", "tcp")
    flows = [(run, list(senders.samples(run)["flow"].unique())) for run in firsts]
    series = many.lines_of(flows)
    if series is None:
        parts = [_cwnd_samples(runs[0]).assign(**one_of_several.columns(runs)) for runs in having]
        return kinds.with_column(parts, FLOW, kinds.labelled([kinds.of_flows(*each) for each in flows], "flows"))
    parts = [
        _of_many(runs[0], of_run, choice).assign(**one_of_several.columns(runs))
        for runs, of_run in zip(having, series, strict=True)
    ]
    return pd.concat(parts, ignore_index=True)


def _has_windows(run: RunResult) -> bool:
    """Whether the run has windows, which imported results may not have."""
    return bool(senders.samples(run)["snd_cwnd"].notna().any())


def _of_many(run: RunResult, series: many.Series, choice: Choice) -> pd.DataFrame:
    cells = many.means(over_time(run), ("flow", "snd_cwnd"), bins.width_ns(run, choice))
    found = many.over_flows(cells, series)
    head = {**run.axes, FLOW: found["series"], "panel": "cwnd", "unit": "segments"}
    same = {"measured": outside.within(found["t"], run), **outside.edges(run)}
    return pd.DataFrame({**head, **found.drop(columns="series"), **same})


def _cwnd_samples(run: RunResult) -> pd.DataFrame:
    info = senders.samples(run)
    values = {"t": info["t"], "value": info["snd_cwnd"].astype(float), "measured": outside.within(info["t"], run)}
    head = {**run.axes, FLOW: info["flow"], "panel": "cwnd", "unit": "segments"}
    return pd.DataFrame({**head, **values, **outside.edges(run)})


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    rows = gaps.broken(rows)
    many.band(axes, rows, look.colour)
    gaps.draw(axes, rows, "value", **look.drawn, linewidth=0.8)


@worded
def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    varying = [axis for axis, values in layout.axes_of(table).items() if len(values) > 1 and axis != FLOW]
    panels = (*choice.facet, *(axis for axis in varying if axis not in choice.facet))
    peaks = cut.Peaks()

    def paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
        _paint(axes, rows, look)
        peaks.see(axes, many.tops(rows))

    shown = lines.Panels(paint, _scale, lines.TIME, "cwnd (segments)", height=many.top(table), band=many.BAND)
    figure = lines.draw(table, shown, replace(choice, colour=FLOW, facet=panels))
    peaks.note("segments")
    return figure


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    """Sets the limits of one panel."""
    highest = top(table)
    axes.set_ylim(0, highest * 1.08 if highest > 0 else 1)
    axes.set_xlim(0, bins.last(table))


def top(table: pd.DataFrame) -> float:
    """The upper end of what is drawn, at most a little more than is measured."""
    tops = many.tops(table)
    highest = float(tops.max())
    if table["measured"].any():
        return min(highest, OVERSHOOT * float(tops[table["measured"]].max()))
    return highest


def on(axes: Axes, table: pd.DataFrame) -> None:
    """The windows of the flows of one configuration on `axes`."""
    for place, (_, rows) in enumerate(table.groupby(FLOW, sort=False)):
        _paint(axes, rows, layout.of_place(place))
