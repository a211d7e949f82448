"""Tables as Parquet files. `tailback._core` writes them, those of every backend in one way (`crates/table`); pyarrow
reads them, and is imported when it does.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from tailback.results.errors import NotResults

if TYPE_CHECKING:
    import pandas as pd
    import polars

SUFFIX = ".parquet"


def from_parquet(content: bytes) -> "pd.DataFrame":
    """The table of a Parquet file; text columns are plain text, not categories."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
    import pandas as pd

    coded = [name for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(coded, object)) if coded else frame


def units(path: Path) -> dict[str, str]:
    """The units of the table in `path`, by column; a column without a unit is absent."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    metadata = {field.name: field.metadata or {} for field in schema}
    return {name: fields[b"unit"].decode() for name, fields in metadata.items() if b"unit" in fields}
