"""Draws figures from a results folder, without running anything.

A plot is two pure functions: results to one tidy table (`data`), and that table to a figure (`draw`). The table is
written beside the figure as CSV, so every mark on the page can be looked up. To put a plot beside others on a page of
your own, `on` of its module draws such a table on matplotlib axes:

table = plots.cdf.data(tailback.open("results/demo"))
plots.cdf.on(axes, table)
"""

from tailback.plots import band, bar, box, candlestick, cdf, cwnd, heatmap, scatter, timeseries
from tailback.plots.layout import AUTOMATIC, Choice
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
]
