"""Draws figures from a results folder.

A plot consists of two pure functions: `data` computes a tidy table from results, `draw` makes a figure from that table.
The table is also written as CSV next to the figure. To combine plots in your own figure, use `on` of its module, which
draws the table on matplotlib axes:

table = plots.cdf.data(tailback.open("results/demo"), metric="ping")
plots.cdf.on(axes, table)

Without matplotlib, an extra of the package, only the names of the plots are there (`plots.names`).
"""

import importlib
from typing import TYPE_CHECKING, Any

from tailback import extras

if TYPE_CHECKING:
    from tailback.plots import band, bar, box, candlestick, cdf, cwnd, heatmap, scatter, timeseries
    from tailback.plots.layout import AUTOMATIC, Choice, with_words
    from tailback.plots.registry import PLOTS, NotDrawable, Output, Plot, default_plot, draw_to, find_plot, rendered

__all__ = [
    "AUTOMATIC",
    "PLOTS",
    "Choice",
    "NotDrawable",
    "Output",
    "Plot",
    "band",
    "bar",
    "box",
    "candlestick",
    "cdf",
    "cwnd",
    "default_plot",
    "draw_to",
    "find_plot",
    "heatmap",
    "rendered",
    "scatter",
    "timeseries",
    "with_words",
]

_DRAW_NOTHING = ("names", "errors")

_IN_REGISTRY = ("AUTOMATIC", "PLOTS", "Choice", "NotDrawable", "Output", "Plot", "default_plot", "draw_to", "find_plot",
                "rendered", "with_words")  # fmt: skip


def __getattr__(name: str) -> Any:
    """What draws, when it is first used: it needs matplotlib."""
    if name.startswith("__") or name in _DRAW_NOTHING:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    extras.need("matplotlib")
    if name in _IN_REGISTRY:
        return getattr(importlib.import_module(f"{__name__}.registry"), name)
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
