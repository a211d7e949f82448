"""Sojourn times of packets in queues, and utilisation of devices.

Sources: sojourn time by Little's law [little1961]; counters as in `tc -s qdisc` [iproute2].
"""

from collections.abc import Mapping

import numpy as np

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import BITS, Samples, counted
from tailback.analysis.table import Columns
from tailback.analysis.window import NANOSECONDS, Window, until

MILLISECONDS = 1e3


def sojourn_samples(qdisc: Columns, window: Window) -> dict[str, Samples]:
    """Mean sojourn times in ms of the bytes in each device's root discipline, one value per sampling interval of the
    window: the backlog (mean of both ends of the interval) divided by the departures per second. Devices that never had
    a backlog are absent.

    An interval without departures has no value, or 0 if the queue was empty. The value is a mean over the bytes of all
    flows: if flows have separate queues, packets of busy flows wait longer, and those of sparse flows less.
    """
    before = until(qdisc, window.end_ns - 1)
    roots = before.where(before.numbers("depth") == 0)
    devices = grouped(roots.words("device"))
    at, backlog, sent = (devices.split(roots.numbers(column)) for column in ("t", "backlog_bytes", "sent_bytes"))
    found = {device: _sojourn(at[device], backlog[device], sent[device], window) for device in devices.names}
    return {device: samples for device, samples in found.items() if len(samples) and samples.max() > 0}


def _sojourn(at: Samples, backlog: Samples, sent: Samples, window: Window) -> Samples:
    departed, held, passed = np.diff(sent), (backlog[1:] + backlog[:-1]) / 2, np.diff(at)
    inside = np.rint(at * NANOSECONDS)[1:] > window.start_ns
    known = inside & ((departed > 0) | (held == 0))
    return np.asarray(held[known] / np.maximum(departed[known], 1) * passed[known] * MILLISECONDS, dtype=np.float64)


def utilisation(qdisc: Columns, rates_bps: Mapping[str, float], window: Window) -> dict[str, float]:
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
