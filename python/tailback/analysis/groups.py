"""Rows of a table by a name that they have, such as their flow or device, without a table for each name."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis.table import Values, Words

Scalar = TypeVar("Scalar", bound=np.generic)


class Groups(Struct, frozen=True):
    """The rows of each name, sorted by name and within one name in the order of the table."""

    names: list[str]
    order: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    """Where the rows of each name begin in `order`."""

    def split(self, values: npt.NDArray[Scalar]) -> dict[str, npt.NDArray[Scalar]]:
        """The values of each name."""
        ordered, starts = values[self.order], self.starts.tolist()
        ends = [*starts[1:], len(ordered)]
        return {name: ordered[start:end] for name, start, end in zip(self.names, starts, ends, strict=False)}

    def sums(self, values: Values) -> dict[str, float]:
        """The sum of the values of each name; unknown ones count 0."""
        return self._reduced(np.add, np.nan_to_num(values))

    def maxima(self, values: Values) -> dict[str, float]:
        """The largest value of each name; NaN if all are unknown."""
        return self._reduced(np.fmax, values)

    def minima(self, values: Values) -> dict[str, float]:
        """The smallest value of each name; NaN if all are unknown."""
        return self._reduced(np.fmin, values)

    def _reduced(self, how: np.ufunc, values: Values) -> dict[str, float]:
        found = how.reduceat(values[self.order], self.starts).tolist() if self.names else []
        return dict(zip(self.names, found, strict=True))


def grouped(words: Words) -> Groups:
    """The groups of the rows of a column of names; rows without a name are in none."""
    order = np.argsort(words.codes, kind="stable")
    # Rows without a name have the code −1, and come first.
    nameless, *counts = np.bincount(words.codes + 1, minlength=1).tolist()
    present = {words.known[code]: count for code, count in enumerate(counts) if count}
    starts = np.array([0, *present.values()], dtype=np.intp).cumsum()[:-1]
    return Groups(list(present), order[nameless:], starts)
