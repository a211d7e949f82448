"""The network of a scenario: its hops, the first of them on the way to a host, and the addresses of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailback.backends.linux.links import FRAMING, Hop, cuts_segments
from tailback.backends.linux.steps import Words
from tailback.resolved import Link, Scenario


@dataclass(frozen=True)
class Family:
    """The addresses of one version of IP. Each link is a network, and the ends of a link are its hosts 1 and 2."""

    version: int
    prefix: int
    """Bits of the network."""
    longest: int
    """Bits of an address."""

    def network(self, link: int) -> str:
        """The network of a link."""
        return f"10.{link >> 8}.{link & 255}.0" if self.version == 4 else f"fd00:{link:x}::"

    def address(self, link: int, end: int) -> str:
        """The address of an end of a link."""
        return f"10.{link >> 8}.{link & 255}.{end + 1}" if self.version == 4 else f"{self.network(link)}{end + 1}"

    @property
    def words(self) -> Words:
        """The option of `ip`."""
        return [] if self.version == 4 else ["-6"]


V4 = Family(4, 24, 32)
V6 = Family(6, 64, 128)


def families_of(scenario: Scenario) -> list[Family]:
    """The versions of IP that the flows use; IPv4 is always there."""
    return [V4, V6] if any(flow.ip == V6.version for flow in scenario.tcp) else [V4]


def hops_of(scenario: Scenario) -> list[Hop]:
    """All devices of wired links, two per link."""
    return [
        Hop(number, end, link.ends[end], link.ends[1 - end], framing=_framing(scenario, link, link.ends[end]))
        for number, link in enumerate(scenario.links)
        for end in (0, 1)
    ]


def _framing(scenario: Scenario, link: Link, host: int) -> int:
    return 0 if cuts_segments(scenario, link, host) else FRAMING


def radio_hops(scenario: Scenario) -> list[Hop]:
    """The ways between stations and their access points, two for each station; at the access point all have one device.
    They are numbered after the wired links, cell by cell."""
    pairs = [(cell, place.access_point, station.host) for cell, place in enumerate(scenario.cells)
             for station in place.stations]  # fmt: skip
    return [
        Hop(number, end, hosts[end], hosts[1 - end], cell=cell)
        for number, (cell, *hosts) in enumerate(pairs, len(scenario.links))
        for end in (0, 1)
    ]


def first_hops(hops: Sequence[Hop], source: int) -> dict[int, Hop]:
    """The first hop from `source` to each host that it can reach; links are tried in order."""
    found: dict[int, Hop] = {}
    frontier = [source]
    while frontier:
        here = frontier.pop(0)
        for hop in hops:
            if hop.host == here and hop.neighbour != source and hop.neighbour not in found:
                found[hop.neighbour] = found.get(here, hop)
                frontier.append(hop.neighbour)
    return found


def next_hops(scenario: Scenario, hops: Sequence[Hop], source: int) -> dict[int, Hop]:
    """The first hop from `source` to each host: that of a route of the file, else of the shortest path."""
    given = {
        route.to: hop
        for route in scenario.routes
        for hop in hops
        if (route.host, route.link) == (hop.host, hop.link) and route.host == source
    }
    return {**first_hops(hops, source), **given}


def has_one_way(scenario: Scenario) -> bool:
    """Whether there is exactly one path between any two hosts, and the file has no routes."""
    if scenario.cells:
        return False
    hops, left, islands = hops_of(scenario), set(range(len(scenario.hosts))), 0
    while left:
        here = left.pop()
        left -= set(first_hops(hops, here))
        islands += 1
    return not scenario.routes and len(scenario.links) == len(scenario.hosts) - islands
