"""Hosts and links as a graph, and what is wrong with it.

A network is a tree for now: between any two hosts there is exactly one path, so no routes are to be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from tailback.scenario.errors import nearest_hint
from tailback.scenario.paths import Loc


class Problem(NamedTuple):
    """Something wrong at a key, before its line is looked up."""

    loc: Loc
    message: str
    hint: str


@dataclass(frozen=True)
class Hop:
    """A link as a packet meets it: one of the file, or the way of a station to its access point."""

    ends: tuple[str, str]
    place: Loc
    """Its place in the file."""
    end_places: tuple[Loc, Loc]
    rate: int | None
    round_trip_ns: int
    """Propagation there and back."""
    mtu: int
    mtu_place: Loc
    radio: bool


@dataclass(frozen=True)
class Network:
    """Hosts in the order of the file, and the links: those of Wi-Fi cells after all others."""

    hosts: tuple[str, ...]
    hops: tuple[Hop, ...]

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """The two hosts of each link."""
        return tuple(hop.ends for hop in self.hops)

    @cached_property
    def links(self) -> dict[frozenset[str], int]:
        """Links by the pair of hosts they join."""
        return {frozenset(ends): index for index, ends in enumerate(self.ends)}

    def link(self, one: str, other: str) -> int | None:
        """The link that joins two hosts."""
        return self.links.get(frozenset((one, other)))

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """The hosts one link away from each host."""
        return _neighbours(self.ends)

    def path(self, source: str, target: str) -> list[str] | None:
        """The hosts on the way from one host to another, both included; None if there is no way."""
        return _path(self.neighbours, source, target)

    def links_on(self, source: str, target: str) -> list[tuple[int, str]]:
        """The links on the way, each with the host that sends into it."""
        hosts = self.path(source, target) or []
        found = [(self.link(one, other), one) for one, other in pairwise(hosts)]
        return [(index, sender) for index, sender in found if index is not None]


def named_hosts(ends: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The hosts that links name, in order."""
    return tuple(dict.fromkeys(host for pair in ends for host in pair))


def problems(network: Network) -> Iterator[Problem]:
    """Everything that keeps the network from being a tree over its hosts."""
    sound: dict[str, list[str]] = {}
    whole = True
    for hop in network.hops:
        ends = hop.ends
        wrong = list(_wrong_ends(network, hop)) or list(_cycle(sound, hop))
        if wrong:
            whole = False
            yield from wrong
        else:
            _join(sound, ends)
    if whole:
        yield from _unreached(network)


def _wrong_ends(network: Network, hop: Hop) -> Iterator[Problem]:
    for place, host in zip(hop.end_places, hop.ends, strict=True):
        if host not in network.hosts:
            message = f"there is no host `{host}`"
            yield Problem(place, message, nearest_hint(host, network.hosts))
    if hop.ends[0] == hop.ends[1]:
        message = f"joins `{hop.ends[0]}` with itself"
        place = hop.end_places[1] if hop.radio else (*hop.place, "ends")
        yield Problem(place, message, "name two different hosts: ends: [client, router]")


def _cycle(sound: dict[str, list[str]], hop: Hop) -> Iterator[Problem]:
    cycle = _path(sound, *hop.ends)
    if cycle is not None:
        around = " - ".join([*cycle, cycle[0]])
        hint = "the network must be a tree, with one path between any two hosts: remove one of these links"
        yield Problem(hop.place, f"closes a cycle: {around}", hint)


def _unreached(network: Network) -> Iterator[Problem]:
    first = network.hosts[0]
    reached = _came_from(network.neighbours, first)
    for host in network.hosts:
        if host not in reached:
            message = f"no path of links leads from `{first}` to `{host}`"
            loc: Loc = ("hosts", host)
            if host in network.neighbours:
                loc = next(hop.place for hop in network.hops if host in hop.ends)
            yield Problem(loc, message, "add a link that joins it to the others, or remove it")


def _neighbours(ends: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in ends:
        _join(found, pair)
    return found


def _join(neighbours: dict[str, list[str]], ends: tuple[str, str]) -> None:
    one, other = ends
    neighbours.setdefault(one, []).append(other)
    neighbours.setdefault(other, []).append(one)


def _path(neighbours: dict[str, list[str]], source: str, target: str) -> list[str] | None:
    came_from = _came_from(neighbours, source)
    if target not in came_from:
        return None
    hosts: list[str] = []
    step: str | None = target
    while step is not None:
        hosts.append(step)
        step = came_from[step]
    return hosts[::-1]


def _came_from(neighbours: dict[str, list[str]], source: str) -> dict[str, str | None]:
    came_from: dict[str, str | None] = {source: None}
    frontier = [source]
    while frontier:
        host = frontier.pop()
        for neighbour in neighbours.get(host, []):
            if neighbour not in came_from:
                came_from[neighbour] = host
                frontier.append(neighbour)
    return came_from
