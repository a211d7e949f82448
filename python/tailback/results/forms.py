"""What the Parquet file of a table must be before its rows are read: anybody may have made it.

The footer tells rows, columns and types, and costs nothing to read. A file that passes takes a bounded amount of
memory, and its columns are what their names say (`docs/contracts.md`).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tailback import _core
from tailback.limits import CELLS_MAX, CELLS_PER_BYTE, COLUMNS_MAX, TEXT_MAX


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
    "packets": "t device flow packet what bytes dequeued sent ended end",
    "mpdus": "t from packet received",
    "senders": "t flow held_by snd_cwnd unacked",
}
"""The columns that every table of this name has, whatever backend or import made it."""

TEXT = frozenset(
    ("flow", "end", "ping", "device", "kind", "what", "where", "reason", "page", "video", "from", "to", "closed_by",
     "ca_state", "held_by", "ecn")
)  # fmt: skip
"""The columns of words; all others are numbers."""

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
    missing = [column for column in COLUMNS.get(name, "").split() if column not in names]
    if missing:
        raise TableWrong(f"lacks the column `{missing[0]}`")
    if len(set(names)) < len(names):
        raise TableWrong("has two columns with one name")


def _check_type(name: str, column: str, type_: str, kind: Kind) -> None:
    if kind == "null":
        return
    known = name in COLUMNS
    wanted = (kind == ("text" if column in TEXT else "number")) if known else kind != "other"
    if not wanted:
        what = ("words" if column in TEXT else "numbers") if known else "numbers or words"
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
