"""The figure of a row: the number that it is about, of each control at each place, with its bound."""

import math

import pandas as pd
from matplotlib.figure import Figure

from tailback import plots
from tailback.assess.verdicts import Row
from tailback.plots import bar, style

CONTROL = "control"


def table(row: Row) -> pd.DataFrame:
    """One row per place and control: axes, control, panel, unit, n, mean, low, high, bound."""
    return pd.DataFrame([
        {
            **each.axes, CONTROL: name,
            "panel": row.criterion.id.replace("-", " "), "unit": row.criterion.unit,
            "n": found.n, "mean": found.mean, "low": found.low, "high": found.high, "bound": each.bound,
        }
        for each in row.places for name, found in each.found.items()
    ])  # fmt: skip


def draw(rows: pd.DataFrame) -> Figure:
    """Bars with intervals; a dashed line is a bound that is the same everywhere."""
    figure = bar.draw(rows.drop(columns="bound"))
    bounds = set(rows["bound"])
    if len(bounds) == 1 and not math.isnan(only := bounds.pop()):
        for axes in figure.axes:
            axes.axhline(only, color=style.BLACK, linewidth=0.9, linestyle="--", zorder=1)
    return figure


def svg(row: Row) -> bytes | None:
    """The figure of a row; `None` if it has no numbers."""
    rows = table(row)
    return None if rows.empty else plots.rendered(draw(rows), ".svg")
