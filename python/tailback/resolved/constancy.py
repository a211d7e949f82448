"""What stays the same in a part of a run: the flows that send throughout, what the file lets change, and the rate that
the paths of the flows allow.
"""

from collections.abc import Iterator

from tailback.resolved.devices import Device, mean_rate
from tailback.resolved.paths import Paths
from tailback.resolved.scenario import Scenario
from tailback.resolved.traffic import Flow, Page, Ping, Request, Tcp

Span = tuple[int, int]
"""The window, in ns of the run."""

PART = 0.05
"""The part of the window by which the start or the stop of a flow must lie inside to count as a change."""


def changes(scenario: Scenario, window_ns: Span) -> tuple[str, ...]:
    """What the file lets change inside the window, in words; a run of it has no one steady state."""
    return tuple(dict.fromkeys((*_of_flows(scenario, window_ns), *_of_links(scenario, window_ns))))


def lasting(scenario: Scenario, window_ns: Span) -> tuple[str, ...]:
    """The flows that send without an end of their own during half of the window or more."""
    start, end = window_ns
    found = []
    for flow in scenario.flows:
        if isinstance(flow, Page | Ping) or _has_size(flow):
            continue
        stop = end if flow.stop_ns is None else min(end, flow.stop_ns)
        if 2 * (stop - max(start, flow.start_ns)) >= end - start:
            found.append(flow.name)
    return tuple(found)


def capacity_bps(scenario: Scenario, window_ns: Span) -> float | None:
    """The sum of the rates of the slowest devices on the paths of the TCP flows; `None` if a path has a radio or no
    rate.
    """
    paths, slowest = Paths(scenario), dict[str, float]()
    for ends in {(flow.source, flow.target) for flow in scenario.tcp}:
        known = [_rate(device, window_ns) for device in paths.way(*ends) or ()]
        rates = [each for each in known if each is not None]
        if not rates or len(rates) < len(known):
            return None
        name, rate = min(rates, key=lambda each: each[1])
        slowest[name] = rate
    return sum(slowest.values()) or None


def _rate(device: Device, window_ns: Span) -> tuple[str, float] | None:
    rate = None if device.wire is None else mean_rate(device, *window_ns)
    return None if rate is None else (device.name, float(rate))


def _has_size(flow: Flow) -> bool:
    """Whether a flow ends by itself."""
    return (isinstance(flow, Tcp) and flow.bytes is not None) or (isinstance(flow, Request) and flow.count is not None)


def _of_flows(scenario: Scenario, window_ns: Span) -> Iterator[str]:
    start, end = window_ns
    margin = PART * (end - start)
    # A probe of responsiveness is one short answer, which changes nothing for the others.
    data = [flow for flow in scenario.flows if not isinstance(flow, Ping) and not _is_probe(flow)]
    began = max(start, min((flow.start_ns for flow in data), default=start))
    for flow in data:
        if flow.start_ns >= end:
            continue
        if isinstance(flow, Page) or _has_size(flow):
            yield "flows with a size"
        elif flow.start_ns > began + margin:
            yield "flows that start"
        if not isinstance(flow, Page) and flow.stop_ns is not None and start < flow.stop_ns < end - margin:
            yield "flows that stop"


def _is_probe(flow: Flow) -> bool:
    return isinstance(flow, Request) and flow.count == 1


def _of_links(scenario: Scenario, window_ns: Span) -> Iterator[str]:
    start, end = window_ns
    stations = (station for cell in scenario.cells for station in cell.stations)
    if any(start < change.at_ns < end for station in stations for change in station.schedule):
        yield "a Wi-Fi cell with a schedule"
    for link in scenario.links:
        if any(start < change.at_ns < end for change in link.schedule):
            yield "a link with a schedule"
        if any(trace is not None for trace in link.trace):
            yield "a link with a trace"
