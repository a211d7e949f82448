"""The summary of one run: the numbers of design §4, over the measurement window.

Unknown = absent, never 0: a metric is there if the table it needs is, and if there was anything to measure. A flow
that was there and received nothing has a goodput of 0, for that is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis import metrics
from tailback.analysis.warmup import steady_from
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

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

    @property
    def flows(self) -> tuple[str, ...]:
        """All flows with a goodput."""
        return self.tcp_flows + self.other_flows

    def towards(self, direction: str) -> frozenset[str]:
        """The flows in this direction."""
        return frozenset(flow for flow, known in self.directions.items() if known == direction)


def summarise(frames: Frames, cost: Mapping[str, float], measure: Measure) -> dict[str, Any]:
    """The summary of a run from its tables, keys in the order of design §4."""
    goodput = _goodput_of_flows(frames, measure)
    tcp = [goodput[flow] for flow in measure.tcp_flows if flow in goodput]
    jain = metrics.jain_index(tcp)
    found = {
        "goodput_mbps": _goodput(goodput, measure),
        "ping_ms": _ping(frames, measure.window),
        **_of_tcp_info(frames, measure),
        "jain": None if jain is None else metrics.rounded(jain),
        "retransmits": _retransmits(frames, measure),
        **_of_events(frames, measure.window),
        "steady_from_s": steady_from(frames, measure.window, measure.bin_ns) or None,
        "cost": {name: cost[name] for name in COST if name in cost} or None,
    }
    return {name: value for name, value in found.items() if value is not None}


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
    }


def _tcp_rtt(tcp_info: pd.DataFrame, window: Window) -> dict[str, float] | None:
    return metrics.percentiles(metrics.tcp_rtt_samples(tcp_info, window))


def _only(tcp_info: pd.DataFrame, flows: frozenset[str]) -> pd.DataFrame:
    return tcp_info[np.isin(tcp_info["flow"].to_numpy(dtype=object), list(flows))]


def _retransmits(frames: Frames, measure: Measure) -> int | None:
    if "tcp_info" not in frames or not measure.tcp_flows:
        return None
    return metrics.retransmits(frames["tcp_info"], measure.window)


def _of_events(frames: Frames, window: Window) -> dict[str, Any]:
    if "events" not in frames:
        return {}
    return {"drops": metrics.drops(frames["events"], window), "marks": metrics.marks(frames["events"], window)}
