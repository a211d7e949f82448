"""Which TCP flows compete: those whose data must share what may be their bottleneck.

Several flows meet at a device if their data leaves through it; data in the other direction of a full-duplex link leaves
through another. They compete there if together they can bring more than its rate. A path brings at most the rate of its
narrowest device; paths with the same narrowest device bring that rate once. Where it is this device itself, each flow
can fill it. Radios on one channel share the air, so all flows over it compete, in both directions. Flows between the
same two hosts compete, too. Competition is transitive: in a parking lot, each cross flow competes with the
long flow, and by way of it with the others.

Names of hosts and the order of links have no influence. Acknowledgements are not data.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tailback.resolved.devices import Device, mean_rate
from tailback.resolved.paths import Paths
from tailback.resolved.scenario import Scenario

Ends = tuple[int, int]
"""Source and target of data."""


class Narrowest(NamedTuple):
    """The slowest device of a path."""

    device: str
    rate_bps: float


def competing(scenario: Scenario, window_ns: tuple[int, int]) -> tuple[tuple[str, ...], ...]:
    """The TCP flows in groups that compete, in the order of the scenario; rates are means over the window."""
    flows: dict[Ends, list[str]] = {}
    for flow in scenario.tcp:
        flows.setdefault((flow.source, flow.target), []).append(flow.name)
    counts = {ends: len(names) for ends, names in flows.items()}
    return tuple(
        tuple(name for ends in group for name in flows[ends]) for group in _joined(scenario, window_ns, counts)
    )


def _joined(scenario: Scenario, window_ns: tuple[int, int], counts: Mapping[Ends, int]) -> list[list[Ends]]:
    """The pairs of hosts in groups whose flows compete; `counts` are the flows of each pair."""
    group = {ends: [ends] for ends in counts}
    for met in _contended(scenario, window_ns, counts):
        for one, other in pairwise(met):
            if group[one] is not group[other]:
                group[one].extend(group[other])
                group.update(dict.fromkeys(group[other], group[one]))
    order = {ends: place for place, ends in enumerate(counts)}
    distinct = {id(members): members for members in group.values()}
    return [sorted(members, key=order.__getitem__) for members in distinct.values()]


def _contended(scenario: Scenario, window_ns: tuple[int, int], counts: Mapping[Ends, int]) -> Iterator[Sequence[Ends]]:
    """The pairs of hosts whose flows meet at each device, or on each channel, that can be their bottleneck."""
    paths = Paths(scenario)
    rates = {device.name: mean_rate(device, *window_ns) for device in scenario.devices}
    through: dict[str, list[Ends]] = {}
    over: dict[Hashable, list[Ends]] = {}
    slowest: dict[Ends, Narrowest] = {}
    for ends in counts:
        way = paths.way(*ends) or []
        known = [Narrowest(device.name, rate) for device in way if (rate := rates[device.name]) is not None]
        slowest |= {ends: min(known, key=lambda each: each.rate_bps)} if known else {}
        for device in way:
            through.setdefault(device.name, []).append(ends)
        for channel in {_channel(scenario, device) for device in way if device.wire is None}:
            over.setdefault(channel, []).append(ends)
    yield from over.values()
    for name, met in through.items():
        rate = rates[name]
        if rate is not None and _brought(name, {ends: slowest[ends] for ends in met}, counts) > rate:
            yield met


def _channel(scenario: Scenario, device: Device) -> Hashable:
    """What the radios that share the air have in common: the name of their channel, else their cell."""
    number = scenario.cell_of(device)
    channel = None if number is None else scenario.cells[number].channel
    return number if channel is None else channel


def _brought(name: str, slowest: Mapping[Ends, Narrowest], counts: Mapping[Ends, int]) -> float:
    """The largest rate in bit/s at which flows can bring data to this device."""
    own = [ends for ends, each in slowest.items() if each.device == name]
    elsewhere = {each for each in slowest.values() if each.device != name}
    return sum(counts[ends] * slowest[ends].rate_bps for ends in own) + sum(each.rate_bps for each in elsewhere)
