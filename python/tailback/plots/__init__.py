"""Draws figures from a results folder.

A plot consists of two pure functions: `data` computes a tidy table from results, `draw` makes a figure from that table.
The table is also written as CSV next to the figure. To combine plots in your own figure, use `on` of its module, which
draws the table on matplotlib axes:

table = plots.cdf.data(tailback.open("results/demo"), metric="ping")
plots.cdf.on(axes, table)
"""

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
