"""The figures of a run, computed in the same way for kernel and simulator.

Window: 5 s after the start of the flows to their end; samples of the end itself are left out, because there the
kernel's socket is still full and the simulator's has just been closed. Times are seconds since the start of the flows.
Percentiles interpolate linearly. Goodput = bytes read by the receiving applications in the window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

WARMUP_S = 5.0
HALF_SAMPLE_S = 0.05
UNITS = {
    "goodput_mbps": "Mbit/s",
    "jain": "1",
    "ping_p10": "ms",
    "ping_p50": "ms",
    "ping_p90": "ms",
    "ping_lost": "packets",
    "rtt_p10": "ms",
    "rtt_p50": "ms",
    "rtt_p90": "ms",
    "min_rtt": "ms",
    "cwnd_mean": "segments",
    "unacked_mean": "segments",
    "wmem_mean": "B",
    "pacing_mbps": "Mbit/s",
    "retransmits": "segments",
    "drops": "packets",
}


@dataclass(frozen=True)
class Tables:
    """The measurements of one side: columns of docs/contracts.md, flows numbered from 0, times since their start."""

    flows: pd.DataFrame
    tcp_info: pd.DataFrame
    ping: pd.DataFrame
    drops: int


@dataclass(frozen=True)
class Measures:
    """One row of the comparison; units in `UNITS`."""

    goodput_mbps: float
    jain: float
    ping_p10: float
    ping_p50: float
    ping_p90: float
    ping_lost: int
    rtt_p10: float
    rtt_p50: float
    rtt_p90: float
    min_rtt: float
    cwnd_mean: float
    unacked_mean: float
    wmem_mean: float
    pacing_mbps: float
    retransmits: int
    drops: int


def measure(tables: Tables, flows: int, duration_s: float) -> Measures:
    """The figures of a run of `flows` uploads that stopped after `duration_s`."""
    received = received_bytes(tables.flows, flows, duration_s)
    info = in_window(tables.tcp_info, duration_s)
    echoes = in_window(tables.ping, duration_s)["rtt_ms"]
    ping_ms = percentiles(echoes.dropna())
    rtt_ms = percentiles(info["rtt"] / 1000)
    return Measures(
        goodput_mbps=float(received.sum()) * 8e-6 / (duration_s - WARMUP_S),
        jain=jain_index(received),
        ping_p10=ping_ms[0],
        ping_p50=ping_ms[1],
        ping_p90=ping_ms[2],
        ping_lost=int(echoes.isna().sum()),
        rtt_p10=rtt_ms[0],
        rtt_p50=rtt_ms[1],
        rtt_p90=rtt_ms[2],
        min_rtt=float(info["min_rtt"].min()) / 1000,
        cwnd_mean=float(info["snd_cwnd"].mean()),
        unacked_mean=float(info["unacked"].mean()),
        wmem_mean=float(info["wmem_alloc"].mean()),
        pacing_mbps=float(info["pacing_rate"].mean()) * 8e-6,
        retransmits=int(tables.tcp_info.groupby("flow")["total_retrans"].max().sum()),
        drops=tables.drops,
    )


def in_window(table: pd.DataFrame, end_s: float) -> pd.DataFrame:
    return table[(table["t"] > WARMUP_S - HALF_SAMPLE_S) & (table["t"] < end_s - HALF_SAMPLE_S)]


def received_bytes(bins: pd.DataFrame, flows: int, duration_s: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Bytes of each flow in the bins that end within the window."""
    inside = bins[(bins["t"] > WARMUP_S + HALF_SAMPLE_S) & (bins["t"] < duration_s + HALF_SAMPLE_S)]
    total = inside.groupby("flow")["bytes"].sum()
    return np.array([float(total.get(flow, 0)) for flow in range(flows)])


def jain_index(shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """(Σx)² / (n Σx²) [jain1984]; NaN if nothing arrived."""
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else float("nan")


def percentiles(values: pd.Series[float]) -> tuple[float, float, float]:
    """The 10th, 50th and 90th percentile; NaN without values."""
    if values.empty:
        return float("nan"), float("nan"), float("nan")
    low, median, high = np.percentile(values.to_numpy(dtype=float), [10, 50, 90])
    return float(low), float(median), float(high)
