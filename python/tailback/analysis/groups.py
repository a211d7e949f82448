"""Rows of a table by a name that they have, such as their flow or device, without a frame for each name."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Groups:
    """The rows of each name, sorted by name and within one name in the order of the table."""

    names: list[str]
    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    """Where the rows of each name begin in `order`."""

    def split(self, values: Values) -> dict[str, Values]:
        """The values of each name."""
        return dict(zip(self.names, np.split(values[self.order], self.starts[1:]), strict=True)) if self.names else {}

    def sums(self, values: Values) -> Values:
        """The sum of the values of each name; unknown ones count 0. For counters, whose sums are exact."""
        return self._reduced(np.add, np.nan_to_num(values))

    def maxima(self, values: Values) -> Values:
        """The largest value of each name; NaN if all are unknown."""
        return self._reduced(np.fmax, values)

    def minima(self, values: Values) -> Values:
        """The smallest value of each name; NaN if all are unknown."""
        return self._reduced(np.fmin, values)

    def _reduced(self, how: np.ufunc, values: Values) -> Values:
        found = how.reduceat(values[self.order], self.starts) if self.names else np.empty(0)
        return np.asarray(found, dtype=np.float64)


def grouped(names: "pd.Series[str]") -> Groups:
    """The groups of the rows of a column of names; rows without a name are in none."""
    codes, known = pd.factorize(names, sort=True)
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    starts = np.searchsorted(codes[order], np.arange(len(known)))
    return Groups([str(name) for name in known], order, starts)


def numbers(column: "pd.Series[float]") -> Values:
    """A column as floating point; unknown values are NaN."""
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
