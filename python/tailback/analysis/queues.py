"""Sojourn times of packets in queues, and utilisation of devices.

Sources: sojourn time as CoDel measures it [rfc8289 §4.2], or by Little's law [little1961]; counters as in `tc -s qdisc`
[iproute2].
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import BITS, Alike, Samples
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import NANOSECONDS, Window, until

MILLISECONDS = 1e3


def sojourns(tables: Mapping[str, Columns], window: Window) -> dict[str, Alike]:
    """Sojourn times in ms of the packets that left each device's root discipline in the window: from when a packet
    enters it to when it leaves for the NIC, whatever `measure.interval` is. A packet that finds the discipline empty
    and passes it at once has 0, a train counts as its segments, and dropped packets do not count. Devices in whose
    discipline no packet waited are absent. Every value is within 0.8 % of the true one, because packets that left in
    the same slot (1 s; in runs of less than 8 s shorter, so that at least eight fit in) with the same time to 1/64 were
    counted together. A slot that lies partly in the window counts in proportion.

    Of a train that is cut inside disciplines one after another (a list, or `netem` above another), segments have only
    their time in the last of them.

    A kernel tells only how much waits at the end of each `measure.interval`. Its values are means over intervals
    (`sojourn_samples`), of which percentiles are smaller in the tail and depend on the interval: they have `intervals`,
    the number of the means, beside them. A summary of results from before the table `sojourns` has them, too.
    """
    if "sojourns" not in tables:
        return {}
    table = Table.of(tables["sojourns"])
    ends, begins = table.numbers("t") * NANOSECONDS, table.numbers("since") * NANOSECONDS
    inside = np.minimum(ends, window.end_ns) - np.maximum(begins, window.start_ns)
    shares = np.clip(np.rint(inside) / np.rint(ends - begins), 0, 1)
    rows = table.where(shares > 0)
    devices = grouped(rows.words("device"))
    counts = devices.split(rows.numbers("packets") * shares[shares > 0])
    stays = devices.split(rows.numbers("sojourn_ms"))
    found = {name: Alike(counts[name], stays[name], stays[name], stays[name]) for name in devices.names}
    return {name: each for name, each in found.items() if each.most.max() > 0}


def told(tables: Mapping[str, Columns]) -> frozenset[str]:
    """The devices whose packets are known."""
    return frozenset(Table.of(tables["sojourns"]).words("device").present()) if "sojourns" in tables else frozenset()


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
    shaper 1. In a short window it can be far above 1, since the ring of a NIC and a token bucket take at once what the
    wire carries later. A sampling interval that lies partly in the window counts in proportion.
    """
    table = Table.of(qdisc)
    roots = table.where(table.numbers("depth") == 0)
    devices = grouped(roots.words("device"))
    at, sent = devices.split(roots.t_ns), devices.split(np.nan_to_num(roots.numbers("sent_bytes")))
    found = {name: _bytes_per_ns(at[name], sent[name], window) for name in devices.names if name in rates_bps}
    return {name: each * NANOSECONDS * BITS / rates_bps[name] for name, each in found.items() if each > 0}


def _bytes_per_ns(at: npt.NDArray[np.int64], sent: Samples, window: Window) -> float:
    """The mean rate of a counter in the window, or in what the samples cover of it."""
    # Several disciplines may have the same depth.
    times, place = np.unique(at, return_inverse=True)
    totals = np.concatenate([[0.0], np.bincount(place, sent)])
    edges = np.minimum([window.start_ns, window.end_ns], times[-1]).astype(np.float64)
    begun, ended = np.interp(edges, np.concatenate([[0], times]).astype(np.float64), totals)
    return float(ended - begun) / (edges[1] - edges[0]) if edges[1] > edges[0] else 0.0
