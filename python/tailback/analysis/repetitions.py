"""From runs to configurations: the repetitions of one place in the grid become a mean and its 95 % interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis.intervals import t_interval

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One number of a summary, as it is shown."""

    title: str
    unit: str
    read: Callable[[Summary], float | None]
    decimals: int | None = None
    """Digits after the point; without it three digits in all."""


def at(*keys: str) -> Callable[[Summary], float | None]:
    """Reads the number at this path of a summary."""

    def read(summary: Summary) -> float | None:
        value: Any = summary
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return float(value)

    return read


def _cwnd(summary: Summary) -> float | None:
    """Median over the flows of each flow's median window."""
    flows = summary.get("cwnd_segments")
    return float(np.median([flow["p50"] for flow in flows.values()])) if flows else None


def drops_in_all(summary: Summary) -> float | None:
    """Packets dropped on all devices for any reason."""
    devices = summary.get("drops")
    return None if devices is None else float(sum(sum(reasons.values()) for reasons in devices.values()))


HEADLINE: tuple[Column, ...] = (
    Column("goodput", "Mbit/s", at("goodput_mbps", "total")),
    Column("ping p50", "ms", at("ping_ms", "p50")),
    Column("ping p90", "ms", at("ping_ms", "p90")),
    Column("TCP RTT p50", "ms", at("tcp_rtt_ms", "p50")),
    Column("TCP RTT p90", "ms", at("tcp_rtt_ms", "p90")),
    Column("cwnd", "segments", _cwnd),
    Column("drops", "", drops_in_all, 0),
    Column("retrans", "", at("retransmits"), 0),
    Column("Jain", "", at("jain"), 3),
)
"""What the table after a run shows."""


def configurations(
    runs: Sequence[tuple[Mapping[str, str], Summary]], columns: Sequence[Column] = HEADLINE
) -> pd.DataFrame:
    """One row per configuration, in order of appearance: its axes, `runs`, and for each column of `columns` its
    mean over the repetitions (`TITLE`) and the ends of the 95 % interval of that mean (`TITLE low`, `TITLE high`).

    What is not known is NaN: a number no repetition has, the interval of one repetition.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Summary]] = {}
    for axes, summary in runs:
        groups.setdefault(tuple(axes.items()), []).append(summary)
    rows = [{**dict(axes), "runs": len(group), **_row(group, columns)} for axes, group in groups.items()]
    return pd.DataFrame(rows)


def _row(summaries: Sequence[Summary], columns: Sequence[Column]) -> dict[str, float]:
    row: dict[str, float] = {}
    for column in columns:
        known = [value for value in map(column.read, summaries) if value is not None]
        values = np.array(known or [np.nan], dtype=np.float64)
        row[column.title] = float(np.mean(values))
        row[f"{column.title} low"], row[f"{column.title} high"] = t_interval(values)
    return row
