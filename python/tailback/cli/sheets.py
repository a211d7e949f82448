"""Tables to print, whatever their form: fields, rows of cells, a title. Imports no library of numbers."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

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


def to_four(value: float) -> str:
    """Four significant digits, in fixed notation."""
    # Imported here, because its package comes with a library of numbers.
    from tailback.analysis.digits import significant

    return significant(value, 4)


def number(value: float, shown: Callable[[float], str] = to_four, style: str = "") -> Cell:
    """A cell of a number."""
    return Cell(UNKNOWN if math.isnan(value) else shown(value), value, style=style)
