"""Converts checked keys to a graph whose links have the numbers of the resolved scenario (`docs/contracts.md`).

A shared segment becomes a switch with a link to each of its hosts, so that all later stages only handle links.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from tailback.scenario.cache import cached
from tailback.scenario.defaults import CELL, MTU
from tailback.scenario.network import Hop, Network, named_hosts
from tailback.scenario.over_time import over_time
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Lan, Link, Wifi
from tailback.scenario.values import Direction, direction


class Wire(Struct, frozen=True):
    """A link with its location in the file."""

    link: Link
    place: Loc
    end_places: tuple[Loc, Loc]

    def values(self, key: str, end: int) -> dict[int, Any]:
        """The values of a key of the link for one direction, by the time from which each holds."""
        changes = ((change.at, _way(getattr(change, key), end)) for change in self.link.schedule)
        return over_time(_way(getattr(self.link, key), end), changes)

    def key(self, key: str, at: int = 0) -> Loc:
        """Where the file gives the value that holds from a time on: in the link, or in a change."""
        changed = [
            number
            for number, change in enumerate(self.link.schedule)
            if change.at <= at and any(_way(getattr(change, key), end) is not None for end in (0, 1))
        ]
        return (*self.place, "schedule", changed[-1], key) if changed else (*self.place, key)


def _way(values: Sequence[Any] | None, end: int) -> Any:
    return None if values is None else values[end]


class RouteHop(Struct, frozen=True):
    """One step of a route: `host` forwards packets for `target` to `neighbour`."""

    arrow: str
    """The route's key in the file."""
    host: str
    target: str
    neighbour: str


@cached
def network_of(keys: Keys) -> Network:
    """The graph of an experiment."""
    hops = tuple(_wired_hop(wire) for wire in wires(keys)) + tuple(_radio_hops(keys))
    hosts = _hosts(keys)
    switches = tuple(name for name in lan_names(keys).values() if name not in hosts)
    routes = {(hop.host, hop.target): hop.neighbour for hop in route_hops(keys)}
    return Network((*hosts, *switches), hops, frozenset(switches), routes)


def _hosts(keys: Keys) -> tuple[str, ...]:
    """The hosts in order. `hosts` that only gives settings to some does not forget those that links name; one with a
    host without settings is a list of all, so that a misspelt end of a link is an error.
    """
    given, linked = dict(keys.hosts or {}), named_hosts(_named(keys))
    only_settings = all(settings.model_fields_set for settings in given.values())
    if not only_settings or all(host in given for host in linked):
        return tuple(given)
    return tuple(dict.fromkeys((*linked, *given)))


@cached
def wires(keys: Keys) -> list[Wire]:
    """The links of the file, including those of its shared segments, in order."""
    return [wire for index, entry in enumerate(keys.links) for wire in _wires(keys, index, entry)]


@cached
def lan_names(keys: Keys) -> dict[int, str]:
    """The name of the switch of each shared segment, by its index in `links`."""
    places = [index for index, entry in enumerate(keys.links) if isinstance(entry, Lan)]
    return {place: _lan(keys, place).name or f"lan{number}" for number, place in enumerate(places, 1)}


@cached
def cell_names(keys: Keys) -> dict[int, str]:
    """The name of each Wi-Fi cell, by its index in `links`. Default: `air`, or `air1`, `air2` of several cells."""
    cells = [(place, entry) for place, entry in enumerate(keys.links) if isinstance(entry, Wifi)]
    own = (f"{CELL}{number}" for number in range(1, len(cells) + 1)) if len(cells) > 1 else (CELL,)
    return {place: cell.name or name for (place, cell), name in zip(cells, own, strict=False)}


@cached
def route_hops(keys: Keys) -> list[RouteHop]:
    """The steps of all routes of the file."""
    if not keys.routes:
        return []
    segments = {name: frozenset(_lan(keys, place).lan) for place, name in lan_names(keys).items()}
    direct = {frozenset(wire.link.ends) for wire in wires(keys)}
    found = []
    for arrow, via in keys.routes.items():
        ends = direction(arrow)
        way = list(_with_switches([ends.source, *via, ends.target], segments, direct))
        found += [RouteHop(arrow, one, ends.target, other) for one, other in pairwise(way)]
    return found


def _with_switches(
    way: list[str], segments: Mapping[str, frozenset[str]], direct: Container[frozenset[str]]
) -> Iterator[str]:
    """Inserts the switch between two hosts of a shared segment; the file need not name it."""
    yield way[0]
    for one, other in pairwise(way):
        shared = [name for name, hosts in segments.items() if {one, other} <= hosts]
        if shared and frozenset((one, other)) not in direct:
            yield shared[0]
        yield other


def _lan(keys: Keys, place: int) -> Lan:
    entry = keys.links[place]
    assert isinstance(entry, Lan)
    return entry


def _named(keys: Keys) -> list[list[str]]:
    """The hosts of each link in the order of the file; of a cell, the stations precede the access point."""
    return [_named_by(link) for link in keys.links]


def _named_by(link: Link | Lan | Wifi) -> list[str]:
    if isinstance(link, Wifi):
        return [*link.wifi.stations, link.wifi.ap]
    return link.lan if isinstance(link, Lan) else link.ends


def _wires(keys: Keys, index: int, entry: Link | Lan | Wifi) -> Iterator[Wire]:
    place: Loc = ("links", index)
    if isinstance(entry, Link):
        yield Wire(entry, place, ((*place, "ends", 0), (*place, "ends", 1)))
    elif isinstance(entry, Lan):
        switch = lan_names(keys)[index]
        for number, host in enumerate(entry.lan):
            port = Link.model_construct(ends=[host, switch], rate=entry.rate, delay=entry.delay, mtu=entry.mtu)
            yield Wire(port, place, ((*place, "lan", number), place))


def _wired_hop(wire: Wire) -> Hop:
    link = wire.link
    return Hop(
        ends=(link.ends[0], link.ends[1]),
        place=wire.place,
        end_places=wire.end_places,
        round_trip_ns=sum(max(wire.values("delay", end).values()) for end in (0, 1)),
        mtu=link.mtu,
    )


def _radio_hops(keys: Keys) -> Iterator[Hop]:
    for index, link in enumerate(keys.links):
        if isinstance(link, Wifi):
            place: Loc = ("links", index, "wifi")
            for number, station in enumerate(link.wifi.stations):
                yield Hop(
                    ends=(link.wifi.ap, station),
                    place=place,
                    end_places=((*place, "ap"), (*place, "stations", number)),
                    round_trip_ns=0,
                    mtu=MTU,
                    cell=cell_names(keys)[index],
                )


def begins_on_air(network: Network, direction: Direction) -> bool:
    """Whether the first link of a flow is Wi-Fi."""
    return any(network.hops[link].radio for link, _ in network.links_on(*direction)[:1])
