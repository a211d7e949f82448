"""Maps the hosts, links and devices of a scenario to a testbed.

A host is a machine or a switch. A device of a machine connects to one neighbour. The address of a host, seen from
another host, is that of the device on which packets from there arrive.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tailback.backends.backend import Unsuitable
from tailback.backends.linux.hops import first_hops, hops_of
from tailback.backends.linux.links import Hop
from tailback.backends.ssh.facts import Device, Facts
from tailback.resolved import Scenario
from tailback.testbed import Interface, Machine, Testbed


@dataclass(frozen=True)
class Port(Hop):
    """A hop whose sending device belongs to a machine."""

    name: str
    owner: str

    @property
    def device(self) -> str:
        """The name of the device on the machine."""
        return self.name


@dataclass(frozen=True)
class Layout:
    """The mapping of a scenario to a testbed."""

    scenario: Scenario
    testbed: Testbed
    facts: Mapping[str, Facts]
    """The facts of the machines used, by host."""

    @property
    def hops(self) -> list[Hop]:
        """All directions of all links."""
        return hops_of(self.scenario)

    def name(self, host: int) -> str:
        """Name of a host of the scenario."""
        return str(self.scenario.hosts[host].name)

    @property
    def ports(self) -> list[Port]:
        """All devices that send on a link."""
        return [self._port(hop) for hop in self.hops if self.name(hop.host) in self.facts]

    def port(self, hop: Hop) -> Port | None:
        """The device that sends on a hop; `None` at a switch."""
        return self._port(hop) if self.name(hop.host) in self.facts else None

    def interface(self, hop: Hop) -> Interface:
        """The entry of the testbed file for the device that sends on a hop."""
        return self.testbed.machines[self.name(hop.host)].interfaces[self.name(hop.neighbour)]

    def device(self, port: Port) -> Device:
        """The facts of a device."""
        return self.facts[port.owner].devices[port.name]

    def address(self, hop: Hop) -> ipaddress.IPv4Interface:
        """Address of the device that sends on a hop."""
        given = self.interface(hop).address
        if given is not None:
            return ipaddress.IPv4Interface(given)
        facts = self.facts[self.name(hop.host)]
        name = facts.interfaces[self.name(hop.neighbour)]
        found = facts.devices[name].addresses
        if not found:
            hint = f"give it one, or write it: {{device: {name}, address: 10.0.1.1/24}}"
            place = f"`{name}` of host `{facts.host}`"
            raise Unsuitable(f"{place} has no IPv4 address\n  hint: {hint}")
        return found[0]

    def target(self, source: int, target: int) -> ipaddress.IPv4Address:
        """The address of `target` at which packets from `source` arrive."""
        return self.address(first_hops(self.hops, target)[source]).ip

    def gateway(self, source: int, target: int) -> tuple[Hop, Hop | None]:
        """The first hop of a path, and the hop back from the next router, which may be behind switches; `None` if there
        is no router in between."""
        hops = self.hops
        first = first_hops(hops, source)[target]
        here = first
        while self.name(here.neighbour) in self.testbed.switches and here.neighbour != target:
            here = first_hops(hops, here.neighbour)[target]
        if here.neighbour == target:
            return first, None
        return first, first_hops(hops, here.neighbour)[source]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The pairs of hosts that exchange packets, in both directions."""
        seen: dict[tuple[int, int], None] = {}
        for entry in self.scenario.flows:
            seen[entry.source, entry.target] = None
            seen[entry.target, entry.source] = None
        yield from seen

    def forwarders(self) -> list[str]:
        """Machines with more than one link."""
        counts: dict[str, int] = {}
        for port in self.ports:
            counts[port.owner] = counts.get(port.owner, 0) + 1
        return [name for name, count in counts.items() if count > 1]

    def _port(self, hop: Hop) -> Port:
        owner = self.name(hop.host)
        device = self.facts[owner].interfaces[self.name(hop.neighbour)]
        return Port(hop.link, hop.end, hop.host, hop.neighbour, device, owner)


def missing(scenario: Scenario, testbed: Testbed) -> Iterator[tuple[str, str]]:
    """The parts of the scenario that the testbed lacks."""
    names = scenario.host_names
    for name in names:
        if name not in testbed.keys.hosts:
            yield f"`{testbed.path}` has no host `{name}`", f"it has {', '.join(testbed.keys.hosts)}"
    for hop in hops_of(scenario):
        here, there = names[hop.host], names[hop.neighbour]
        machine = testbed.machines.get(here)
        if machine is not None and there not in machine.interfaces:
            yield (
                f"`{testbed.path}` has no device of `{here}` towards `{there}`",
                f"add it: hosts.{here}.interfaces: {{{there}: eth1}}",
            )
    for entry in scenario.flows:
        for end in (entry.source, entry.target):
            if names[end] in testbed.switches:
                yield f"`{entry.name}` begins or ends at `{names[end]}`, a switch", "name a machine"


def taking_part(scenario: Scenario, testbed: Testbed) -> dict[str, Machine]:
    """The machines of a scenario, in the order of its hosts."""
    machines = testbed.machines
    return {host.name: machines[host.name] for host in scenario.hosts if host.name in machines}
