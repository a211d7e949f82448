"""The interactive report of an experiment: one HTML page with its data, its figures and the code that draws them.

It asks nothing of a network and opens from a disk or an e-mail: filters by axis value, a table with intervals, and
figures that can be zoomed and whose series can be switched off.
"""

from tailback.report.page import html, write

__all__ = ["html", "write"]
