"""Web pages: how long they load.

    page load time   from the start to the last byte of the last object
    byte index       the integral over time of the share of missing bytes = sum of bytes_i · loaded_i / sum of bytes_i

The byte index takes the share of bytes for what a user sees, so it approximates the speed index without pictures of a
screen.   [bocchi2016]
"""

import numpy as np

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Samples
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window

MS = 1000


def _complete(objects: Columns, window: Window) -> Table:
    """The objects of pages that were wanted in the window and loaded to the end."""
    inside = window.samples(objects)
    pages = inside.words("page")
    return inside.where(~pages.among(_missing(inside)))


def _missing(objects: Table) -> list[str]:
    """The pages of which an object did not load to the end."""
    return objects.where(np.isnan(objects.numbers("loaded_ms"))).words("page").present()


def load_times(objects: Columns, window: Window) -> Samples:
    """Page load times in s of the pages that were wanted in the window and loaded to the end: from the start to the
    last byte of the last object.
    """
    found = _complete(objects, window)
    loaded_ms = grouped(found.words("page")).maxima(found.numbers("loaded_ms"))
    return np.array(list(loaded_ms.values())) / MS


def byte_indices(objects: Columns, window: Window) -> Samples:
    """Byte index in s of the same pages: the mean, over all bytes of a page, of the time until the object of the byte
    was complete. It approximates the speed index: the share of bytes stands for the share of the page that a user sees.
    """
    found = _complete(objects, window)
    pages, bytes_ = grouped(found.words("page")), found.numbers("bytes")
    whole = pages.sums(bytes_)
    index = [weighted / whole[page] for page, weighted in pages.sums(found.numbers("loaded_ms") * bytes_).items()]
    return np.array(index) / MS


def unloaded(objects: Columns, window: Window) -> int:
    """Pages that were wanted in the window and did not load to the end within the run."""
    return len(_missing(window.samples(objects)))
