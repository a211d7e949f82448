"""What the Parquet file of a table must be before its rows are read: anybody may have made it.

The footer tells rows, columns and types, and costs nothing to read. A file that passes takes a bounded amount of
memory, and its columns are what their names say (`docs/tables.md`).
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from tailback import _core
from tailback.limits import CELLS_MAX, CELLS_PER_BYTE, COLUMNS_MAX, TEXT_MAX
from tailback.results import data_dictionary


class TableWrong(ValueError):
    """The file is not such a table; the message follows its name."""


LATEST_S = 1e8
"""The latest time in s that a row may have: three years."""


Kind: TypeAlias = Literal["number", "text", "null", "other"]

Form: TypeAlias = Sequence[tuple[str, str, Kind, str | None]]
"""For each column of a file its name, the type of its values, their kind, and its unit."""

_KNOWN: dict[str, Form] = {}
"""The last columns of the table of each name that passed: those of the runs of a sweep are the same."""


def check_footer(name: str, file: _core.TableFile, size: int) -> None:
    """Raises `TableWrong` if the table `name` in a file of `size` bytes is too large to read, or is another one."""
    form = file.columns
    if _KNOWN.get(name) != form:
        _check_form(name, form)
        _KNOWN[name] = form
    rows, columns = len(file), len(form)
    most = max(CELLS_MAX, size * CELLS_PER_BYTE)
    if rows * columns > most:
        raise TableWrong(f"has {rows} rows in {size} bytes, and a table of that size has at most {most // columns}")


def _check_form(name: str, form: Form) -> None:
    if len(form) > COLUMNS_MAX:
        raise TableWrong(f"has {len(form)} columns, more than the limit of {COLUMNS_MAX}")
    for column, type_, kind, _ in form:
        _check_type(name, column, type_, kind)
    names = [column for column, *_ in form]
    missing = [column for column in _always(name) if column not in names]
    if missing:
        raise TableWrong(f"lacks the column `{missing[0]}`")
    if len(set(names)) < len(names):
        raise TableWrong("has two columns with one name")


def _always(name: str) -> list[str]:
    """The columns that every table of this name has."""
    table = data_dictionary.tables().get(name)
    return [] if table is None else [column.name for column in table.columns if column.always]


def _check_type(name: str, column: str, type_: str, kind: Kind) -> None:
    if kind == "null":
        return
    known = name in data_dictionary.tables()
    wanted = (kind == ("text" if column in data_dictionary.words() else "number")) if known else kind != "other"
    if not wanted:
        what = ("words" if column in data_dictionary.words() else "numbers") if known else "numbers or words"
        raise TableWrong(f"has {type_} in the column `{column}` instead of {what}")


def check_times(table: _core.Table) -> None:
    """Raises `TableWrong` if a time of the column `t` is no number, or later than any run lasts."""
    if "t" not in table.names or not len(table):
        return
    # A row without a time is NaN here, of which no comparison holds.
    times = np.frombuffer(table.numbers("t"), dtype=np.float64)
    if not (times.min() >= -LATEST_S and times.max() <= LATEST_S):
        raise TableWrong("has rows without a time")


def wrong(error: _core.Unreadable) -> TableWrong:
    """What is wrong with a file whose rows cannot be read."""
    why, column, amount = error.args
    return TableWrong(
        {
            "long words": f"has {amount} bytes of words in the column `{column}`, more than the limit of {TEXT_MAX}",
            "no text": f"has words that are not UTF-8 in the column `{column}`",
            "other kind": f"has neither numbers nor words in the column `{column}`",
        }.get(why, "is not a complete Parquet file")
    )
