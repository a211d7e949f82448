"""Tables as Parquet files. `tailback._core` writes them, those of every backend in one way (`crates/table`); pyarrow
reads them, and is imported when it does.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import _core
from tailback.results.errors import NotResults

if TYPE_CHECKING:
    import pandas as pd
    import polars

SUFFIX = ".parquet"

MANY_BYTES = 1_000_000
"""The size of a file from which its columns are read by several threads."""


def from_parquet(content: bytes) -> "pd.DataFrame":
    """The table of a Parquet file; text columns are plain text, not categories.

    Not by `pq.read_table`, which looks at each file as at a data set of many, and with threads only where there is much
    to do: a short table is read in a third of the time.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    threads = len(content) >= MANY_BYTES
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        frame = file.read(use_threads=threads).to_pandas(strings_to_categorical=False, use_threads=threads)
    return _plain_text(frame)


def from_parquet_as_written(content: bytes) -> _core.Table:
    """The table of a Parquet file, as the backend returned it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return _core.Table.of_arrow(file.read(use_threads=len(content) >= MANY_BYTES))


def columns_from_parquet(content: bytes, names: Sequence[str]) -> _core.Table:
    """The columns `names`, as far as the Parquet file has them; in a third of the time of a frame."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(pa.BufferReader(content)) as file:
        return _core.Table.of_arrow(file.read(columns=list(names), use_threads=len(content) >= MANY_BYTES))


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


def units(path: Path) -> dict[str, str]:
    """The units of the table in `path`, by column; a column without a unit is absent."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    metadata = {field.name: field.metadata or {} for field in schema}
    return {name: fields[b"unit"].decode() for name, fields in metadata.items() if b"unit" in fields}
