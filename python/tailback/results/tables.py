"""Tables as Parquet files. `tailback._core` writes them, those of every backend in one way (`crates/table`); pyarrow
reads them, and is imported when it does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import _core
from tailback.results import forms, soundness
from tailback.results.errors import NotResults
from tailback.results.forms import TableWrong
from tailback.results.layout import TABLE

if TYPE_CHECKING:
    import pandas as pd
    import polars
    import pyarrow as pa

SUFFIX = TABLE

MANY_BYTES = 1_000_000
"""The size of a file from which its columns are read by several threads."""


def from_parquet(name: str, content: bytes) -> "pd.DataFrame":
    """The table `name` in a Parquet file; text columns are plain text, not categories."""
    return _frame(_read(name, content), threads=len(content) >= MANY_BYTES)


def to_frame(table: _core.Table) -> "pd.DataFrame":
    """A table of a run as a frame, as `from_parquet` gives that of its file."""
    return _frame(table.to_arrow(), threads=False)


def _frame(table: "pa.Table", *, threads: bool) -> "pd.DataFrame":
    return _plain_text(table.to_pandas(strings_to_categorical=False, use_threads=threads))


def from_parquet_as_written(name: str, content: bytes) -> _core.Table:
    """The table `name` in a Parquet file, as the backend returned it."""
    return _as_written(_read(name, content))


def of_run(folder: Path, name: str) -> _core.Table:
    """The table `name` in the folder of a run, as the backend returned it; raises `RunDamaged`."""
    file = f"{name}{SUFFIX}"
    with soundness.table_of(folder, file):
        return from_parquet_as_written(name, soundness.content(folder, file))


def columns_from_parquet(name: str, content: bytes, wanted: Sequence[str]) -> _core.Table:
    """The columns `wanted`, as far as the Parquet file has them; in a third of the time of a frame."""
    return _as_written(_read(name, content, wanted))


def _as_written(table: "pa.Table") -> _core.Table:
    try:
        return _core.Table.of_arrow(table)
    except ValueError as error:
        raise TableWrong(f"is not read: {error}") from error


def _read(name: str, content: bytes, wanted: Sequence[str] | None = None) -> "pa.Table":
    """The rows of a file that has passed the checks; raises `TableWrong`.

    Not by `pq.read_table`, which looks at each file as at a data set of many, and with threads only where there is much
    to do: a short table is read in a third of the time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            form = forms.check_footer(name, file, len(content))
            long = forms.long_words(file, form)
            if long:
                with pq.ParquetFile(pa.BufferReader(content), read_dictionary=long) as coded:
                    forms.check_words(coded, long)
            found = file.read(columns=None if wanted is None else list(wanted), use_threads=len(content) >= MANY_BYTES)
        forms.check_times(found)
        forms.check_text(found)
    except (pa.ArrowException, OSError) as error:
        raise TableWrong("is not a complete Parquet file") from error
    return found


def to_polars(frame: "pd.DataFrame") -> "polars.DataFrame":
    """`frame` as a polars frame; polars comes with `pip install tailback[polars]`."""
    try:
        import polars
    except ImportError as error:
        raise NotResults("polars is not installed\n  hint: pip install 'tailback[polars]'") from error
    return polars.from_pandas(frame)


def _plain_text(frame: "pd.DataFrame") -> "pd.DataFrame":
    """`frame` with categorical columns converted to text, so that grouping is the same for all tables."""
    import pandas as pd

    coded = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(coded, object)) if coded else frame


def units(content: bytes) -> dict[str, str]:
    """The units of the table in a Parquet file, by column; a column without a unit is absent."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise TableWrong("is not a complete Parquet file") from error
    return units_of(schema)


def units_of(schema: "pa.Schema") -> dict[str, str]:
    """The units of columns by their names."""
    metadata = {field.name: field.metadata or {} for field in schema}
    return {name: fields[b"unit"].decode() for name, fields in metadata.items() if b"unit" in fields}
