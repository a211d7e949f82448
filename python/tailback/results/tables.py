"""Tables as Parquet files, which `tailback._core` writes and reads in one way for every backend (`crates/table`)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _core
from tailback.limits import TEXT_MAX
from tailback.results import forms, soundness
from tailback.results.errors import NotResults
from tailback.results.forms import TableWrong
from tailback.results.layout import TABLE

if TYPE_CHECKING:
    import pandas as pd
    import polars

SUFFIX = TABLE


def from_parquet(name: str, content: bytes) -> "pd.DataFrame":
    """The table `name` in a Parquet file; text columns are plain text, not categories."""
    return frame(_read(name, content))


def from_parquet_as_written(name: str, content: bytes) -> _core.Table:
    """The table `name` in a Parquet file, as the backend returned it."""
    return _read(name, content)


def of_run(folder: Path, name: str) -> _core.Table:
    """The table `name` in the folder of a run, as the backend returned it; raises `RunDamaged`."""
    file = f"{name}{SUFFIX}"
    with soundness.table_of(folder, file):
        return from_parquet_as_written(name, soundness.content(folder, file))


def columns_from_parquet(name: str, content: bytes, wanted: Sequence[str]) -> _core.Table:
    """The columns `wanted`, as far as the Parquet file has them; in a third of the time of a frame."""
    return _read(name, content, wanted)


def frame(table: _core.Table) -> "pd.DataFrame":
    """A table as a pandas frame: whole numbers of which some are unknown become floating point."""
    import pandas as pd

    return pd.DataFrame({name: _FRAMED[kind](table, name) for name, kind, _ in table.columns})


def _read(name: str, content: bytes, wanted: Sequence[str] | None = None) -> _core.Table:
    """The rows of a file that has passed the checks; raises `TableWrong`."""
    try:
        file = _core.TableFile(content)
        forms.check_footer(name, file, len(content))
        found = file.read(None if wanted is None else list(wanted), TEXT_MAX)
    except _core.Unreadable as error:
        raise forms.wrong(error) from error
    except RuntimeError as error:
        # A reader that gave up on what it found.
        raise TableWrong("is not a complete Parquet file") from error
    forms.check_times(found)
    return found


def _whole(kind: str) -> Callable[[_core.Table, str], Any]:
    def series(table: _core.Table, name: str) -> Any:
        import numpy as np

        values, present = table.exact(name)
        if present is not None:
            return _numbers(table, name)
        return np.frombuffer(values, dtype=kind)

    return series


def _numbers(table: _core.Table, name: str) -> Any:
    import numpy as np

    return np.frombuffer(table.numbers(name), dtype=np.float64)


def _flags(table: _core.Table, name: str) -> Any:
    import numpy as np

    values, present = table.exact(name)
    flags = np.frombuffer(values, dtype=np.bool_)
    if present is None:
        return flags
    known = np.frombuffer(present, dtype=np.bool_).tolist()
    return [flag if is_known else None for flag, is_known in zip(flags.tolist(), known, strict=True)]


def _text(table: _core.Table, name: str) -> Any:
    import numpy as np
    import pandas as pd

    places, known = table.words(name)
    # The last place is that of the code −1.
    words = np.array([*known, None], dtype=object)[np.frombuffer(places, dtype=np.int64)]
    return pd.Series(words.tolist(), dtype=object if not known else None)


def _nothing(table: _core.Table, _: str) -> Any:
    return [None] * len(table)


_FRAMED: dict[str, Callable[[_core.Table, str], Any]] = {
    "float64": _numbers,
    "uint64": _whole("uint64"),
    "int64": _whole("int64"),
    "boolean": _flags,
    "text": _text,
    "null": _nothing,
}
"""How a column becomes one of a frame, by the kind of its values."""


def to_polars(frame: "pd.DataFrame") -> "polars.DataFrame":
    """`frame` as a polars frame; polars comes with `pip install tailback[polars]`."""
    try:
        import polars

        return polars.from_pandas(frame)
    except ImportError as error:
        missing = error.name or "polars"
        raise NotResults(f"{missing} is not installed\n  hint: pip install 'tailback[polars]'") from error


def units(content: bytes) -> dict[str, str]:
    """The units of the table in a Parquet file, by column; a column without a unit is absent."""
    try:
        return {name: unit for name, *_, unit in _core.TableFile(content).columns if unit is not None}
    except (_core.Unreadable, RuntimeError) as error:
        raise TableWrong("is not a complete Parquet file") from error
