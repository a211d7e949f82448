"""Tables to print, whatever their form: fields, rows of cells, a title."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from tailback.analysis.choosing import ABOUT, Chosen
from tailback.analysis.intervals import spread_in_words
from tailback.analysis.metric import Column
from tailback.analysis.repetitions import Configuration, Mean

Role = Literal["key", "name", "number", "text", "hidden"]
"""`key`: names the configuration of a row; `name`: names the row, beside its key; `number`; `text` may be wrapped; a
`hidden` number is in CSV only.
"""

UNKNOWN = "–"
"""Instead of a number that is not known."""


class Field(Struct, frozen=True):
    """A column of a table."""

    title: str
    role: Role = "number"
    unit: str = ""
    spread: bool = False
    """Whether its cells have ends of an interval; CSV has columns for them."""
    rank: float = 0.0
    """How much it matters (`analysis.choosing`): a narrow table may leave out what ranks below `ABOUT`."""

    @property
    def kept(self) -> bool:
        """Whether every table has it, however narrow."""
        return self.rank <= ABOUT

    @property
    def heading(self) -> str:
        """The title with the unit, on one line: `goodput (Mbit/s)`."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


class Cell(Struct, frozen=True):
    """A cell, as text and as a value."""

    text: str
    value: float | str | None = None
    """What CSV has instead of the text; NaN is unknown."""
    ends: tuple[float, float] = (math.nan, math.nan)
    """The ends of its interval."""
    style: str = ""


class Sheet(Struct, frozen=True):
    """A table."""

    title: str
    fields: Sequence[Field]
    rows: Sequence[Sequence[Cell]]
    remarks: Sequence[str] = ()
    """What is said about its numbers."""


def words(*texts: str, style: str = "") -> list[Cell]:
    """Cells of text."""
    return [Cell(text, style=style) for text in texts]


def keys(names: Sequence[str] | Mapping[str, object]) -> list[Field]:
    """The columns of axes."""
    return [Field(name, "key") for name in names]


def number(value: float, shown: Callable[[float], str] = "{:.4g}".format, style: str = "") -> Cell:
    """A cell of a number."""
    return Cell(UNKNOWN if math.isnan(value) else shown(value), value, style=style)


def of_configurations(rows: Sequence[Configuration], columns: Sequence[Chosen], title: str) -> Sheet:
    """The means of configurations: a row for each, with the axes and the columns."""
    counts = len({row.runs for row in rows}) > 1
    repeated = any(row.runs > 1 for row in rows)
    fields = [
        *keys(rows[0].axes),
        *[Field("runs")] * counts,
        *(Field(each.column.title, unit=each.column.unit, spread=repeated, rank=each.rank) for each in columns),
    ]
    cells = [
        [*words(*row.axes.values()), *[Cell(str(row.runs), row.runs)] * counts, *_means(row, columns)] for row in rows
    ]
    return Sheet(title, fields, cells, ["means over repetitions, ± half their 95 % interval"] if repeated else [])


def _means(row: Configuration, columns: Sequence[Chosen]) -> list[Cell]:
    return [_mean(row.means[each.column.title], each.column) for each in columns]


def _mean(found: Mean, column: Column) -> Cell:
    if math.isnan(found.mean):
        return Cell(UNKNOWN, math.nan)
    decimals = _decimals(found.mean) if column.decimals is None else column.decimals
    text = f"{found.mean:.{decimals}f}"
    if math.isnan(found.high):
        return Cell(text, found.mean)
    ends = (found.low, found.high)
    return Cell(f"{text} {spread_in_words(found.mean, ends, f'.{decimals}f')}", found.mean, ends)


def _decimals(value: float) -> int:
    """Decimal places for three significant digits, at most three."""
    if value == 0:
        return 0
    return min(max(0, 2 - math.floor(math.log10(abs(value)))), 3)
