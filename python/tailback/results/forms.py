"""What the Parquet file of a table must be before its rows are read: anybody may have made it.

The footer tells rows, columns and types, and costs nothing to read. A file that passes takes a bounded amount of
memory, and its columns are what their names say (`docs/contracts.md`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tailback.limits import CELLS_MAX, CELLS_PER_BYTE, COLUMNS_MAX, TEXT_MAX

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class TableWrong(ValueError):
    """The file is not such a table; the message follows its name."""


COLUMNS: Mapping[str, str] = {
    "flows": "t flow bytes",
    "tcp_info": "t flow snd_cwnd rtt",
    "ping": "t ping rtt_ms",
    "qdisc": "t device kind depth backlog_bytes backlog_packets sent_bytes sent_packets dropped marked",
    "events": "t what where flow",
    "udp": "t flow sent received delay_ms longest_ms",
    "datagrams": "t flow delay_ms",
    "requests": "t flow seq bytes latency_ms",
    "objects": "t page object bytes loaded_ms",
    "video": "t video segment bitrate bytes buffer_ms fetch_ms waited_ms",
    "completions": "t flow completion_s",
    "losses": "t device lost",
    "radios": "t device what reason count",
    "wifi": "t from to mpdus received duration_us",
}
"""The columns that every table of this name has, whatever backend or import made it."""

TEXT = frozenset(
    ("flow", "ping", "device", "kind", "what", "where", "reason", "page", "video", "from", "to", "closed_by",
     "ca_state", "held_by")
)  # fmt: skip
"""The columns of words; all others are numbers."""

LATEST_S = 1e8
"""The latest time in s that a row may have: three years."""


def check_footer(name: str, file: "pq.ParquetFile", size: int) -> None:
    """Raises `TableWrong` if the table `name` in a file of `size` bytes is too large to read, or is another one."""
    schema = file.schema_arrow
    if len(schema) > COLUMNS_MAX:
        raise TableWrong(f"has {len(schema)} columns, more than the limit of {COLUMNS_MAX}")
    for field in schema:
        _check_type(name, field)
    missing = [column for column in COLUMNS.get(name, "").split() if column not in schema.names]
    if missing:
        raise TableWrong(f"lacks the column `{missing[0]}`")
    if len(set(schema.names)) < len(schema):
        raise TableWrong("has two columns with one name")
    cells = file.metadata.num_rows * len(schema)
    if cells > max(CELLS_MAX, size * CELLS_PER_BYTE):
        raise TableWrong(
            f"has {file.metadata.num_rows} rows in {size} bytes, and a table of that size has at most "
            f"{max(CELLS_MAX, size * CELLS_PER_BYTE) // len(schema)}"
        )


def long_words(file: "pq.ParquetFile") -> list[str]:
    """The columns of text whose words, written out for each row, may be too large to read: those of which the number of
    rows times the size of all distinct words is.
    """
    import pyarrow as pa

    found = []
    for place, field in enumerate(file.schema_arrow):
        if not pa.types.is_floating(field.type) and not pa.types.is_integer(field.type):
            groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
            if sum(each.num_rows * each.column(place).total_uncompressed_size for each in groups) > TEXT_MAX:
                found.append(field.name)
    return found


def check_words(file: "pq.ParquetFile", columns: list[str]) -> None:
    """Raises `TableWrong` if the words of these columns are too long to be written out for each row. `file` has been
    opened so that it reads them as places in a dictionary.
    """
    import pyarrow.compute as pc

    for name, column in zip(columns, file.read(columns=columns).columns, strict=True):
        total = 0
        for chunk in column.chunks:
            lengths = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
            total += pc.sum(pc.cast(lengths, "int64")).as_py() or 0
        if total > TEXT_MAX:
            raise TableWrong(f"has {total} bytes of words in the column `{name}`, more than the limit of {TEXT_MAX}")


def check_times(table: "pa.Table") -> None:
    """Raises `TableWrong` if a time of the column `t` is no number, or later than any run lasts."""
    import pyarrow.compute as pc

    if "t" not in table.column_names or not len(table):
        return
    times = table["t"]
    ends = pc.min_max(times).as_py()
    known = ends["min"] is not None and not times.null_count
    # NaN is skipped by min and max, but not by the sum.
    if not known or max(-ends["min"], ends["max"]) > LATEST_S or pc.sum(times).as_py() != pc.sum(times).as_py():
        raise TableWrong("has rows without a time")


def check_text(table: "pa.Table") -> None:
    """Raises `TableWrong` if words are no text: Parquet does not check that they are UTF-8."""
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                raise TableWrong(f"has words that are not UTF-8 in the column `{name}`") from None


def _check_type(name: str, field: "pa.Field") -> None:
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_null(kind):
        return
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    known = name in COLUMNS
    wanted = (is_text if field.name in TEXT else is_number) if known else (is_text or is_number)
    if not wanted:
        what = ("words" if field.name in TEXT else "numbers") if known else "numbers or words"
        raise TableWrong(f"has {field.type} in the column `{field.name}` instead of {what}")
