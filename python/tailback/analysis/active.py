"""Bins of time in which flows are active: from their first row to their last, with those between that have none."""

import numpy as np
from msgspec import Struct

from tailback.analysis.table import Places, Values


class Active(Struct, frozen=True):
    """A value for each flow in each of its bins, by flow and time."""

    of: Places
    """The flow of each value, as its number."""
    bins: Places
    sums: Values


def active(flow: Places, bins: Places, values: Values) -> Active:
    """The sums of rows by flow and bin; `flow` has the numbers from 0 without a gap."""
    flows = int(flow.max(initial=-1)) + 1
    first, last = np.full(flows, np.iinfo(np.int64).max), np.full(flows, -1)
    np.minimum.at(first, flow, bins)
    np.maximum.at(last, flow, bins)
    lengths = last - first + 1
    # From a bin to the place of its value.
    shift = np.cumsum(lengths) - lengths - first
    of = np.repeat(np.arange(flows), lengths)
    sums = np.bincount(shift[flow] + bins, values, len(of))
    return Active(of, np.arange(len(of)) - shift[of], np.asarray(sums, dtype=np.float64))
