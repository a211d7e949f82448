"""The measurement window: the part of a run that the metrics cover.

Half-open, start ≤ t < end, so that adjacent windows share no sample. Tables have `t` in seconds as floating point;
comparisons use whole nanoseconds, to avoid rounding errors.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

NANOSECONDS = 1_000_000_000

Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """A window, in nanoseconds since the start of the run."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / NANOSECONDS

    def samples(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of `table` whose `t` lies in the window."""
        return _between(table, self.start_ns, self.end_ns)

    def share_of_bins(self, table: pd.DataFrame, bin_ns: int) -> npt.NDArray[np.float64]:
        """The fraction of each row's bin, the `bin_ns` before its `t`, that lies in the window."""
        ends = nanoseconds(table)
        inside = np.minimum(ends, self.end_ns) - np.maximum(ends - bin_ns, self.start_ns)
        return np.asarray(np.clip(inside, 0, None) / bin_ns, dtype=np.float64)


def until(table: pd.DataFrame, last_ns: int) -> pd.DataFrame:
    """The rows of `table` whose `t` is `last_ns` or before."""
    return _between(table, -1, last_ns + 1)


def _between(table: pd.DataFrame, start_ns: int, end_ns: int) -> pd.DataFrame:
    t = nanoseconds(table)
    if (t[1:] >= t[:-1]).all():
        # Tables are written in order, and a slice copies nothing.
        first, after = np.searchsorted(t, (start_ns, end_ns))
        return table.iloc[first:after]
    return table[(t >= start_ns) & (t < end_ns)]


def nanoseconds(table: pd.DataFrame) -> Nanoseconds:
    """Column `t` (s) as whole nanoseconds."""
    seconds = table["t"].to_numpy(dtype=np.float64)
    return np.asarray(np.rint(seconds * NANOSECONDS), dtype=np.int64)
