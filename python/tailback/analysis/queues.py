"""Sojourn times of packets in queues, and utilisation of devices.

Sources: sojourn time by Little's law [little1961]; counters as in `tc -s qdisc` [iproute2].
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tailback.analysis.metrics import BITS, Samples, counted
from tailback.analysis.window import Window, nanoseconds

MILLISECONDS = 1e3


def sojourn_samples(qdisc: pd.DataFrame, window: Window) -> dict[str, Samples]:
    """Mean sojourn times in ms of the bytes in each device's root discipline, one value per sampling interval of the
    window: the backlog (mean of both ends of the interval) divided by the departures per second. Devices that never had
    a backlog are absent.

    An interval without departures has no value, or 0 if the queue was empty. The value is a mean over the bytes of all
    flows: if flows have separate queues, packets of busy flows wait longer, and those of sparse flows less.
    """
    roots = qdisc[(qdisc["depth"] == 0) & (nanoseconds(qdisc) < window.end_ns)]
    found = {str(device): _sojourn(rows, window) for device, rows in roots.groupby("device", sort=True)}
    return {device: samples for device, samples in found.items() if len(samples) and samples.max() > 0}


def _sojourn(rows: pd.DataFrame, window: Window) -> Samples:
    backlog = rows["backlog_bytes"].to_numpy(dtype=np.float64)
    sent = rows["sent_bytes"].to_numpy(dtype=np.float64)
    at = rows["t"].to_numpy(dtype=np.float64)
    departed, held, passed = np.diff(sent), (backlog[1:] + backlog[:-1]) / 2, np.diff(at)
    inside = nanoseconds(rows)[1:] > window.start_ns
    known = inside & ((departed > 0) | (held == 0))
    return np.asarray(held[known] / np.maximum(departed[known], 1) * passed[known] * MILLISECONDS, dtype=np.float64)


def utilisation(qdisc: pd.DataFrame, rates_bps: Mapping[str, float], window: Window) -> dict[str, float]:
    """Share of its rate that each device used in the window, no unit: bytes that left the root discipline, as `tc`
    counts them, divided by what the mean rate of the device allows in the window. The rate of a device is the minimum
    of the rates of its link and its shapers.

    `tc` counts the Ethernet header but neither checksum, preamble nor gap: a link full of 1514-byte frames has 0.984, a
    shaper 1.
    """
    sent = counted(qdisc, "sent_bytes", window)
    return {
        device: sent[device] * BITS / (rate * window.seconds) for device, rate in rates_bps.items() if device in sent
    }
