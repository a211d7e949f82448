"""A table of a run, with its columns as arrays.

Metrics take a table of any kind (`Columns`): that of a run, a pandas frame, or a mapping of names to arrays. A column
becomes an array when a metric first needs it; a summary needs five of the many columns of `tcp_info`. pandas and Arrow
are not imported, because that takes longer than to summarise ten runs.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from tailback import _core

if TYPE_CHECKING:
    import pandas as pd

NANOSECONDS = 1_000_000_000

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]
Rows: TypeAlias = slice | Mask | Places
"""Some of the rows of a table."""
Columns: TypeAlias = Union["Table", "pd.DataFrame", _core.Table, Mapping[str, Any]]
"""What can be read as a table."""


class Words(Struct, frozen=True):
    """A column of text."""

    codes: Places
    """For each row, the place of its word in `known`; −1 if it has none."""
    known: list[str]
    """The words of the whole table in alphabetical order."""

    def are(self, word: str) -> Mask:
        """The rows with this word."""
        return self.among((word,))

    def among(self, words: Collection[str]) -> Mask:
        """The rows with one of these words."""
        these = frozenset(words)
        # The last place is that of the code −1.
        wanted = np.array([*(word in these for word in self.known), False], dtype=np.bool_)
        return np.asarray(wanted[self.codes])

    def present(self) -> list[str]:
        """The words of these rows, in alphabetical order."""
        # Not `np.unique`, which imports numpy's masked arrays.
        counts = np.bincount(self.codes + 1, minlength=1)
        return [self.known[code] for code in np.flatnonzero(counts[1:])]

    def ranks(self) -> Places:
        """For each row, the place of its word in `present()`; −1 if it has none."""
        # The last place is that of the code −1.
        here = np.zeros(len(self.known) + 1, dtype=np.bool_)
        here[self.codes] = True
        ranks = np.cumsum(here[:-1]) - 1
        return np.append(ranks, -1)[self.codes]

    def plain(self) -> list[str | None]:
        """The word of each row."""
        words = [*self.known, None]
        return [words[code] for code in self.codes.tolist()]

    def __getitem__(self, rows: Rows) -> "Words":
        return Words(self.codes[rows], self.known)


class Whole(Struct, eq=False, dict=True):
    """All rows of a table. Each column is converted once."""

    columns: "pd.DataFrame | _core.Table | Mapping[str, Any]"
    _numbers: dict[str, Values] = field(default_factory=dict)
    _words: dict[str, Words] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns."""
        return self.columns.names if isinstance(self.columns, _core.Table) else list(self.columns.keys())

    def __len__(self) -> int:
        if isinstance(self.columns, _core.Table):
            return len(self.columns)
        return len(self.columns[self.names[0]]) if self.names else 0

    def numbers(self, name: str) -> Values:
        """A column as floating point; unknown values are NaN."""
        if name not in self._numbers:
            self._numbers[name] = _numbers(self.columns, name)
        return self._numbers[name]

    def words(self, name: str) -> Words:
        """A column of text."""
        if name not in self._words:
            self._words[name] = _words(self.columns, name)
        return self._words[name]

    @cached_property
    def t_ns(self) -> npt.NDArray[np.int64]:
        """Column `t` (s) as whole nanoseconds."""
        return np.asarray(np.rint(self.numbers("t") * NANOSECONDS), dtype=np.int64)

    @cached_property
    def in_order(self) -> bool:
        """Whether `t` never decreases."""
        return bool((self.t_ns[1:] >= self.t_ns[:-1]).all())


def _numbers(columns: "pd.DataFrame | _core.Table | Mapping[str, Any]", name: str) -> Values:
    if isinstance(columns, _core.Table):
        return np.frombuffer(columns.numbers(name), dtype=np.float64)
    return np.asarray(columns[name], dtype=np.float64)


def _words(columns: "pd.DataFrame | _core.Table | Mapping[str, Any]", name: str) -> Words:
    if isinstance(columns, _core.Table):
        places, known = columns.words(name)
        return Words(np.frombuffer(places, dtype=np.int64).astype(np.intp, copy=False), known)
    words = np.asarray(columns[name], dtype=object).tolist()
    distinct = dict.fromkeys(words, -1)
    known = sorted(word for word in distinct if isinstance(word, str))
    codes = {**distinct, **{word: code for code, word in enumerate(known)}}
    return Words(np.fromiter(map(codes.__getitem__, words), np.intp, len(words)), known)


class Table(Struct, frozen=True, eq=False):
    """Some or all rows of a table."""

    whole: Whole
    rows: slice | Places

    @staticmethod
    def of(columns: Columns) -> "Table":
        """These columns as a table."""
        return columns if isinstance(columns, Table) else Table(Whole(columns), slice(None))

    def __contains__(self, name: str) -> bool:
        return name in self.whole.names

    def __len__(self) -> int:
        return len(self._places)

    def numbers(self, name: str) -> Values:
        """A column as floating point; unknown values are NaN."""
        return self.whole.numbers(name)[self.rows]

    def words(self, name: str) -> Words:
        """A column of text."""
        return self.whole.words(name)[self.rows]

    @property
    def t_ns(self) -> npt.NDArray[np.int64]:
        """Column `t` (s) as whole nanoseconds."""
        return self.whole.t_ns[self.rows]

    def where(self, rows: Rows) -> "Table":
        """These of its rows: those that a mask selects, or their places in a new order."""
        return Table(self.whole, self._places[rows])

    def known(self, name: str) -> "Table":
        """The rows that have a number in this column."""
        return self.where(~np.isnan(self.numbers(name)))

    def between(self, start_ns: int, end_ns: int) -> "Table":
        """The rows whose `t` is `start_ns` or later, and before `end_ns`."""
        t = self.t_ns
        if isinstance(self.rows, slice) and self.whole.in_order:
            # Tables are written in order, and a slice copies nothing.
            first, after = (np.searchsorted(t, (start_ns, end_ns)) + (self.rows.start or 0)).tolist()
            return Table(self.whole, slice(first, after))
        return self.where((t >= start_ns) & (t < end_ns))

    @property
    def _places(self) -> Places:
        """The places of its rows in the whole table."""
        return np.arange(len(self.whole))[self.rows]


def frame(content: Mapping[str, Any] | Sequence[Any], columns: list[str] | None = None) -> "pd.DataFrame":
    """Columns by name, or rows, as a pandas frame, which users of the package get."""
    import pandas as pd

    return pd.DataFrame(content, columns=columns)
