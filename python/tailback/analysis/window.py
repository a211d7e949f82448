"""The measurement window: the part of a run that the metrics cover.

Half-open, start ≤ t < end, so that adjacent windows share no sample. Tables have `t` in seconds as floating point;
comparisons use whole nanoseconds, to avoid rounding errors.
"""

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis.table import NANOSECONDS, Columns, Table

__all__ = ["NANOSECONDS", "Window", "nanoseconds", "until"]

Nanoseconds = npt.NDArray[np.int64]


class Window(Struct, frozen=True):
    """A window, in nanoseconds since the start of the run."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end_ns - self.start_ns) / NANOSECONDS

    def samples(self, table: Columns) -> Table:
        """The rows of `table` whose `t` lies in the window."""
        return Table.of(table).between(self.start_ns, self.end_ns)

    def share_of_bins(self, table: Columns, bin_ns: int) -> npt.NDArray[np.float64]:
        """The fraction of each row's bin, the `bin_ns` before its `t`, that lies in the window."""
        ends = nanoseconds(table)
        inside = np.minimum(ends, self.end_ns) - np.maximum(ends - bin_ns, self.start_ns)
        return np.asarray(np.clip(inside, 0, None) / bin_ns, dtype=np.float64)


def until(table: Columns, last_ns: int) -> Table:
    """The rows of `table` whose `t` is `last_ns` or before."""
    return Table.of(table).between(-1, last_ns + 1)


def nanoseconds(table: Columns) -> Nanoseconds:
    """Column `t` (s) as whole nanoseconds."""
    return Table.of(table).t_ns
