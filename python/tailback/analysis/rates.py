"""Goodput over time, and the rates that the sending socket reports.

Sources: sliding windows as in the analysis of [teacup2014]; pacing and delivery rate as the kernel reports them,
`tcpi_pacing_rate` and `tcpi_delivery_rate` [linux-6.12 tcp.h struct tcp_info]; power [kleinrock1979].
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import BITS, MEGA, Samples
from tailback.analysis.table import Columns, Table, frame
from tailback.analysis.window import NANOSECONDS, Window

if TYPE_CHECKING:
    import pandas as pd

WIDTH_NS = 2 * NANOSECONDS
STEP_NS = NANOSECONDS // 2


def sliding_throughput(
    flows: Columns, window: Window, bin_ns: int, width_ns: int = WIDTH_NS, step_ns: int = STEP_NS
) -> "pd.DataFrame":
    """Goodput of each flow in sliding windows, in Mbit/s: `t` (s, end of the window), `flow`, `mbps`. By default the
    windows are 2 s long and begin every 0.5 s. They lie wholly within the measurement window. A bin that lies partly in
    a window counts in proportion.
    """
    ends, mbps = sliding(flows, window, bin_ns, width_ns, step_ns)
    t, names = np.tile(ends, len(mbps)), np.repeat(np.array(list(mbps), dtype=str), len(ends))
    return frame({"t": t, "flow": names, "mbps": np.array(list(mbps.values())).ravel()})


def sliding(
    flows: Columns, window: Window, bin_ns: int, width_ns: int = WIDTH_NS, step_ns: int = STEP_NS
) -> tuple[Samples, dict[str, Samples]]:
    """As `sliding_throughput`: the ends of the windows in s, and the goodput of each flow in each of them."""
    table = Table.of(flows)
    names = grouped(table.words("flow"))
    at, received = names.split(table.t_ns), names.split(table.numbers("bytes"))
    ends = np.arange(window.start_ns + width_ns, window.end_ns + 1, step_ns)
    found = {}
    for name in names.names:
        read = _read_until(at[name], received[name], bin_ns)
        grown = np.interp(ends, *read) - np.interp(ends - width_ns, *read)
        found[name] = np.asarray(grown * BITS * NANOSECONDS / width_ns / MEGA, dtype=np.float64)
    return ends / NANOSECONDS, found


def _read_until(ends_ns: npt.NDArray[np.int64], received: Samples, bin_ns: int) -> tuple[Samples, Samples]:
    """The points of the cumulative bytes read: linear within a bin, constant between bins."""
    order = np.argsort(ends_ns, kind="stable")
    ends, received = ends_ns[order].astype(np.float64), received[order]
    times = np.stack([ends - bin_ns, ends], axis=1).ravel()
    total = np.cumsum(received)
    return times, np.stack([total - received, total], axis=1).ravel()


def pacing_rate_samples(tcp_info: Columns, window: Window) -> Samples:
    """Pacing rates in Mbit/s (`tcpi_pacing_rate`) of the sending sockets, each time they were sampled in the window.

    A socket that does not pace has no value.
    """
    return _megabits(tcp_info, "pacing_rate", window)


def delivery_rate_samples(tcp_info: Columns, window: Window) -> Samples:
    """Delivery rates in Mbit/s (`tcpi_delivery_rate`, from the best recent rate sample) of the sending sockets, each
    time they were sampled in the window.
    """
    return _megabits(tcp_info, "delivery_rate", window)


def _megabits(tcp_info: Columns, column: str, window: Window) -> Samples:
    rates = window.samples(tcp_info).numbers(column)
    return rates[rates > 0] * BITS / MEGA


def power(goodput_mbps: float, rtt_ms: float) -> float | None:
    """Kleinrock's power: total goodput divided by mean TCP RTT, in Mbit/s per ms. A higher power means less delay for
    the same throughput. `None` without a delay.
    """
    return goodput_mbps / rtt_ms if rtt_ms > 0 else None
