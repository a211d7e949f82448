"""The analytic model of aggregation under TCP Small Queues: throughput and RTT as functions of the limit below TCP.

    k = t · p · c                          packets backlogged at the radio
    TxTime(k) = 8 (k l + h) / r + T_oh     time of one aggregate with its overhead
    Thr(k) = 8 k l / TxTime(k)
    RTT(k) = RTT_0 + 2 TxTime(k)           k ≤ M: one aggregate is built while another is on the air
    RTT(k) = RTT_0 + ⌈k/M⌉ TxTime(M)       k > M: full aggregates are queued ahead
    BW(k) = Thr(min(k, M))

t: small-queue limit in packets; p: pacing ratio; c: fraction of t·p that is queued at the radio; M: packets of the
longest aggregate. Sources: equations 1 to 5, defaults of Table I [ton22 §IV].

Deviations: the overhead h is taken in bytes (the paper's equation 2 prints it without the factor 8: 1.6 µs).
"""

import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec import Struct
from msgspec.structs import replace

BITS = 8
KILO = 1e3

SHARES = (0.05, 1.0, 0.0025)
"""Lowest and highest value, and step, of the c that a fit tries."""

Values = npt.NDArray[np.float64]


class Cell(Struct, frozen=True):
    """The parameters of the model that depend on the cell; the defaults are those of Table I."""

    packet_bytes: float = 1500
    overhead_bytes: float = 48
    """Overhead per aggregate."""
    rate_mbps: float = 216
    overhead_ms: float = 0.5
    """Overhead per transmission: channel access, preamble, block ack, transmission of the TCP ACKs."""
    base_rtt_ms: float = 2.5
    longest_ms: float = 4
    """Airtime of the longest aggregate."""
    max_packets: int | None = None
    """Packets of the longest aggregate; by default as many as fit into `longest_ms` (72)."""
    share: float = 0.8
    """c"""

    @property
    def max_aggregate(self) -> int:
        """M"""
        fitting = int(self.longest_ms * self.rate_mbps * KILO / (BITS * self.packet_bytes))
        return fitting if self.max_packets is None else self.max_packets


def backlog(limit_packets: Values, pacing_ratio: Values, cell: Cell) -> Values:
    """k: packets at the radio."""
    return np.asarray(limit_packets * pacing_ratio * cell.share, dtype=np.float64)


def transmission_ms(packets: Values, cell: Cell) -> Values:
    """TxTime(k) in ms."""
    bits = BITS * (packets * cell.packet_bytes + cell.overhead_bytes)
    return np.asarray(bits / (cell.rate_mbps * KILO) + cell.overhead_ms, dtype=np.float64)


def throughput_mbps(packets: Values, cell: Cell) -> Values:
    """Thr(k) in Mbit/s, without a limit on the length of aggregates."""
    return np.asarray(BITS * packets * cell.packet_bytes / transmission_ms(packets, cell) / KILO, dtype=np.float64)


def bandwidth_mbps(packets: Values, cell: Cell) -> Values:
    """BW(k) in Mbit/s."""
    return throughput_mbps(np.minimum(packets, cell.max_aggregate), cell)


def rtt_ms(packets: Values, cell: Cell) -> Values:
    """RTT(k) in ms."""
    whole = transmission_ms(np.full_like(packets, cell.max_aggregate), cell)
    waiting = np.ceil(packets / cell.max_aggregate) * whole
    return np.asarray(
        cell.base_rtt_ms + np.where(packets <= cell.max_aggregate, 2 * transmission_ms(packets, cell), waiting),
        dtype=np.float64,
    )


class Fit(Struct, frozen=True):
    """The model fitted to a sweep."""

    cell: Cell
    r2_throughput: float
    r2_rtt: float


def fit(sweep: pd.DataFrame, cell: Cell) -> Fit:
    """Fits c by least squares to both curves, each normalised by its variance; the rest of `cell` is given.

    `sweep` has a row per measurement: `limit` (packets), `pacing` (ratio), `goodput_mbps`, `rtt_ms`. The RTT of
    the model is a step function, so c is searched on a grid.
    """
    low, high, step = SHARES
    shares = np.arange(low, high + step / 2, step).round(6).tolist()
    tried = (judged(sweep, replace(cell, share=share)) for share in shares)
    return max(tried, key=lambda found: found.r2_throughput + found.r2_rtt)


def with_measured_overhead(sweep: pd.DataFrame, cell: Cell) -> Cell:
    """The cell with the overhead per transmission that full aggregates have in a sweep.

    It is what the goodput at the largest limit leaves of TxTime(M) beside the packets:
    T_oh = 8 M l / BW − 8 (M l + h) / r.
    """
    largest = sweep["limit"] == sweep["limit"].max()
    full = float(cell.max_aggregate)
    whole = BITS * full * cell.packet_bytes / (float(sweep.loc[largest, "goodput_mbps"].median()) * KILO)
    carried = float(transmission_ms(np.array([full]), replace(cell, overhead_ms=0))[0])
    return replace(cell, overhead_ms=whole - carried)


def judged(sweep: pd.DataFrame, cell: Cell) -> Fit:
    """The goodness of fit of the model of `cell` to a sweep, without fitting."""
    packets = backlog(_column(sweep, "limit"), _column(sweep, "pacing"), cell)
    return Fit(
        cell,
        r_squared(_column(sweep, "goodput_mbps"), bandwidth_mbps(packets, cell)),
        r_squared(_column(sweep, "rtt_ms"), rtt_ms(packets, cell)),
    )


def r_squared(measured: Values, model: Values) -> float:
    """Coefficient of determination 1 − Σ(y − ŷ)² / Σ(y − ȳ)²: 1 for a perfect fit, 0 if no better than the mean."""
    spread = float(np.sum((measured - measured.mean()) ** 2))
    return 1 - float(np.sum((measured - model) ** 2)) / spread if spread else float("nan")


def _column(table: pd.DataFrame, name: str) -> Values:
    return table[name].to_numpy(dtype=np.float64)
