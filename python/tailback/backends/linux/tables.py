"""Converts the agent's output to the tables of `docs/tables.md`.

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
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from tailback import _core, columns
from tailback.columns import COUNT, NUMBER, SIGNED, TEXT, Kind

Form: TypeAlias = Mapping[str, tuple[Kind, str | None]]
"""The kind and the unit of each column."""

COLUMNS: Mapping[str, Form] = {
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
        "delivered_ce": (COUNT, "segments"),
        "delivered_e1_bytes": (COUNT, "B"),
        "delivered_ce_bytes": (COUNT, "B"),
        "delivered_e0_bytes": (COUNT, "B"),
        "received_ce": (COUNT, "packets"),
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

UDP: Form = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "sent": (COUNT, "packets"),
    "received": (COUNT, "packets"),
    "delay_ms": (NUMBER, "ms"),
    "longest_ms": (NUMBER, "ms"),
}

DELAYS: Form = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "packets": (COUNT, "packets"),
    "delay_ms": (NUMBER, "ms"),
    "shortest_ms": (NUMBER, "ms"),
    "longest_ms": (NUMBER, "ms"),
}

EACH: Form = {"t": (NUMBER, "s"), "flow": (TEXT, ""), "delay_ms": (NUMBER, "ms")}
"""The columns of `datagrams`."""

COMPLETIONS: Form = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "completion_s": (NUMBER, "s"),
}

REQUESTS: Form = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "seq": (COUNT, ""),
    "bytes": (COUNT, "B"),
    "latency_ms": (NUMBER, "ms"),
}

EXCHANGES: Form = {
    "t": (NUMBER, "s"),
    "flow": (TEXT, ""),
    "end": (TEXT, ""),
    "data_segs_out": (COUNT, "segments"),
    "total_retrans": (COUNT, "segments"),
}

OBJECTS: Form = {
    "t": (NUMBER, "s"),
    "page": (TEXT, ""),
    "object": (COUNT, ""),
    "bytes": (COUNT, "B"),
    "loaded_ms": (NUMBER, "ms"),
}

VIDEO: Form = {
    "t": (NUMBER, "s"),
    "video": (TEXT, ""),
    "segment": (COUNT, ""),
    "bitrate": (COUNT, "bit/s"),
    "bytes": (COUNT, "B"),
    "buffer_ms": (NUMBER, "ms"),
    "fetch_ms": (NUMBER, "ms"),
    "waited_ms": (NUMBER, "ms"),
}

LOSSES: Form = {"t": (NUMBER, "s"), "device": (TEXT, ""), "lost": (COUNT, "packets"), "reason": (TEXT, "")}
"""The columns of `losses`."""

RADIOS: Form = {
    "t": (NUMBER, "s"),
    "device": (TEXT, ""),
    "what": (TEXT, ""),
    "reason": (TEXT, ""),
    "count": (COUNT, "packets"),
}
"""The columns of `radios`."""

DATAGRAMS: Mapping[str, Kind] = {
    "t_ns": SIGNED,
    "flow": TEXT,
    "sent": COUNT,
    "received": COUNT,
    "delay_sum_ns": SIGNED,
    "longest_ns": SIGNED,
}
"""The columns of `datagrams.csv`; one-way delays between two machines may be negative."""

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


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """All tables of a run."""
    found = {name: read_table(folder, name, form) for name, form in COLUMNS.items()}
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
    return found | {name: table for name, table in more.items() if len(table)}


FORMS: Mapping[str, Form] = {
    **COLUMNS, "udp": UDP, "delays": DELAYS, "datagrams": EACH, "completions": COMPLETIONS, "requests": REQUESTS,
    "exchanges": EXCHANGES, "objects": OBJECTS, "video": VIDEO, "losses": LOSSES, "radios": RADIOS,
}  # fmt: skip
"""The columns of all tables that a kernel may give."""


def recorded(found: Mapping[str, pd.DataFrame], more: Mapping[str, Form] | None = None) -> dict[str, _core.Table]:
    """The tables as every backend gives them back; those that not all backends have are in `more`."""
    forms = {**FORMS, **(more or {})}
    return {name: columns.table(frame, forms[name]) for name, frame in found.items()}


def read_table(folder: Path, name: str, form: Form) -> pd.DataFrame:
    """One table of a run."""
    written = {SCALED.get(name, (name,))[0]: COUNT if name in SCALED else kind for name, (kind, _) in form.items()}
    read = columns.read_csv(folder / f"{name}.csv", written)
    return pd.DataFrame({name: _scaled(read, name) for name in form})


def read_segments(folder: Path) -> int:
    """The number of TCP data segments sent by all flows, including retransmissions."""
    counted = columns.read_csv(folder / "segments.csv", {"flow": TEXT, "data_segs_out": COUNT})
    return int(counted["data_segs_out"].sum())


def _read_datagrams(file: Path) -> pd.DataFrame:
    """The table `udp`; the mean delay is that of the datagrams that arrived in the interval."""
    read = columns.read_csv(file, DATAGRAMS)
    ways = {"sent": "sum", "received": "sum", "delay_sum_ns": "sum", "longest_ns": "max"}
    both = read.groupby(["t_ns", "flow"], sort=False, as_index=False).agg(ways)
    received = _floats(both["received"])
    mean_ns = np.divide(_floats(both["delay_sum_ns"]), received, where=received > 0, out=np.full(len(both), np.nan))
    values = {
        "t": _floats(both["t_ns"]) / 1e9,
        "flow": both["flow"],
        "sent": both["sent"],
        "received": both["received"],
        "delay_ms": mean_ns / 1e6,
        "longest_ms": _floats(both["longest_ns"]) / 1e6,
    }
    return pd.DataFrame(values)


def _read_delays(file: Path) -> pd.DataFrame:
    """The table `delays`."""
    nanoseconds = ("sum_ns", "shortest_ns", "longest_ns")
    read = columns.read_csv(
        file, {"t_ns": SIGNED, "flow": TEXT, "packets": COUNT, **dict.fromkeys(nanoseconds, SIGNED)}
    )
    values = {
        "t": _floats(read["t_ns"]) / 1e9,
        "flow": read["flow"],
        "packets": read["packets"],
        "delay_ms": _floats(read["sum_ns"]) / _floats(read["packets"]) / 1e6,
        "shortest_ms": _floats(read["shortest_ns"]) / 1e6,
        "longest_ms": _floats(read["longest_ns"]) / 1e6,
    }
    return pd.DataFrame(values)


def _read_arrivals(file: Path) -> pd.DataFrame:
    """The table `datagrams`."""
    read = columns.read_csv(file, {"t_ns": SIGNED, "flow": TEXT, "delay_ns": SIGNED})
    seconds, delays = _floats(read["t_ns"]) / 1e9, _floats(read["delay_ns"]) / 1e6
    return pd.DataFrame({"t": seconds, "flow": read["flow"], "delay_ms": delays})


def _scaled(read: pd.DataFrame, name: str) -> "pd.Series[Any] | columns.Values":
    if name not in SCALED:
        return read[name]
    written, nanoseconds = SCALED[name]
    return _floats(read[written]) / nanoseconds


def _floats(values: "pd.Series[Any]") -> columns.Values:
    """A column as floating point, NaN where a value is missing."""
    return values.to_numpy(np.float64, na_value=np.nan)
