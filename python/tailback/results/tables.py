"""Tables as Parquet files: zstd, units in the column metadata, the same bytes for the same rows."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SUFFIX = ".parquet"

ROW_GROUP = 1 << 20
"""Rows of a row group. Fixed, so that the bytes do not depend on pyarrow's default."""


def to_parquet(table: pa.Table) -> bytes:
    """`table` as the bytes of a Parquet file."""
    sink = pa.BufferOutputStream()
    # Chunks of the Arrow stream would show in the file; one chunk per column does not.
    pq.write_table(table.combine_chunks(), sink, compression="zstd", row_group_size=ROW_GROUP)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_parquet(path: Path) -> pd.DataFrame:
    """The table in `path`, text columns as text."""
    frame: pd.DataFrame = pq.read_table(path).to_pandas(strings_to_categorical=False)
    return plain_text(frame)


def plain_text(frame: pd.DataFrame) -> pd.DataFrame:
    """`frame` with dictionary-encoded columns as ordinary ones, so that grouping treats all tables alike."""
    coded = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(coded, object)) if coded else frame


def units(path: Path) -> dict[str, str]:
    """Unit by column of the table in `path`; a column without one is absent."""
    schema = pq.read_schema(path)
    metadata = {field.name: field.metadata or {} for field in schema}
    return {name: fields[b"unit"].decode() for name, fields in metadata.items() if b"unit" in fields}
