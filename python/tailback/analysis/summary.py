"""The summary of one run: the numbers of design §4, over the measurement window.

Unknown = absent, never 0: a metric is there if the table it needs is, and if there was anything to measure. A flow
that was there and received nothing has a goodput of 0, for that is known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis import metrics, queues, rates, sharing, udp, wifi
from tailback.analysis.warmup import steady_from
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

CONTRACT = (
    "goodput_mbps", "ping_ms", "tcp_rtt_ms", "tcp_rtt_up_ms", "tcp_rtt_down_ms", "cwnd_segments", "jain", "retransmits",
    "drops", "marks", "ampdu_mpdus", "airtime_share", "cost",
)  # fmt: skip
"""What design §4 names comes first, in its order; the other metrics follow."""

COST = ("wall_s", "sim_s", "events", "packets")
"""What of the cost the summary repeats; the manifest holds all of it."""

Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Measure:
    """What a summary must know of a run beside its tables."""

    window: Window
    bin_ns: int
    """Width of the bins of `flows`."""
    tcp_flows: tuple[str, ...]
    other_flows: tuple[str, ...]
    """Flows with a goodput that are not TCP (UDP)."""
    directions: Mapping[str, str]
    sized_flows: tuple[str, ...] = ()
    """TCP flows that end after so many bytes."""
    rates_bps: Mapping[str, int] = field(default_factory=dict)
    """Of the devices that have one: of their shaper, else of their link."""
    radios: tuple[wifi.Pair, ...] = ()
    """Each station of a Wi-Fi cell, with its access point before it."""

    @property
    def flows(self) -> tuple[str, ...]:
        """All flows with a goodput."""
        return self.tcp_flows + self.other_flows

    def towards(self, direction: str) -> frozenset[str]:
        """The flows in this direction."""
        return frozenset(flow for flow, known in self.directions.items() if known == direction)


def summarise(frames: Frames, cost: Mapping[str, float], measure: Measure) -> dict[str, Any]:
    """The summary of a run from its tables."""
    goodput = _goodput_of_flows(frames, measure)
    tcp = [goodput[flow] for flow in measure.tcp_flows if flow in goodput]
    jain = metrics.jain_index(tcp)
    found = {
        "goodput_mbps": _goodput(goodput, measure),
        "ping_ms": _ping(frames, measure.window),
        "pings_ms": _pings(frames, measure.window),
        **_of_tcp_info(frames, measure),
        "jain": None if jain is None else metrics.rounded(jain),
        "power_mbps_per_ms": None,
        "retransmits": _retransmits(frames, measure),
        **_of_events(frames, measure),
        **_of_queues(frames, measure),
        **_of_udp(frames, measure.window),
        **_of_air(frames, measure),
        **_of_sharing(frames, measure),
        "steady_from_s": steady_from(frames, measure.window, measure.bin_ns) or None,
        "cost": {name: cost[name] for name in COST if name in cost} or None,
    }
    found |= _of_captures(frames, measure.window)
    found["power_mbps_per_ms"] = _power(found)
    known = {name: value for name, value in found.items() if value is not None}
    return {name: known[name] for name in (*(name for name in CONTRACT if name in known), *known)}


def _of_captures(frames: Frames, window: Window) -> dict[str, Any]:
    """Of the tables that only captures give."""
    columns = {"passive_rtt": "rtt_ms", "one_way_delay": "owd_ms"}
    return {
        f"{table}_ms": metrics.percentiles(window.samples(frames[table])[column].to_numpy(dtype=np.float64))
        for table, column in columns.items()
        if table in frames
    }


def _power(found: Mapping[str, Any]) -> float | None:
    if found["goodput_mbps"] is None or found.get("tcp_rtt_ms") is None:
        return None
    ratio = rates.power(found["goodput_mbps"]["total"], found["tcp_rtt_ms"]["mean"])
    return None if ratio is None else metrics.rounded(ratio)


def _goodput_of_flows(frames: Frames, measure: Measure) -> dict[str, float]:
    if "flows" not in frames:
        return {}
    seen = metrics.goodput(frames["flows"], measure.window, measure.bin_ns)
    return {flow: seen.get(flow, 0.0) for flow in measure.flows}


def _goodput(flows: Mapping[str, float], measure: Measure) -> dict[str, Any] | None:
    if not flows:
        return None
    sums: dict[str, float] = {"total": sum(flows.values())}
    for direction in (UP, DOWN):
        theirs = [flows[flow] for flow in flows if flow in measure.towards(direction)]
        if theirs:
            sums[direction] = sum(theirs)
    return {**metrics.rounded_each(sums), "flows": metrics.rounded_each(flows)}


def _ping(frames: Frames, window: Window) -> dict[str, float] | None:
    return metrics.percentiles(metrics.ping_samples(frames["ping"], window)) if "ping" in frames else None


def _pings(frames: Frames, window: Window) -> dict[str, Any] | None:
    """Of each ping, if there are several."""
    if "ping" not in frames or frames["ping"]["ping"].nunique() < 2:
        return None
    samples = metrics.ping_samples_by_name(frames["ping"], window)
    return {name: metrics.percentiles(values) for name, values in samples.items()} or None


def _of_tcp_info(frames: Frames, measure: Measure) -> dict[str, Any]:
    if "tcp_info" not in frames:
        return {}
    table = frames["tcp_info"]
    cwnd = {flow: metrics.percentiles(samples) for flow, samples in metrics.cwnd_samples(table, measure.window).items()}
    return {
        "tcp_rtt_ms": _tcp_rtt(table, measure.window),
        "tcp_rtt_up_ms": _tcp_rtt(_only(table, measure.towards(UP)), measure.window),
        "tcp_rtt_down_ms": _tcp_rtt(_only(table, measure.towards(DOWN)), measure.window),
        "cwnd_segments": {flow: values for flow, values in cwnd.items() if values} or None,
        "pacing_rate_mbps": _rates(rates.pacing_rate_samples, table, measure.window),
        "delivery_rate_mbps": _rates(rates.delivery_rate_samples, table, measure.window),
    }


def _rates(
    read: Callable[[pd.DataFrame, Window], metrics.Samples], table: pd.DataFrame, window: Window
) -> dict[str, float] | None:
    """Absent where a backend does not see them."""
    column = read.__name__.removesuffix("_samples")
    return metrics.percentiles(read(table, window)) if column in table else None


def _tcp_rtt(tcp_info: pd.DataFrame, window: Window) -> dict[str, float] | None:
    return metrics.percentiles(metrics.tcp_rtt_samples(tcp_info, window))


def _only(tcp_info: pd.DataFrame, flows: frozenset[str]) -> pd.DataFrame:
    return tcp_info[np.isin(tcp_info["flow"].to_numpy(dtype=object), list(flows))]


def _retransmits(frames: Frames, measure: Measure) -> int | None:
    if "tcp_info" not in frames or not measure.tcp_flows or "total_retrans" not in frames["tcp_info"]:
        return None
    return metrics.retransmits(frames["tcp_info"], measure.window)


def _of_events(frames: Frames, measure: Measure) -> dict[str, Any]:
    if "events" not in frames:
        return {}
    events, window = frames["events"], measure.window
    sized = measure.sized_flows
    completed = list(sharing.completion_times(events, sized, window).values()) if sized else []
    return {
        "drops": metrics.drops(events, window),
        "marks": metrics.marks(events, window),
        "marks_by": metrics.marks_by_reason(events, window) or None,
        "recoveries": metrics.recoveries(events, window) or None,
        "flow_completion_s": metrics.percentiles(np.array(completed)),
    }


def _of_queues(frames: Frames, measure: Measure) -> dict[str, Any]:
    if "qdisc" not in frames:
        return {}
    used = queues.utilisation(frames["qdisc"], measure.rates_bps, measure.window)
    held = queues.sojourn_samples(frames["qdisc"], measure.window)
    return {
        "utilisation": metrics.rounded_each(used) or None,
        "sojourn_ms": {device: metrics.percentiles(samples) for device, samples in held.items()} or None,
    }


def _of_udp(frames: Frames, window: Window) -> dict[str, Any]:
    if "udp" not in frames:
        return {}
    delays = udp.udp_delay_samples(frames["udp"], window)
    return {
        "udp_loss": metrics.rounded_each(udp.udp_loss(frames["udp"], window)) or None,
        "udp_delay_ms": {flow: metrics.percentiles(samples) for flow, samples in delays.items()} or None,
    }


def _of_air(frames: Frames, measure: Measure) -> dict[str, Any]:
    if "wifi" not in frames:
        return {}
    table, window = frames["wifi"], measure.window
    sizes = wifi.ampdu_samples(table, measure.radios, window)
    shares = wifi.airtime_share(table, measure.radios, window)
    return {
        "ampdu_mpdus": {way: metrics.percentiles(samples) for way, samples in sizes.items()} or None,
        "airtime_share": metrics.rounded_each(shares) or None,
    }


def _of_sharing(frames: Frames, measure: Measure) -> dict[str, Any]:
    """How flows that were not there from the start on came to their share."""
    if "flows" not in frames or frames["flows"].empty:
        return {}
    tcp = _only(frames["flows"], frozenset(measure.tcp_flows) - frozenset(measure.sized_flows))
    times = sharing.convergence_times(tcp, measure.window.end_ns, measure.bin_ns) if len(tcp) else {}
    return {"convergence_s": metrics.rounded_each(times) or None}
