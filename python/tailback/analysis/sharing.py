"""How flows share a bottleneck: fairness over time, convergence of new flows, completion times of transfers.

Sources: Jain's index [jain1984]; convergence and response times as [rfc5166 §2.2, §2.3].
"""

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Samples, jain_index, known
from tailback.analysis.rates import WIDTH_NS, sliding
from tailback.analysis.table import Columns, Table, frame
from tailback.analysis.window import NANOSECONDS, Window

if TYPE_CHECKING:
    import pandas as pd

FAIR = 0.9
"""Jain's index from which flows are considered to share fairly."""

HOLD_S = 5.0
"""Time for which the index must stay at or above it."""

FOREVER_NS = 1 << 62

WIDTH_S = WIDTH_NS / NANOSECONDS
"""Width of a sliding window."""


def jain_over_time(flows: Columns, window: Window, bin_ns: int) -> "pd.DataFrame":
    """Jain's index (no unit) of the active flows, in sliding windows of 2 s that begin every 0.5 s: `t` (s, end of the
    window), `flows` (number of active flows), `jain`. A flow is active from the first to the last byte that its
    receiver reads.
    """
    return frame(_fairness(flows, window, bin_ns), columns=["t", "flows", "jain"])


def _fairness(flows: Columns, window: Window, bin_ns: int) -> list[tuple[float, int, float]]:
    """The rows of `jain_over_time`."""
    ends, shares = sliding(flows, window, bin_ns)
    first, last = _present(flows)
    # A flow counts only in windows during which it was always active; otherwise each new flow would look unfair.
    active = {flow: (ends - WIDTH_S >= first[flow]) & (ends <= last[flow]) for flow in shares}
    rows = []
    for place, t in enumerate(ends.tolist()):
        each = [float(mbps[place]) for flow, mbps in shares.items() if active[flow][place]]
        index = jain_index(each)
        if index is not None:
            rows.append((t, len(each), index))
    return rows


def convergence_times(flows: Columns, end_ns: int, bin_ns: int) -> dict[str, float]:
    """Convergence time in s of each flow that starts while another flow that it competes with (see Jain's index) has
    been active for at least 2 s. It begins with the first byte that the receiver of the new flow reads. It ends with
    the first sliding window from which Jain's index of all active flows that compete stays at 0.9 or above for 5 s, or
    until the next of them starts or stops, if that is sooner. A flow that does not converge has no value.
    """
    first, last = _present(flows)
    joining = _joining(first, last)
    if not joining:
        return {}
    t, _, jain = np.array(_fairness(flows, Window(0, end_ns), bin_ns)).reshape(-1, 3).T
    changes = np.array(sorted({*first.values(), *last.values(), math.inf}))
    found = {}
    for flow, joined in first.items():
        if flow not in joining:
            continue
        changed = changes[np.searchsorted(changes, joined + bin_ns / NANOSECONDS, side="right")]
        shared = (t > joined) & (t <= min(changed, end_ns / NANOSECONDS))
        at = _fair_from(t[shared], jain[shared])
        if at is not None:
            found[flow] = at - joined
    return found


def _joining(first: Mapping[str, float], last: Mapping[str, float]) -> frozenset[str]:
    """The flows that start while another flow has been active for at least 2 s, from when each was active."""
    starts, ends = np.array(list(first.values())), np.array([last[flow] for flow in first])
    order = np.argsort(starts)
    # Of the flows that started up to each, when the last of them ended.
    ended = np.maximum.accumulate(ends[order])
    before = np.searchsorted(starts[order] + WIDTH_S, starts, side="left")
    joins = (before > 0) & (ended[before - 1] > starts)
    return frozenset(flow for flow, joined in zip(first, joins.tolist(), strict=True) if joined)


def _present(flows: Columns) -> tuple[dict[str, float], dict[str, float]]:
    """First and last time at which each flow was active, in s."""
    table = Table.of(flows)
    names, at = grouped(table.words("flow")), table.numbers("t")
    return names.minima(at), names.maxima(at)


def _fair_from(t: Samples, jain: Samples) -> float | None:
    """The time from which the flows share fairly for `HOLD_S` or until the end; None if they do not."""
    for place in np.flatnonzero(jain >= FAIR):
        held = jain[(t >= t[place]) & (t <= t[place] + HOLD_S)]
        if (held >= FAIR).all():
            return float(t[place])
    return None


def flow_events(tables: Mapping[str, Columns]) -> Columns | None:
    """Start and end of flows with `bytes`, as rows of `events`: that table, or those of a kernel's `completions`."""
    if "events" in tables:
        return tables["events"]
    if "completions" not in tables:
        return None
    begun = Table.of(tables["completions"])
    ended = begun.known("completion_s")
    return {
        "t": np.concatenate([begun.numbers("t"), ended.numbers("t") + ended.numbers("completion_s")]),
        "what": [*["flow_start"] * len(begun), *["flow_end"] * len(ended)],
        "flow": [*begun.words("flow").plain(), *ended.words("flow").plain()],
    }


def completion_times(events: Columns, sized: Collection[str], window: Window) -> dict[str, float]:
    """Flow completion times in s of the flows with `bytes` that began in the window: from `connect()` to the
    acknowledgement of the last byte. A flow that did not complete within the run has no value.
    """
    started, ended = _ends(events, sized)
    begun = window.samples(started)
    starts = grouped(begun.words("flow")).minima(begun.numbers("t"))
    ends = grouped(ended.words("flow")).maxima(ended.numbers("t"))
    return {flow: ends[flow] - starts[flow] for flow in starts if flow in ends}


def active_seconds(events: Columns, sized: Collection[str], window: Window) -> dict[str, float]:
    """For how long each flow with `bytes` was active in the window, in s: from `connect()` to the acknowledgement of
    the last byte, or to the end of the window if that comes first. A flow that was not active in it is absent.
    """
    started, ended = _ends(events, sized)
    starts = grouped(started.words("flow")).minima(started.numbers("t"))
    ends = grouped(ended.words("flow")).maxima(ended.numbers("t"))
    first, last = window.start_ns / NANOSECONDS, window.end_ns / NANOSECONDS
    found = {flow: min(ends.get(flow, last), last) - max(start, first) for flow, start in starts.items()}
    return {flow: seconds for flow, seconds in found.items() if seconds > 0}


def spans(events: Columns, sized: Collection[str]) -> dict[str, Window]:
    """From when to when each flow with `bytes` was active: to the end of time if it did not complete."""
    started, ended = _ends(events, sized)
    starts = grouped(started.words("flow")).minima(started.t_ns.astype(np.float64))
    ends = grouped(ended.words("flow")).maxima(ended.t_ns.astype(np.float64))
    return {flow: Window(int(start), int(ends.get(flow, FOREVER_NS))) for flow, start in starts.items()}


def lives(tables: Mapping[str, Columns], flows: Collection[str]) -> dict[str, Window]:
    """From when to when each of these flows was open: from `connect()` to the acknowledgement of its last byte or,
    where these are not recorded, from its first to its last sample.
    """
    sampled = Table.of(tables["tcp_info"])
    theirs = sampled.where(sampled.words("flow").among(flows))
    names, at = grouped(theirs.words("flow")), theirs.t_ns.astype(np.float64)
    first, last = names.minima(at), names.maxima(at)
    events = flow_events(tables)
    if events is not None:
        started, ended = _ends(events, first)
        first |= grouped(started.words("flow")).minima(started.t_ns.astype(np.float64))
        last |= grouped(ended.words("flow")).maxima(ended.t_ns.astype(np.float64))
    return {flow: Window(int(first[flow]), int(last[flow])) for flow in first}


def _ends(events: Columns, sized: Collection[str]) -> tuple[Table, Table]:
    """The starts and the ends of the flows with `bytes`."""
    table = Table.of(events)
    theirs, what = table.words("flow").among(sized), table.words("what")
    return table.where(theirs & what.are("flow_start")), table.where(theirs & what.are("flow_end"))


def request_latencies(requests: Columns, window: Window) -> Samples:
    """Latencies in ms of the requests that were sent in the window and answered: from when the client writes a request
    to when it reads the last byte of the answer. The connection is open by then.
    """
    return known(window.samples(requests).numbers("latency_ms"))


def unfinished(events: Columns, sized: Collection[str], window: Window) -> int:
    """Flows with `bytes` that began in the window and did not complete within the run. Completion times do not include
    them, so that these are too short if there are many.
    """
    started, ended = _ends(events, sized)
    begun = window.samples(started).words("flow").present()
    return len(set(begun) - set(ended.words("flow").present()))


def slowdowns(times: Mapping[str, float], least_s: Mapping[str, float]) -> dict[str, float]:
    """Slowdown of each flow with `bytes` that completed, no unit: its completion time over the shortest time that its
    path allows without other traffic, which is two round trips and its bytes at the path's smallest rate. Headers and
    slow start count as slowdown. Absent over Wi-Fi. Where flows that arrive at random share a link equally, the mean is
    1 / (1 - load), whatever their sizes [kleinrock1976 §4.4].
    """
    return {flow: seconds / least_s[flow] for flow, seconds in times.items() if least_s.get(flow)}


SIZE_CLASSES: tuple[tuple[str, int], ...] = (("to_10kb", 10 * 1024), ("to_100kb", 100 * 1024), ("to_1mb", 1024 * 1024))
"""Classes of sizes and the largest size of each, in bytes; the rest are `above_1mb`."""

LARGEST_CLASS = "above_1mb"


def size_class(size: int) -> str:
    """The class of a flow of this size."""
    return next((name for name, largest in SIZE_CLASSES if size <= largest), LARGEST_CLASS)


def completion_by_size(times: Mapping[str, float], sizes: Mapping[str, int]) -> dict[str, list[float]]:
    """Flow completion times in s by the size of the flow: to 10, 100 and 1024 KiB (`to_10kb`, `to_100kb`, `to_1mb`),
    and above (`above_1mb`). A class without completed flows is absent.
    """
    classes: dict[str, list[float]] = {name: [] for name in (*(name for name, _ in SIZE_CLASSES), LARGEST_CLASS)}
    for flow, seconds in times.items():
        classes[size_class(sizes[flow])].append(seconds)
    return {name: found for name, found in classes.items() if found}
