"""Converts the agent's output to the tables of `docs/contracts.md`.

Datagrams are counted at both ends, on a testbed by different machines: rows of the same time are added up. The table
`udp` exists only if there were any, `datagrams` only if any were those of calls or games, and `delays` only if any were
not.

A kernel does not report why TCP did not send (`held_by` and the times `held_…` are absent from `tcp_info`), nor how
long queues were between samples (`max_backlog_…` are absent from `qdisc`), nor single drops (there is no table
`events`, but `qdisc` counts them). The start and end of flows with `bytes`, which are in `events` of the simulator, are
in `completions`. The marks of a discipline without such a counter are null.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tailback import _core

TEXT, COUNT, NUMBER = pa.string(), pa.uint64(), pa.float64()

COLUMNS: Mapping[str, Mapping[str, tuple[pa.DataType, str]]] = {
    "flows": {"t": (NUMBER, "s"), "flow": (TEXT, ""), "bytes": (COUNT, "B")},
    "tcp_info": {
        "t": (NUMBER, "s"),
        "flow": (TEXT, ""),
        "ca_state": (TEXT, ""),
        "snd_cwnd": (COUNT, "segments"),
        "snd_ssthresh": (COUNT, "segments"),
        "rtt": (COUNT, "µs"),
        "rttvar": (COUNT, "µs"),
        "min_rtt": (COUNT, "µs"),
        "rto": (COUNT, "µs"),
        "pacing_rate": (COUNT, "B/s"),
        "delivery_rate": (COUNT, "B/s"),
        "bytes_acked": (COUNT, "B"),
        "bytes_sent": (COUNT, "B"),
        "bytes_retrans": (COUNT, "B"),
        "total_retrans": (COUNT, "segments"),
        "unacked": (COUNT, "segments"),
        "sacked": (COUNT, "segments"),
        "lost": (COUNT, "segments"),
        "retrans": (COUNT, "segments"),
        "reordering": (COUNT, "segments"),
        "notsent_bytes": (COUNT, "B"),
        "snd_wnd": (COUNT, "B"),
        "delivered": (COUNT, "segments"),
        "busy_time": (COUNT, "µs"),
        "rwnd_limited": (COUNT, "µs"),
        "sndbuf_limited": (COUNT, "µs"),
        "wmem_alloc": (COUNT, "B"),
        "wmem_queued": (COUNT, "B"),
        "sndbuf": (COUNT, "B"),
        "bbr_bw": (COUNT, "B/s"),
        "bbr_min_rtt": (COUNT, "µs"),
        "bbr_pacing_gain": (NUMBER, ""),
        "bbr_cwnd_gain": (NUMBER, ""),
        "data_segs_out": (COUNT, "segments"),
    },
    "ping": {"t": (NUMBER, "s"), "ping": (TEXT, ""), "seq": (COUNT, ""), "rtt_ms": (NUMBER, "ms")},
    "qdisc": {
        "t": (NUMBER, "s"),
        "device": (TEXT, ""),
        "kind": (TEXT, ""),
        "depth": (COUNT, ""),
        "backlog_bytes": (COUNT, "B"),
        "backlog_packets": (COUNT, "packets"),
        "sent_bytes": (COUNT, "B"),
        "sent_packets": (COUNT, "packets"),
        "dropped": (COUNT, "packets"),
        "overlimits": (COUNT, ""),
        "requeues": (COUNT, ""),
        "marked": (COUNT, "packets"),
    },
}
"""Columns of each table with type and unit."""

UDP: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "sent": (COUNT, "packets"),
    "received": (COUNT, "packets"),
    "delay_ms": (NUMBER, "ms"),
    "longest_ms": (NUMBER, "ms"),
}

DELAYS: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "packets": (COUNT, "packets"),
    "delay_ms": (NUMBER, "ms"),
    "shortest_ms": (NUMBER, "ms"),
    "longest_ms": (NUMBER, "ms"),
}

EACH: Mapping[str, tuple[pa.DataType, str]] = {"t": (NUMBER, "s"), "flow": (TEXT, ""), "delay_ms": (NUMBER, "ms")}
"""The columns of `datagrams`."""

COMPLETIONS: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "completion_s": (NUMBER, "s"),
}

REQUESTS: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "seq": (COUNT, ""),
    "bytes": (COUNT, "B"),
    "latency_ms": (NUMBER, "ms"),
}

EXCHANGES: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "end": (TEXT, ""),
    "data_segs_out": (COUNT, "segments"),
    "total_retrans": (COUNT, "segments"),
}

OBJECTS: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "page": (TEXT, ""),
    "object": (COUNT, ""),
    "bytes": (COUNT, "B"),
    "loaded_ms": (NUMBER, "ms"),
}

VIDEO: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "video": (TEXT, ""),
    "segment": (COUNT, ""),
    "bitrate": (COUNT, "bit/s"),
    "bytes": (COUNT, "B"),
    "buffer_ms": (NUMBER, "ms"),
    "fetch_ms": (NUMBER, "ms"),
    "waited_ms": (NUMBER, "ms"),
}

LOSSES: Mapping[str, tuple[pa.DataType, str]] = {"t": (NUMBER, "s"), "device": (TEXT, ""), "lost": (COUNT, "packets")}
"""The columns of `losses`."""

RADIOS: Mapping[str, tuple[pa.DataType, str]] = {
    "t": (NUMBER, "s"),
    "device": (TEXT, ""),
    "what": (TEXT, ""),
    "reason": (TEXT, ""),
    "count": (COUNT, "packets"),
}
"""The columns of `radios`."""

SIGNED = pa.int64()
"""One-way delays between two machines may be negative."""

DATAGRAMS = {
    "t_ns": SIGNED,
    "flow": TEXT,
    "sent": COUNT,
    "received": COUNT,
    "delay_sum_ns": SIGNED,
    "longest_ns": SIGNED,
}

SCALED = {
    "t": ("t_ns", 1e9),
    "rtt_ms": ("rtt_ns", 1e6),
    "latency_ms": ("latency_ns", 1e6),
    "loaded_ms": ("loaded_ns", 1e6),
    "buffer_ms": ("buffer_ns", 1e6),
    "fetch_ms": ("fetch_ns", 1e6),
    "waited_ms": ("waited_ns", 1e6),
    "completion_s": ("completion_ns", 1e9),
}
"""Columns that the agent writes in ns: their name there, and the number of ns in their unit."""


def read_tables(folder: Path) -> dict[str, pa.Table]:
    """All tables of a run."""
    found = {name: read_table(folder, name, columns) for name, columns in COLUMNS.items()}
    more = {
        "udp": _read_datagrams(folder / "datagrams.csv"),
        "delays": _read_delays(folder / "delays.csv"),
        "datagrams": _read_arrivals(folder / "arrivals.csv"),
        "completions": read_table(folder, "completions", COMPLETIONS),
        "requests": read_table(folder, "requests", REQUESTS),
        "exchanges": read_table(folder, "exchanges", EXCHANGES),
        "objects": read_table(folder, "objects", OBJECTS),
        "video": read_table(folder, "video", VIDEO),
        "losses": read_table(folder, "losses", LOSSES),
        "radios": read_table(folder, "radios", RADIOS),
    }
    return found | {name: table for name, table in more.items() if table.num_rows}


def recorded(found: Mapping[str, pa.Table]) -> dict[str, _core.Table]:
    """The tables as every backend gives them back."""
    return {name: _core.Table.of_arrow(table) for name, table in found.items()}


def read_table(folder: Path, name: str, columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Table:
    """One table of a run."""
    return _read(folder / f"{name}.csv", columns)


def read_segments(folder: Path) -> int:
    """The number of TCP data segments sent by all flows, including retransmissions."""
    counted = csv.read_csv(folder / "segments.csv", convert_options=csv.ConvertOptions(column_types={"flow": TEXT}))
    return sum(counted["data_segs_out"].to_pylist())


def _read_datagrams(file: Path) -> pa.Table:
    """The table `udp`; the mean delay is that of the datagrams that arrived in the interval."""
    read = csv.read_csv(file, convert_options=csv.ConvertOptions(column_types=DATAGRAMS))
    ways = [("sent", "sum"), ("received", "sum"), ("delay_sum_ns", "sum"), ("longest_ns", "max")]
    both = read.group_by(["t_ns", "flow"], use_threads=False).aggregate(ways)
    none = pc.equal(both["received_sum"], 0)
    mean_ns = pc.divide(pc.cast(both["delay_sum_ns_sum"], NUMBER), pc.cast(both["received_sum"], NUMBER))
    values = {
        "t": pc.divide(pc.cast(both["t_ns"], NUMBER), 1e9),
        "flow": both["flow"],
        "sent": both["sent_sum"],
        "received": both["received_sum"],
        "delay_ms": pc.divide(pc.if_else(none, None, mean_ns), 1e6),
        "longest_ms": pc.divide(pc.cast(both["longest_ns_max"], NUMBER), 1e6),
    }
    return _table(values, UDP)


def _read_delays(file: Path) -> pa.Table:
    """The table `delays`."""
    types = {
        "t_ns": SIGNED,
        "flow": TEXT,
        "packets": COUNT,
        **dict.fromkeys(("sum_ns", "shortest_ns", "longest_ns"), SIGNED),
    }
    read = csv.read_csv(file, convert_options=csv.ConvertOptions(column_types=types))
    ns = {name: pc.cast(read[name], NUMBER) for name in ("t_ns", "sum_ns", "shortest_ns", "longest_ns")}
    mean_ns = pc.divide(ns["sum_ns"], pc.cast(read["packets"], NUMBER))
    values = {
        "t": pc.divide(ns["t_ns"], 1e9),
        "flow": read["flow"],
        "packets": read["packets"],
        "delay_ms": pc.divide(mean_ns, 1e6),
        "shortest_ms": pc.divide(ns["shortest_ns"], 1e6),
        "longest_ms": pc.divide(ns["longest_ns"], 1e6),
    }
    return _table(values, DELAYS)


def _read_arrivals(file: Path) -> pa.Table:
    """The table `datagrams`."""
    types = {"t_ns": SIGNED, "flow": TEXT, "delay_ns": SIGNED}
    read = csv.read_csv(file, convert_options=csv.ConvertOptions(column_types=types))
    seconds, delays = (pc.cast(read[name], NUMBER) for name in ("t_ns", "delay_ns"))
    return _table({"t": pc.divide(seconds, 1e9), "flow": read["flow"], "delay_ms": pc.divide(delays, 1e6)}, EACH)


def schema_of(columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Schema:
    """The schema of a table, with the unit of each column."""
    return pa.schema([pa.field(name, kind, metadata={"unit": unit}) for name, (kind, unit) in columns.items()])


def _table(values: Mapping[str, Any], columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Table:
    return pa.Table.from_arrays([values[name] for name in columns], schema=schema_of(columns))


def _read(file: Path, columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Table:
    types = {SCALED.get(name, (name,))[0]: COUNT if name in SCALED else kind for name, (kind, _) in columns.items()}
    # Missing values are empty cells.
    options = csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
    read = csv.read_csv(file, convert_options=options)
    return pa.Table.from_arrays([_scaled(read, name) for name in columns], schema=schema_of(columns))


def _scaled(read: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in SCALED:
        return read[name]
    written, nanoseconds = SCALED[name]
    return pc.divide(pc.cast(read[written], NUMBER), nanoseconds)
