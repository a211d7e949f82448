"""From a folder of results to figures, without running anything.

A plot is two pure functions: results to one tidy table (`data`), and that table to a figure (`draw`). The table is
written beside the figure as CSV, so every mark on the page can be looked up.
"""

from tailback.plots.registry import PLOTS, NotDrawable, Plot, default_plot, draw_to, find_plot, rendered

__all__ = ["PLOTS", "NotDrawable", "Plot", "default_plot", "draw_to", "find_plot", "rendered"]
