"""The figures of a run, computed in the same way for kernel and simulator.

Window: from the warm-up (5 s, 1 s with UDP) after the start of the flows to their end. Goodput = bytes read by the
receiving applications; `up` is towards the server. RTTs of TCP are smoothed RTTs, sampled every 100 ms. A-MPDUs are
those without collision; `up` are those of stations, `down` those of the access point. Percentiles interpolate linearly.
Unknown figures are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

HALF_SAMPLE_S = 0.05
UNITS = {
    "goodput_up": "Mbit/s",
    "goodput_down": "Mbit/s",
    "ampdu_up": "MPDUs",
    "ampdu_down": "MPDUs",
    "ping_p50": "ms",
    "ping_p90": "ms",
    "rtt_up_p50": "ms",
    "rtt_down_p50": "ms",
    "collided_up": "1",
    "cwnd_mean": "segments",
    "wmem_mean": "B",
    "retransmits": "segments",
    "jain": "1",
}


@dataclass(frozen=True)
class Ppdus:
    """The PPDUs of one direction within the window."""

    sent: int
    """Transmissions without a collision."""
    collided: int
    mpdus: int
    """MPDUs in transmissions without a collision."""


@dataclass(frozen=True)
class Tables:
    """The measurements of one side: columns of docs/contracts.md, flows `up.0`, `down.0`, times since their start."""

    flows: pd.DataFrame
    tcp_info: pd.DataFrame | None
    ping: pd.DataFrame | None
    ppdus: Mapping[str, Ppdus]


@dataclass(frozen=True)
class Measures:
    """One row of the comparison; units in `UNITS`."""

    goodput_up: float
    goodput_down: float
    ampdu_up: float
    ampdu_down: float
    ping_p50: float
    ping_p90: float
    rtt_up_p50: float
    rtt_down_p50: float
    collided_up: float
    cwnd_mean: float
    wmem_mean: float
    retransmits: float
    jain: float


@dataclass(frozen=True)
class Window:
    """Seconds since the start of the flows."""

    start_s: float
    end_s: float

    def inside(self, table: pd.DataFrame) -> pd.DataFrame:
        """The samples within the window, without its end, at which sockets are being closed."""
        return table[(table["t"] > self.start_s - HALF_SAMPLE_S) & (table["t"] < self.end_s - HALF_SAMPLE_S)]

    def bins(self, table: pd.DataFrame) -> pd.DataFrame:
        """The bins that end within the window."""
        return table[(table["t"] > self.start_s + HALF_SAMPLE_S) & (table["t"] < self.end_s + HALF_SAMPLE_S)]


NO_SAMPLES = pd.DataFrame({"t": pd.Series(dtype=float), "flow": pd.Series(dtype=str), "rtt": pd.Series(dtype=float)})


def measure(tables: Tables, window: Window) -> Measures:
    received = window.bins(tables.flows).groupby("flow")["bytes"].sum()
    info = NO_SAMPLES if tables.tcp_info is None else window.inside(tables.tcp_info)
    echoes = pd.Series(dtype=float) if tables.ping is None else window.inside(tables.ping)["rtt_ms"].dropna()
    up, down = (tables.ppdus.get(direction, Ppdus(0, 0, 0)) for direction in ("up", "down"))
    return Measures(
        goodput_up=goodput(received, "up.", window),
        goodput_down=goodput(received, "down.", window),
        ampdu_up=share(up.mpdus, up.sent),
        ampdu_down=share(down.mpdus, down.sent),
        ping_p50=percentile(echoes, 50),
        ping_p90=percentile(echoes, 90),
        rtt_up_p50=median_rtt(info, "up."),
        rtt_down_p50=median_rtt(info, "down."),
        collided_up=share(up.collided, up.sent + up.collided),
        cwnd_mean=mean(info, "snd_cwnd"),
        wmem_mean=mean(info, "wmem_alloc"),
        retransmits=retransmitted(tables.tcp_info),
        jain=jain_index(received),
    )


def goodput(received: pd.Series[float], prefix: str, window: Window) -> float:
    """Goodput of one direction; NaN without flows."""
    theirs = received[received.index.astype(str).str.startswith(prefix)]
    return float(theirs.sum()) * 8e-6 / (window.end_s - window.start_s) if len(theirs) else float("nan")


def share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def median_rtt(info: pd.DataFrame, prefix: str) -> float:
    theirs = info[info["flow"].astype(str).str.startswith(prefix)]
    return percentile(theirs["rtt"].dropna() / 1000, 50)


def mean(info: pd.DataFrame, column: str) -> float:
    return float(info[column].mean()) if column in info and len(info) else float("nan")


def retransmitted(info: pd.DataFrame | None) -> float:
    """Retransmitted segments of the whole run."""
    return float("nan") if info is None else float(info.groupby("flow")["total_retrans"].max().sum())


def jain_index(received: pd.Series[float]) -> float:
    """(Σx)² / (n Σx²) [jain1984]."""
    shares = received.to_numpy(dtype=float)
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else float("nan")


def percentile(values: pd.Series[float], rank: float) -> float:
    return float(np.percentile(values.to_numpy(dtype=float), rank)) if len(values) else float("nan")
