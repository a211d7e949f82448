"""How flows share a bottleneck: fairness over time, convergence of new flows, completion times of transfers.

Sources: Jain's index [jain1984]; convergence and response times as [rfc5166 §2.2, §2.3].
"""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from tailback.analysis.groups import grouped, numbers
from tailback.analysis.metrics import Samples, jain_index
from tailback.analysis.rates import WIDTH_NS, sliding_throughput
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds

FAIR = 0.9
"""Jain's index from which flows are considered to share fairly."""

HOLD_S = 5.0
"""Time for which the index must stay at or above it."""

WIDTH_S = WIDTH_NS / NANOSECONDS
"""Width of a sliding window."""


def jain_over_time(flows: pd.DataFrame, window: Window, bin_ns: int) -> pd.DataFrame:
    """Jain's index (no unit) of the active flows, in sliding windows of 2 s that begin every 0.5 s: `t` (s, end of the
    window), `flows` (number of active flows), `jain`. A flow is active from the first to the last byte that its
    receiver reads.
    """
    shares = sliding_throughput(flows, window, bin_ns)
    first, last = _present(flows)
    names = shares["flow"]
    # A flow counts only in windows during which it was always active; otherwise each new flow would look unfair.
    present = (shares["t"] - WIDTH_S >= names.map(first)) & (shares["t"] <= names.map(last))
    rows = [(t, len(each), jain_index(each.tolist())) for t, each in shares[present].groupby("t")["mbps"]]
    return pd.DataFrame(rows, columns=["t", "flows", "jain"]).dropna().reset_index(drop=True)


def convergence_times(flows: pd.DataFrame, end_ns: int, bin_ns: int) -> dict[str, float]:
    """Convergence time in s of each flow that starts while another flow has been active for at least 2 s. It begins
    with the first byte that the receiver of the new flow reads. It ends with the first sliding window from which Jain's
    index of all active flows stays at 0.9 or above for 5 s, or until the next flow starts or stops, if that is sooner.
    A flow that does not converge has no value.
    """
    first, last = _present(flows)
    joining = {flow for flow, at in first.items() if any(first[o] + WIDTH_S < at < last[o] for o in first)}
    if not joining:
        return {}
    fairness = jain_over_time(flows, Window(0, end_ns), bin_ns)
    changes = np.array(sorted({*first.values(), *last.values()}))
    found = {}
    for flow, joined in first.items():
        if flow not in joining:
            continue
        until = changes[changes > joined + bin_ns / NANOSECONDS].min(initial=end_ns / NANOSECONDS)
        at = _fair_from(fairness[(fairness["t"] > joined) & (fairness["t"] <= until)])
        if at is not None:
            found[flow] = at - joined
    return found


def _present(flows: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """First and last time at which each flow was active, in s."""
    names, at = grouped(flows["flow"]), numbers(flows["t"])
    first, last = (dict(zip(names.names, ends.tolist(), strict=True)) for ends in (names.minima(at), names.maxima(at)))
    return first, last


def _fair_from(fairness: pd.DataFrame) -> float | None:
    """The time from which the flows share fairly for `HOLD_S` or until the end; None if they do not."""
    t, jain = fairness["t"].to_numpy(dtype=np.float64), fairness["jain"].to_numpy(dtype=np.float64)
    for place in np.flatnonzero(jain >= FAIR):
        held = jain[(t >= t[place]) & (t <= t[place] + HOLD_S)]
        if (held >= FAIR).all():
            return float(t[place])
    return None


def flow_events(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    """Start and end of flows with `bytes`, as rows of `events`: that table, or those of a kernel's `completions`."""
    if "events" in frames:
        return frames["events"]
    if "completions" not in frames:
        return None
    found = frames["completions"]
    ends = found.assign(t=found["t"] + found["completion_s"]).dropna()
    parts = [found.assign(what="flow_start"), ends.assign(what="flow_end")]
    return pd.concat(parts, ignore_index=True)[["t", "what", "flow"]]


def completion_times(events: pd.DataFrame, sized: Collection[str], window: Window) -> dict[str, float]:
    """Flow completion times in s of the flows with `bytes` that began in the window: from `connect()` to the
    acknowledgement of the last byte. A flow that did not complete within the run has no value.
    """
    of_flows = events[events["flow"].isin(list(sized))]
    at = nanoseconds(of_flows)
    inside = (at >= window.start_ns) & (at < window.end_ns)
    starts = of_flows[(of_flows["what"] == "flow_start") & inside].groupby("flow")["t"].min()
    ends = of_flows[of_flows["what"] == "flow_end"].groupby("flow")["t"].max()
    lasted = (ends - starts).dropna()
    return {str(flow): float(seconds) for flow, seconds in lasted.items()}


def request_latencies(requests: pd.DataFrame, window: Window) -> Samples:
    """Latencies in ms of the requests that were sent in the window and answered: from when the client writes a request
    to when it reads the last byte of the answer. The connection is open by then.
    """
    found = window.samples(requests)["latency_ms"].dropna()
    return found.to_numpy(dtype=np.float64)


def unfinished(events: pd.DataFrame, sized: Collection[str], window: Window) -> int:
    """Flows with `bytes` that began in the window and did not complete within the run. Completion times do not include
    them, so that these are too short if there are many.
    """
    of_flows = events[events["flow"].isin(list(sized))]
    begun = set(window.samples(of_flows[of_flows["what"] == "flow_start"])["flow"])
    return len(begun - set(of_flows[of_flows["what"] == "flow_end"]["flow"]))


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
