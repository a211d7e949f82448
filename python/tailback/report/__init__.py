"""The interactive report of an experiment: one HTML page with its data, its figures and the code that draws them.

The page needs no network, so it can be opened from a disk or an e-mail. It has filters by axis value, a table with
intervals, and figures that can be zoomed and whose series can be hidden.
"""

from tailback.report.content import Source, source_of, unread
from tailback.report.page import html, write

__all__ = ["Source", "html", "source_of", "unread", "write"]
