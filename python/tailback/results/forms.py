"""What the Parquet file of a table must be before its rows are read: anybody may have made it.

The footer tells rows, columns and types, and costs nothing to read. A file that passes takes a bounded amount of
memory, and its columns are what their names say (`docs/contracts.md`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

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
    "exchanges": "t flow end data_segs_out total_retrans",
    "sojourns": "t since device packets sojourn_ms",
    "objects": "t page object bytes loaded_ms",
    "video": "t video segment bitrate bytes buffer_ms fetch_ms waited_ms",
    "completions": "t flow completion_s",
    "losses": "t device lost",
    "radios": "t device what reason count",
    "wifi": "t from to mpdus received duration_us",
}
"""The columns that every table of this name has, whatever backend or import made it."""

TEXT = frozenset(
    ("flow", "end", "ping", "device", "kind", "what", "where", "reason", "page", "video", "from", "to", "closed_by",
     "ca_state", "held_by")
)  # fmt: skip
"""The columns of words; all others are numbers."""

LATEST_S = 1e8
"""The latest time in s that a row may have: three years."""


class Form(Struct, frozen=True):
    """The columns of a table that have passed the checks."""

    schema: "pa.Schema"
    words: tuple[int, ...]
    """The places of the columns that are no numbers."""


_KNOWN: dict[str, Form] = {}
"""The last form of the table of each name: those of the runs of a sweep are the same."""


def check_footer(name: str, file: "pq.ParquetFile", size: int) -> Form:
    """Raises `TableWrong` if the table `name` in a file of `size` bytes is too large to read, or is another one."""
    form = _form(name, file.schema_arrow)
    rows, columns = file.metadata.num_rows, len(form.schema)
    most = max(CELLS_MAX, size * CELLS_PER_BYTE)
    if rows * columns > most:
        raise TableWrong(f"has {rows} rows in {size} bytes, and a table of that size has at most {most // columns}")
    return form


def _form(name: str, schema: "pa.Schema") -> Form:
    known = _KNOWN.get(name)
    if known is not None and known.schema.equals(schema):
        return known
    if len(schema) > COLUMNS_MAX:
        raise TableWrong(f"has {len(schema)} columns, more than the limit of {COLUMNS_MAX}")
    for field in schema:
        _check_type(name, field)
    missing = [column for column in COLUMNS.get(name, "").split() if column not in schema.names]
    if missing:
        raise TableWrong(f"lacks the column `{missing[0]}`")
    if len(set(schema.names)) < len(schema):
        raise TableWrong("has two columns with one name")
    _KNOWN[name] = Form(schema, tuple(place for place, field in enumerate(schema) if not _is_number(field.type)))
    return _KNOWN[name]


def _is_number(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def long_words(file: "pq.ParquetFile", form: Form) -> list[str]:
    """The columns of text whose words, written out for each row, may be too large to read: those of which the number of
    rows times the size of all distinct words is.
    """
    metadata = file.metadata
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    return [
        form.schema.names[place]
        for place in form.words
        if sum(each.num_rows * each.column(place).total_uncompressed_size for each in groups) > TEXT_MAX
    ]


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
    if "t" not in table.column_names or not len(table):
        return
    # A row without a time is NaN here, of which no comparison holds.
    times = table["t"].to_numpy()
    if not (times.dtype.kind in "fiu" and times.min() >= -LATEST_S and times.max() <= LATEST_S):
        raise TableWrong("has rows without a time")


def check_text(table: "pa.Table") -> None:
    """Raises `TableWrong` if words are no text: Parquet does not check that they are UTF-8."""
    import pyarrow as pa

    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if not _is_number(kind):
            try:
                table[name].validate(full=True)
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
