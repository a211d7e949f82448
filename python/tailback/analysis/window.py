"""The measurement window: the part of a run that the metrics cover.

Half-open, start ≤ t < end, so that adjacent windows share no sample. Tables carry `t` as seconds in floating point;
comparisons are made on whole nanoseconds, where 5.1 s is 5.1 s.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

NANOSECONDS = 1_000_000_000

Nanoseconds = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Nanoseconds since the start of the run."""

    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / NANOSECONDS

    def samples(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of `table` whose `t` lies in the window."""
        t = nanoseconds(table)
        return table[(t >= self.start_ns) & (t < self.end_ns)]

    def share_of_bins(self, table: pd.DataFrame, bin_ns: int) -> npt.NDArray[np.float64]:
        """For rows that each cover the `bin_ns` before their `t`: the share of each that lies in the window."""
        ends = nanoseconds(table)
        inside = np.minimum(ends, self.end_ns) - np.maximum(ends - bin_ns, self.start_ns)
        return np.asarray(np.clip(inside, 0, None) / bin_ns, dtype=np.float64)


def nanoseconds(table: pd.DataFrame) -> Nanoseconds:
    """Column `t` (s) as whole nanoseconds."""
    seconds = table["t"].to_numpy(dtype=np.float64)
    return np.asarray(np.rint(seconds * NANOSECONDS), dtype=np.int64)
