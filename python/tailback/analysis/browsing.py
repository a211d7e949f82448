"""Web pages: how long they load.

    page load time   from the start to the last byte of the last object
    byte index       the integral over time of the share of missing bytes = sum of bytes_i · loaded_i / sum of bytes_i

The byte index takes the share of bytes for what a user sees, so it approximates the speed index without pictures of a
screen.   [bocchi2016]
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tailback.analysis.metrics import Samples
from tailback.analysis.window import Window

MS = 1000


def _complete(objects: pd.DataFrame, window: Window) -> pd.DataFrame:
    """The objects of pages that were wanted in the window and loaded to the end."""
    inside = window.samples(objects)
    missing = inside[inside["loaded_ms"].isna()]["page"].unique()
    return inside[~inside["page"].isin(missing)]


def load_times(objects: pd.DataFrame, window: Window) -> Samples:
    """Page load times in s of the pages that were wanted in the window and loaded to the end: from the start to the
    last byte of the last object.
    """
    found = _complete(objects, window).groupby("page")["loaded_ms"].max()
    return found.to_numpy(dtype=np.float64) / MS


def byte_indices(objects: pd.DataFrame, window: Window) -> Samples:
    """Byte index in s of the same pages: the mean time at which their bytes' objects were complete. It approximates the
    speed index, with the share of bytes for what a user sees.
    """
    found = _complete(objects, window)
    weighted = (found["loaded_ms"] * found["bytes"]).groupby(found["page"]).sum()
    index = weighted / found.groupby("page")["bytes"].sum()
    return index.to_numpy(dtype=np.float64) / MS


def unloaded(objects: pd.DataFrame, window: Window) -> int:
    """Pages that were wanted in the window and did not load to the end within the run."""
    inside = window.samples(objects)
    return int(inside[inside["loaded_ms"].isna()]["page"].nunique())
