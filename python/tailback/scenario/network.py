"""Hosts and links as a graph, the paths of packets, and errors in them.

A packet takes the path of fewest links; of several such, the one whose links come first in the file. Routes of the
file take precedence.                                                                [crates/world/src/build/routes.rs]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, field

from tailback.scenario.paths import Loc, show
from tailback.tc.errors import nearest_hint


class Problem(NamedTuple):
    """An error at a key; its line is not known yet."""

    loc: Loc
    message: str
    hint: str
    other: Loc | None = None
    """The other key that it is about, whose line the message then names."""


class Hop(Struct, frozen=True):
    """A link of the graph: a wired link, or the link of a station to its access point."""

    ends: tuple[str, str]
    place: Loc
    """The location of the link in the file."""
    end_places: tuple[Loc, Loc]
    round_trip_ns: int
    """Highest propagation delay of a round trip."""
    mtu: int
    cell: str | None = None
    """The Wi-Fi cell of the link; None for a wired link."""

    @property
    def radio(self) -> bool:
        """Whether the link is Wi-Fi."""
        return self.cell is not None


class Network(Struct, frozen=True, dict=True):
    """Hosts in the order of the file, and links; those of Wi-Fi cells come last."""

    hosts: tuple[str, ...]
    hops: tuple[Hop, ...]
    switches: frozenset[str] = frozenset()
    """The hosts that are switches of shared segments; they come last."""
    routes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Next hop by host and destination, for the routes of the file."""

    @property
    def ends(self) -> tuple[tuple[str, str], ...]:
        """The two hosts of each link."""
        return tuple(hop.ends for hop in self.hops)

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each host."""
        return {host: place for place, host in enumerate(self.hosts)}

    @cached_property
    def links(self) -> dict[frozenset[str], int]:
        """Link numbers by pair of hosts."""
        return {frozenset(ends): index for index, ends in enumerate(self.ends)}

    def link(self, one: str, other: str) -> int | None:
        """The link between two hosts; None if there is none."""
        return self.links.get(frozenset((one, other)))

    def device(self, link: int, sender: str) -> str:
        """The name of the device of `sender` on a link: `A -> B` on a wire, `A -> CELL` for a radio."""
        hop = self.hops[link]
        return f"{sender} -> {hop.cell or hop.ends[sender == hop.ends[0]]}"

    @cached_property
    def devices(self) -> dict[str, tuple[int, ...]]:
        """The links of each device, by its name: a wired device has one, a radio one per neighbour."""
        found: dict[str, list[int]] = {}
        for link, hop in enumerate(self.hops):
            for sender in hop.ends:
                found.setdefault(self.device(link, sender), []).append(link)
        return {name: tuple(links) for name, links in found.items()}

    def device_named(self, source: str, target: str) -> str | None:
        """The name of the device that `source -> target` refers to. `target` is a neighbour or a cell; a radio with
        several neighbours can only be named by its cell. None if there is no such device."""
        if f"{source} -> {target}" in self.devices:
            return f"{source} -> {target}"
        link = self.link(source, target)
        device = None if link is None else self.device(link, source)
        return device if device is not None and len(self.devices[device]) == 1 else None

    @cached_property
    def neighbours(self) -> dict[str, list[str]]:
        """The hosts one link away from each host."""
        return _neighbours(self.ends)

    def path(self, source: str, target: str) -> list[str] | None:
        """The hosts on the path from one host to another, both included; `None` if there is no path."""
        # A mapping for its order, and because hosts are looked up in it.
        passed = {source: None}
        host, searched = source, 0
        while host != target:
            step = self.routes.get((host, target)) or self._step(host, target, searched)
            searched += host in self._steps_by_host
            if step is None or step in passed:
                return None
            passed[step] = None
            host = step
        return list(passed)

    def _step(self, host: str, target: str, searched: int) -> str | None:
        """The next hop towards `target`. A host with one neighbour needs no search. Along a path, the first search is
        from its host, and serves many targets; all others are one search from the target, which serves many hosts.
        """
        near = self.neighbours.get(host, [])
        if len(near) == 1:
            return near[0]
        if host in self._steps_by_host or not searched:
            return self._steps(host).get(target)
        # The first neighbour that is nearer, which is also the one that the search from the host finds.
        far = self._distances(target)
        here = far.get(host)
        return None if here is None else next(each for each in near if far.get(each) == here - 1)

    def _distances(self, target: str) -> dict[str, int]:
        """The number of links from each host to `target`."""
        if target not in self._distances_to:
            self._distances_to[target] = _distances(self.neighbours, target)
        return self._distances_to[target]

    @cached_property
    def _distances_to(self) -> dict[str, dict[str, int]]:
        return {}

    def _steps(self, host: str) -> dict[str, str]:
        """The next hop from `host` to each other host."""
        if host not in self._steps_by_host:
            self._steps_by_host[host] = _first_steps(self.neighbours, host)
        return self._steps_by_host[host]

    @cached_property
    def _steps_by_host(self) -> dict[str, dict[str, str]]:
        return {}

    def links_on(self, source: str, target: str) -> list[tuple[int, str]]:
        """The links on the path, each with its sending host; empty if there is no path."""
        # Of 100,000 entries of traffic, each asks ten times, and most for one path.
        found = self._links_on.get((source, target))
        if found is None:
            hosts = self.path(source, target) or []
            links = [(self.link(one, other), one) for one, other in pairwise(hosts)]
            found = self._links_on[source, target] = [(index, sender) for index, sender in links if index is not None]
        return found

    @cached_property
    def _links_on(self) -> dict[tuple[str, str], list[tuple[int, str]]]:
        return {}


def named_hosts(ends: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The hosts of all links, in order, each once."""
    return tuple(dict.fromkeys(host for pair in ends for host in pair))


def problems(network: Network) -> Iterator[Problem]:
    """All errors of the graph: unknown ends, duplicate links, hosts that are not connected."""
    joined: dict[frozenset[str], Loc] = {}
    wrong: list[Problem] = []
    for hop in network.hops:
        wrong += list(_wrong_ends(network, hop)) or list(_twice(joined, hop))
    yield from wrong or _unreached(network)


def _wrong_ends(network: Network, hop: Hop) -> Iterator[Problem]:
    for place, host in zip(hop.end_places, hop.ends, strict=True):
        if host not in network.places:
            message = f"there is no host `{host}`"
            yield Problem(place, message, nearest_hint(host, network.hosts))
    if hop.ends[0] == hop.ends[1]:
        message = f"connects `{hop.ends[0]}` to itself"
        place = hop.end_places[1] if hop.radio else (*hop.place, "ends")
        yield Problem(place, message, "name two different hosts: ends: [client, router]")


def _twice(joined: dict[frozenset[str], Loc], hop: Hop) -> Iterator[Problem]:
    """Checks that no two links connect the same hosts, so that `A -> B` names one device."""
    first = joined.setdefault(frozenset(hop.ends), hop.place)
    if first != hop.place:
        message = f"connects `{hop.ends[0]}` and `{hop.ends[1]}`, which {show(first)} already connects"
        yield Problem(hop.place, message, "put a router between them on one of the two, or remove it")


def _unreached(network: Network) -> Iterator[Problem]:
    first = network.hosts[0]
    reached = _first_steps(network.neighbours, first)
    links = {host: hop.place for hop in reversed(network.hops) for host in hop.ends}
    for host in network.hosts:
        if host not in reached and host != first:
            message = f"there is no path from `{first}` to `{host}`"
            loc: Loc = links.get(host, ("hosts", host))
            yield Problem(loc, message, "add a link that connects it to the others, or remove it")


def _neighbours(ends: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in ends:
        _join(found, pair)
    return found


def _join(neighbours: dict[str, list[str]], ends: tuple[str, str]) -> None:
    one, other = ends
    neighbours.setdefault(one, []).append(other)
    neighbours.setdefault(other, []).append(one)


def _distances(neighbours: Mapping[str, Sequence[str]], target: str) -> dict[str, int]:
    """The number of links from each host to `target`, by breadth-first search."""
    found = {target: 0}
    frontier = deque([target])
    while frontier:
        host = frontier.popleft()
        for neighbour in neighbours.get(host, []):
            if neighbour not in found:
                found[neighbour] = found[host] + 1
                frontier.append(neighbour)
    return found


def _first_steps(neighbours: Mapping[str, Sequence[str]], source: str) -> dict[str, str]:
    """The next hop from `source` to each host, by breadth-first search."""
    steps: dict[str, str] = {}
    frontier = deque([source])
    while frontier:
        host = frontier.popleft()
        for neighbour in neighbours.get(host, []):
            if neighbour != source and neighbour not in steps:
                steps[neighbour] = steps.get(host, neighbour)
                frontier.append(neighbour)
    return steps
