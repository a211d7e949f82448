"""Goodput over time, and the rates that the sending socket reports.

Sources: sliding windows as in the analysis of [teacup2014]; pacing and delivery rate as the kernel reports them,
`tcpi_pacing_rate` and `tcpi_delivery_rate` [linux-6.12 tcp.h struct tcp_info]; power [kleinrock1979].
"""

import numpy as np
import pandas as pd

from tailback.analysis.metrics import BITS, MEGA, Samples
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds

WIDTH_NS = 2 * NANOSECONDS
STEP_NS = NANOSECONDS // 2


def sliding_throughput(
    flows: pd.DataFrame, window: Window, bin_ns: int, width_ns: int = WIDTH_NS, step_ns: int = STEP_NS
) -> pd.DataFrame:
    """Goodput of each flow in sliding windows, in Mbit/s: `t` (s, end of the window), `flow`, `mbps`. By default the
    windows are 2 s long and begin every 0.5 s. They lie wholly within the measurement window. A bin that lies partly in
    a window counts in proportion.
    """
    ends = np.arange(window.start_ns + width_ns, window.end_ns + 1, step_ns)
    names, codes = np.unique(flows["flow"].to_numpy(dtype=str), return_inverse=True)
    received = flows["bytes"].to_numpy(dtype=np.float64)
    at = nanoseconds(flows)
    columns = [
        np.interp(ends, *_read_until(at[codes == code], received[codes == code], bin_ns))
        - np.interp(ends - width_ns, *_read_until(at[codes == code], received[codes == code], bin_ns))
        for code in range(len(names))
    ]
    mbps = np.array(columns).reshape(len(names), len(ends)) * BITS * NANOSECONDS / width_ns / MEGA
    return pd.DataFrame(
        {"t": np.tile(ends / NANOSECONDS, len(names)), "flow": np.repeat(names, len(ends)), "mbps": mbps.ravel()}
    )


def _read_until(ends: Samples, received: Samples, bin_ns: int) -> tuple[Samples, Samples]:
    """The points of the cumulative bytes read: linear within a bin, constant between bins."""
    order = np.argsort(ends, kind="stable")
    ends, received = np.asarray(ends, dtype=np.float64)[order], received[order]
    times = np.stack([ends - bin_ns, ends], axis=1).ravel()
    total = np.cumsum(received)
    return times, np.stack([total - received, total], axis=1).ravel()


def pacing_rate_samples(tcp_info: pd.DataFrame, window: Window) -> Samples:
    """Pacing rates in Mbit/s (`tcpi_pacing_rate`) of the sending sockets, each time they were sampled in the window.

    A socket that does not pace has no value.
    """
    return _megabits(tcp_info, "pacing_rate", window)


def delivery_rate_samples(tcp_info: pd.DataFrame, window: Window) -> Samples:
    """Delivery rates in Mbit/s (`tcpi_delivery_rate`, from the best recent rate sample) of the sending sockets, each
    time they were sampled in the window.
    """
    return _megabits(tcp_info, "delivery_rate", window)


def _megabits(tcp_info: pd.DataFrame, column: str, window: Window) -> Samples:
    rates = pd.to_numeric(window.samples(tcp_info)[column], errors="coerce").to_numpy(dtype=np.float64)
    return rates[rates > 0] * BITS / MEGA


def power(goodput_mbps: float, rtt_ms: float) -> float | None:
    """Kleinrock's power: total goodput divided by mean TCP RTT, in Mbit/s per ms. A higher power means less delay for
    the same throughput. `None` without a delay.
    """
    return goodput_mbps / rtt_ms if rtt_ms > 0 else None
