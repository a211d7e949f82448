"""One configuration of an experiment with the facts that warnings are about: its flows, devices, rates and paths."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from msgspec import Struct

from tailback.algorithms import Registry
from tailback.qdiscs import series
from tailback.resolved import Device, Qdisc, rates_of, shaped_rate
from tailback.scenario.check import window_of
from tailback.scenario.experiment import Configuration
from tailback.scenario.flows import flows
from tailback.scenario.hops import network_of
from tailback.scenario.meanings import KINDS
from tailback.scenario.network import Network
from tailback.scenario.packets import Packets, data_of, is_over_tcp, packets_of
from tailback.scenario.paths import Loc
from tailback.scenario.resolve import devices
from tailback.scenario.schema import Keys
from tailback.scenario.traffic import Flow
from tailback.scenario.traffic.tcp import Bulk
from tailback.scenario.values import direction

#: Bytes of an Ethernet header, which a queue discipline counts in addition to the IP packet. [linux-6.12 psched_mtu]
HEADER = 14


class Mistake(Struct, frozen=True):
    """A likely mistake, before it is known where it stands in the file."""

    code: str
    severity: Literal["warning", "info"]
    loc: Loc
    text: str
    remedy: str
    extent: float = 0.0


class Case:
    """One configuration, with the derived values that the checks use."""

    def __init__(self, configuration: Configuration, registry: Registry) -> None:
        self.keys: Keys = configuration.keys
        self.registry = registry
        self.network: Network = network_of(self.keys)
        self.flows: list[Flow] = flows(self.keys)
        self.window = window_of(self.keys)

    @cached_property
    def bulk(self) -> list[Bulk]:
        return [flow for flow in self.flows if isinstance(flow, Bulk)]

    @cached_property
    def devices(self) -> dict[str, Device]:
        return devices(self.keys)

    def device(self, name: str) -> Device:
        """The device of a name of the file or of the network."""
        return self.devices[self.network.device_named(*direction(name)) or name]

    def rate(self, device: str) -> int | None:
        """The highest rate of a device over the run."""
        rates = [rate for _, rate in rates_of(self.device(device))]
        return max((rate for rate in rates if rate is not None), default=None)

    def round_trip(self, flow: Flow) -> int:
        """Propagation delay of a round trip, ns."""
        return sum(self.network.hops[link].round_trip_ns for link, _ in self.network.links_on(*flow.direction))

    def through(self, device: str) -> list[Bulk]:
        """The TCP flows whose data passes a device."""
        links, sender = self.network.devices[self.device(device).name], direction(device).source
        return [flow for link in links for flow in self.by_hop.get((link, sender), [])]

    def crossing(self, device: str) -> list[Packets]:
        """All traffic whose packets pass a device, with where they go; those of TCP, pings and calls go both ways."""
        links, sender = self.network.devices[self.device(device).name], direction(device).source
        hops = {(link, sender) for link in links}
        return [each for each in self._packets if hops & set(self.network.links_on(*each.way))]

    def data_through(self, device: str) -> list[Flow]:
        """The flows whose data passes a device."""
        return [each.flow for each in self.crossing(device) if each.is_data]

    def over_tcp_through(self, device: str) -> list[Flow]:
        """The traffic over TCP whose data passes a device."""
        return [flow for flow in self.data_through(device) if is_over_tcp(flow)]

    def first_start(self, host: str, earliest: int) -> int:
        """When the first traffic that passes a host begins, at the earliest at a time; that time if there is none."""
        return max(earliest, self._first_starts.get(host, earliest))

    @cached_property
    def _first_starts(self) -> dict[str, int]:
        """When the first traffic begins that passes each host."""
        found: dict[str, int] = {}
        for each in self._packets:
            for link, _ in self.network.links_on(*each.way):
                for host in self.network.hops[link].ends:
                    found[host] = min(each.flow.start_ns, found.get(host, each.flow.start_ns))
        return found

    @cached_property
    def over_tcp(self) -> list[Flow]:
        return [flow for flow in self.flows if is_over_tcp(flow)]

    @cached_property
    def _packets(self) -> list[Packets]:
        return [each for flow in self.flows for each in packets_of(flow)]

    @cached_property
    def by_hop(self) -> dict[tuple[int, str], list[Bulk]]:
        """TCP flows by each link on their path and the host that sends into it."""
        found: dict[tuple[int, str], list[Bulk]] = {}
        for flow in self.bulk:
            for hop in self.network.links_on(*flow.direction):
                found.setdefault(hop, []).append(flow)
        return found

    @cached_property
    def senders(self) -> frozenset[str]:
        """Hosts that send as much data as their sockets accept."""
        sending = KINDS["sending"]
        return frozenset(each.way.source for each in self._packets if each.is_data and each.flow.kind in sending)

    def first_queue(self, flow: Flow) -> str | None:
        """The kind of the discipline that queues the sender's packets, below any shaper; None if the file has none."""
        first = self.network.links_on(*data_of(flow))[:1]
        roots = (self.devices[self.network.device(*hop)].root for hop in first)
        return next((leaf(root).kind for root in roots if root is not None), None)

    def frame(self, device: str) -> int:
        """The longest frame of a device, in bytes."""
        return HEADER + self.network.hops[self.device(device).link].mtu

    def option(self, qdisc: Qdisc, name: str) -> int | None:
        """An option as given, else its default in the registry; None if it has none."""
        row = next((row for row in self.registry.qdiscs if row.name == qdisc.kind), None)
        parameter = row.parameter(name) if row is not None else None
        return qdisc.options.get(name, parameter.default if parameter is not None else None)


def leaf(root: Qdisc) -> Qdisc:
    """The queue below a shaper; of disciplines in series, that of the stage that shapes, else of the last."""
    if root.kind == series.KIND:
        stages = [stage for _, stage in root.children]
        return leaf(([stage for stage in stages if shaped_rate(stage) is not None] or stages)[-1])
    return root if root.child is None else leaf(root.child)
