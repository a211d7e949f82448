"""Responsiveness under working conditions: round trips per minute (RPM).

    TM(x)    mean of the samples that are not above their 95th percentile (single-sided trimmed mean)
    foreign  = 60 s / ((TM(tcp_f) + TM(http_f)) / 2)     probes on connections of their own, without TLS
    loaded   = 60 s / TM(http_l)                         the connections that make the load
    RPM      = (foreign + loaded) / 2

A probe opens a connection (`tcp_f`: from `connect()` until the request can be sent), sends a request and reads its
answer (`http_f`). `http_l` is the smoothed RTT of TCP, which the draft allows where no request can be multiplexed on a
connection that makes load. It leaves out the data that waits unsent in the socket. `idle` is `foreign` of the probes
that were answered before the load began.

Source: [responsiveness], aggregating the measurements, the case without TLS. Deviations: the last four intervals
are the measurement window; the number of load-generating connections is that of the experiment, not found by the
draft's test of stability.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tailback.analysis.metrics import Samples, tcp_rtt_samples
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import NANOSECONDS, Window

MINUTE_MS = 60_000
TRIMMED = 95
"""The percentile above which samples are left out."""


class Probes(Struct, frozen=True):
    """When the probes of a run began, and its load, in ns; `load_ns` is `None` without load."""

    began_ns: Mapping[str, int]
    load_ns: int | None


def trimmed_mean(samples: Samples) -> float:
    """Mean of the samples up to their 95th percentile, in their unit."""
    return float(samples[samples <= np.percentile(samples, TRIMMED)].mean())


def foreign(requests: Columns, probes: Probes, window: Window) -> float | None:
    """RPM of the probes that began in this window; `None` if none was answered."""
    inside = {flow: at for flow, at in probes.began_ns.items() if window.start_ns <= at < window.end_ns}
    table = Table.of(requests)
    found = table.where(table.words("flow").among(inside)).known("latency_ms")
    if not len(found):
        return None
    flows = found.words("flow")
    began_ms = np.array([inside.get(flow, 0) for flow in flows.known])[flows.codes] / (NANOSECONDS / 1000)
    connected_ms = found.numbers("t") * 1000 - began_ms
    answered_ms = found.numbers("latency_ms")
    return MINUTE_MS / ((trimmed_mean(connected_ms) + trimmed_mean(answered_ms)) / 2)


def rpm(requests: Columns, tcp_info: Columns | None, probes: Probes, window: Window) -> dict[str, float | None]:
    """Round trips per minute (RPM): `idle` of the probes that began before the load, or of all probes in the window if
    there is no load; `foreign` of the probes in the window; `loaded` of the connections that make the load; `total`,
    the mean of the last two. A probe opens a connection, asks once and closes (a `request` with `every`, and the preset
    `responsiveness`).
    """
    if probes.load_ns is None:
        return {"idle": foreign(requests, probes, window)}
    before = Window(0, probes.load_ns)
    found = {"idle": foreign(requests, probes, before), "foreign": foreign(requests, probes, window)}
    samples = np.array([]) if tcp_info is None else tcp_rtt_samples(tcp_info, window)
    if not len(samples) or found["foreign"] is None:
        return found
    loaded = MINUTE_MS / trimmed_mean(samples)
    return {**found, "loaded": loaded, "total": (found["foreign"] + loaded) / 2}
