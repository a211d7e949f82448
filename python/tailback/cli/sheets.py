"""Tables to print, whatever their form: fields, rows of cells, a title. Imports no library of numbers."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from tailback.analysis import intervals

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
    """How much it matters: the lower, the more (`analysis.choosing`)."""
    kept: bool = True
    """Whether every table has it, however narrow."""
    family: str = ""
    """What it has in common with others, which stand in one part of a broken table where they fit: its metric."""

    @property
    def heading(self) -> str:
        """The title with the unit, on one line: `goodput (Mbit/s)`."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


class Interval(Struct, frozen=True):
    """An interval that the text of a cell does not have yet, because its form is that of the column (`written`)."""

    mean: float
    ends: tuple[float, float]
    digits: str
    """The format of its numbers."""
    unit: str = ""
    """What stands behind it."""


class Cell(Struct, frozen=True):
    """A cell, as text and as a value."""

    text: str
    value: float | str | None = None
    """What CSV has instead of the text; NaN is unknown."""
    ends: tuple[float, float] = (math.nan, math.nan)
    """The ends of its interval."""
    style: str = ""
    interval: Interval | None = None


class Sheet(Struct, frozen=True):
    """A table."""

    title: str
    fields: Sequence[Field]
    rows: Sequence[Sequence[Cell]]
    remarks: Sequence[str] = ()
    """What is said about its numbers."""
    about: Callable[[Collection[str]], Sequence[str]] | None = None
    """What is said about the columns with these titles."""

    def said(self, left_out: Collection[int] = ()) -> list[str]:
        """What is said below the table without these columns, which are places among the fields."""
        shown = {field.title for place, field in enumerate(self.fields) if place not in left_out}
        return [*self.remarks, *(() if self.about is None else self.about(shown))]


def written(sheet: Sheet) -> Sheet:
    """The table with the intervals in the text of its cells, in one form in each column: `±0.3`, or `[0.41, 1]` if one
    of the column ends where the possible values end.
    """
    if all(cell.interval is None for row in sheet.rows for cell in row):
        return sheet
    columns = [_in_one_form(column) for column in zip(*sheet.rows, strict=True)]
    return replace(sheet, rows=list(zip(*columns, strict=True)))


def has_both_ends(sheet: Sheet) -> bool:
    """Whether `written` writes both ends of an interval."""
    return any(_form(column) == "[]" for column in zip(*sheet.rows, strict=True))


def _form(cells: Sequence[Cell]) -> "intervals.Form":
    # Imported here, because its package comes with a library of numbers.
    from tailback.analysis import intervals

    return intervals.form_of((each.mean, each.ends, each.digits) for each in (cell.interval for cell in cells) if each)


def _in_one_form(cells: Sequence[Cell]) -> list[Cell]:
    from tailback.analysis.intervals import spread_in_words

    form = _form(cells)

    def whole(cell: Cell, own: Interval) -> Cell:
        spread = "" if math.isnan(own.ends[0]) else spread_in_words(own.mean, own.ends, own.digits, form)
        return replace(cell, text=" ".join(filter(None, (cell.text, spread, own.unit))), interval=None)

    return [cell if cell.interval is None else whole(cell, cell.interval) for cell in cells]


def words(*texts: str, style: str = "") -> list[Cell]:
    """Cells of text."""
    return [Cell(text, style=style) for text in texts]


def keys(names: Sequence[str] | Mapping[str, object]) -> list[Field]:
    """The columns of axes."""
    return [Field(name, "key") for name in names]


def to_four(value: float) -> str:
    """Four significant digits, in fixed notation."""
    # Imported here, because its package comes with a library of numbers.
    from tailback.analysis.digits import significant

    return significant(value, 4)


def number(value: float, shown: Callable[[float], str] = to_four, style: str = "") -> Cell:
    """A cell of a number."""
    return Cell(UNKNOWN if math.isnan(value) else shown(value), value, style=style)
