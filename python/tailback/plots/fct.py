"""Flow completion times over the size of the flows: a point for each that ended, and the median of each size class.

Size classes are half decades: 10 to 31.6 kB, 31.6 to 100 kB, and so on. Both axes are logarithmic.   [rfc5166 §2.2]
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tailback.analysis import Window
from tailback.analysis.sharing import completion_times
from tailback.plots import lines, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import AUTOMATIC, Choice, Look
from tailback.results import Results, RunFolder

CLASSES_PER_DECADE = 2
FEWEST = 5
"""Fewest flows of a class whose median is drawn."""


def data(results: Results, _choice: Choice = AUTOMATIC) -> pd.DataFrame:
    """One row per flow that ended: axes, panel, unit, repetition, x (size in kB), value (s)."""
    parts = [_of(run).assign(**axes) for axes, runs in results.configurations for run in runs]
    table = pd.concat(parts, ignore_index=True)
    if table.empty:
        raise NotDrawable(
            f"`{results.path}` has no flow that ended\n"
            "  hint: give flows `bytes`, or `arrivals` and `size`; only the simulator records when they end"
        )
    axes = list(results.axes)
    return table[[*axes, *(name for name in table.columns if name not in axes)]]


def _of(run: RunFolder) -> pd.DataFrame:
    sizes = {flow.name: flow.bytes for flow in run.scenario.tcp if flow.bytes is not None}
    whole = Window(0, run.scenario.duration_ns)
    times = completion_times(run.events, sizes, whole) if sizes and run.has("events") else {}
    return pd.DataFrame({
        "panel": "Flow completion time", "unit": "s", "repetition": run.repetition,
        "x": [(sizes[flow] or 0) / 1000 for flow in times], "value": list(times.values()),
    })  # fmt: skip


def _paint(axes: Axes, rows: pd.DataFrame, look: Look) -> None:
    axes.plot(rows["x"], rows["value"], ".", color=look.colour, markersize=2.5, alpha=0.35, markeredgewidth=0)
    place = np.floor(np.log10(rows["x"]) * CLASSES_PER_DECADE)
    classes = rows["value"].groupby(place).agg(["median", "size"])
    shown = classes[classes["size"] >= FEWEST]
    middle = 10 ** ((shown.index.to_numpy() + 0.5) / CLASSES_PER_DECADE)
    axes.plot(middle, shown["median"].to_numpy(), color=look.colour, linestyle=look.line, linewidth=1.5)


def draw(table: pd.DataFrame, choice: Choice = AUTOMATIC) -> Figure:
    """The figure of a table made by `data`."""
    shown = lines.Panels(_paint, _scale, "Size (kB)", "Flow completion time (s)")
    return lines.draw(table, shown, choice)


def _scale(axes: Axes, table: pd.DataFrame) -> None:
    style.logarithmic_x(axes, (float(table["x"].min()) / 1.3, float(table["x"].max()) * 1.3))
    style.rescale(axes, "y", "log")
