"""From checked keys to a graph: links as the resolved scenario numbers them (`docs/contracts.md`)."""

from __future__ import annotations

from collections.abc import Iterator

from tailback.scenario.defaults import MTU
from tailback.scenario.network import Hop, Network, named_hosts
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Direction, Keys, Wifi


def network_of(keys: Keys) -> Network:
    """The graph of an experiment."""
    hops = tuple(_wired_hops(keys)) + tuple(_radio_hops(keys))
    return Network(tuple(keys.hosts) if keys.hosts else named_hosts(_named(keys)), hops)


def _named(keys: Keys) -> list[list[str]]:
    """Hosts as the file names them. A cell names its stations first: who uses the network comes before what it is."""
    return [[*link.wifi.stations, link.wifi.ap] if isinstance(link, Wifi) else link.ends for link in keys.links]


def _wired_hops(keys: Keys) -> Iterator[Hop]:
    for index, link in enumerate(keys.links):
        if not isinstance(link, Wifi):
            place: Loc = ("links", index)
            yield Hop(
                ends=(link.ends[0], link.ends[1]),
                place=place,
                end_places=((*place, "ends", 0), (*place, "ends", 1)),
                rate=link.rate,
                round_trip_ns=sum(link.delay),
                mtu=link.mtu,
                mtu_place=(*place, "mtu"),
                radio=False,
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
                    rate=None,
                    round_trip_ns=0,
                    mtu=MTU,
                    mtu_place=place,
                    radio=True,
                )


def begins_on_air(network: Network, direction: Direction) -> bool:
    """The first link of a flow is Wi-Fi."""
    return any(network.hops[link].radio for link, _ in network.links_on(*direction)[:1])
