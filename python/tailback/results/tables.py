"""Tables as Parquet files: compressed, units in the column metadata, identical bytes for identical rows.

How a column is written depends on its kind. The file says it for each column, so that a reader need not know:

    text        a dictionary
    integers    differences between neighbours (DELTA_BINARY_PACKED): most of them are counters
    floats      the first byte of each value, then the second of each, … (BYTE_STREAM_SPLIT)

Long tables are compressed by zstd. In short ones, which most are, to set up zstd for each column would take longer than
to compress it; Snappy makes hardly more of columns that are written this way. Only long tables have the least and the
greatest value of each column, by which readers skip what they need not read.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from tailback.results.errors import NotResults

if TYPE_CHECKING:
    import pandas as pd
    import polars

SUFFIX = ".parquet"

LONG = 10_000
"""Rows from which a table is long."""

ROW_GROUP = 1 << 20
"""Rows per row group; fixed, so that the bytes do not depend on pyarrow's default."""


def to_parquet(table: pa.Table) -> bytes:
    """`table` as the bytes of a Parquet file."""
    sink, is_long = pa.BufferOutputStream(), table.num_rows >= LONG
    kinds = {field.name: field.type for field in table.schema}
    text = [name for name, kind in kinds.items() if types.is_string(kind)]
    integers = [name for name, kind in kinds.items() if types.is_integer(kind)]
    floats = [name for name, kind in kinds.items() if types.is_floating(kind)]
    # Combined, because the chunks of the Arrow stream would change the file.
    pq.write_table(
        table.combine_chunks(),
        sink,
        row_group_size=ROW_GROUP,
        # Numbers seldom repeat so often that a dictionary of them would be shorter.
        use_dictionary=text,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED") | dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
        compression="zstd" if is_long else "snappy",
        write_statistics=is_long,
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def from_parquet(content: bytes) -> "pd.DataFrame":
    """The table of a Parquet file; text columns are plain text, not categories."""
    frame = pq.read_table(pa.BufferReader(content)).to_pandas(strings_to_categorical=False)
    return _plain_text(frame)


def to_polars(frame: "pd.DataFrame") -> "polars.DataFrame":
    """`frame` as a polars frame; polars comes with `pip install tailback[polars]`."""
    try:
        import polars
    except ImportError as error:
        raise NotResults("polars is not installed\n  hint: pip install 'tailback[polars]'") from error
    return polars.from_pandas(frame)


def _plain_text(frame: "pd.DataFrame") -> "pd.DataFrame":
    """`frame` with categorical columns converted to text, so that grouping is the same for all tables."""
    # Imported here, because `tailback run` only writes tables.
    import pandas as pd

    coded = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(coded, object)) if coded else frame


def units(path: Path) -> dict[str, str]:
    """The units of the table in `path`, by column; a column without a unit is absent."""
    schema = pq.read_schema(path)
    metadata = {field.name: field.metadata or {} for field in schema}
    return {name: fields[b"unit"].decode() for name, fields in metadata.items() if b"unit" in fields}
