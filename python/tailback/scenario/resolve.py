"""From checked keys and a seed to the resolved scenario of one run (`docs/contracts.md`).

Start offsets (`jitter`) are the only random numbers drawn here. A flow's offset is

    first 8 bytes, big endian, of SHA-256("SEED/NAME/start") · jitter / 2^64

so it depends on nothing but the seed and the flow's own name: it is the same on every machine, and the same
repetition gives the same offsets in every configuration (common random numbers).
"""

from __future__ import annotations

import hashlib
from typing import Any

from tailback.scenario import defaults, wifi
from tailback.scenario.flows import Bulk, Datagrams, Echo, Flow, flows, offloads_of, way
from tailback.scenario.hops import network_of
from tailback.scenario.network import Network
from tailback.scenario.schema import Keys, Wifi, direction
from tailback.scenario.sysctl import sysctl
from tailback.scenario.words import Algorithm, Class, Filter

Scenario = dict[str, Any]


def scenario(keys: Keys, title: str, seed: int) -> Scenario:
    """The resolved scenario."""
    network = network_of(keys)
    return {
        "title": title,
        "seed": seed,
        "duration_ns": keys.duration,
        "hosts": [_host(keys, name) for name in network.hosts],
        "links": _links(keys, network),
        **({"cells": cells} if (cells := _cells(keys, network)) else {}),
        "qdiscs": [_qdisc(device, root, network) for device, root in keys.qdiscs.items()],
        "traffic": [
            connection for flow in flows(keys, network.hosts[0]) for connection in _connections(flow, network, seed)
        ],
        "record": _record(keys, network),
        **({} if keys.kernel is None else {"kernel": keys.kernel}),
    }


def directions(keys: Keys) -> dict[str, str]:
    """`up` or `down` by flow of TCP or UDP, as seen from the first host; a flow that is neither is absent."""
    first = network_of(keys).hosts[0]
    found = {
        name: way(flow.direction, first)
        for flow in flows(keys, first)
        if not isinstance(flow, Echo)
        for name in flow.names
    }
    return {name: direction for name, direction in found.items() if direction is not None}


def start_offset(seed: int, name: str, jitter_ns: int) -> int:
    """How much later than `start` a flow begins, in ns: uniform in [0, jitter)."""
    draw = int.from_bytes(hashlib.sha256(f"{seed}/{name}/start".encode()).digest()[:8], "big")
    return draw * jitter_ns >> 64


def _host(keys: Keys, name: str) -> Scenario:
    settings = (keys.hosts or {}).get(name)
    stack = settings.stack if settings is not None else defaults.STACK
    given = settings.sysctl if settings is not None else {}
    return {
        "name": name,
        "stack": stack,
        "sysctl": {key: sysctl(key, value) for key, value in given.items()},
        "offloads": offloads_of(keys, name),
    }


def _links(keys: Keys, network: Network) -> list[Scenario]:
    number = {host: index for index, host in enumerate(network.hosts)}
    return [
        {
            "ends": [number[end] for end in link.ends],
            "rate_bps": link.rate,
            "delay_ns": link.delay,
            "mtu": link.mtu,
            "ring": link.ring,
            "bql": link.bql,
        }
        for link in keys.links
        if not isinstance(link, Wifi)
    ]


def _cells(keys: Keys, network: Network) -> list[Scenario]:
    return [_cell(link, network) for link in keys.links if isinstance(link, Wifi)]


def _cell(cell: Wifi, network: Network) -> Scenario:
    return {
        "access_point": network.hosts.index(cell.wifi.ap),
        "stations": [_station(cell, name, network) for name in cell.wifi.stations],
        "band": cell.band,
        "rts": cell.rts,
        "mpdu_overhead": wifi.MPDU_OVERHEAD + (wifi.CCMP if cell.encryption == "ccmp" else 0),
        "driver": _driver(cell.driver.of(wifi.ACCESS_POINT, cell.wifi.ap)),
    }


def _station(cell: Wifi, name: str, network: Network) -> Scenario:
    standard = wifi.STANDARDS[cell.standard]
    index = cell.mcs[name] if isinstance(cell.mcs, dict) else cell.mcs
    return {
        "host": network.hosts.index(name),
        "mode": wifi.mode(standard, cell.width, index, cell.streams, cell.guard),
        "loss_ppm": cell.loss,
        "driver": _driver(cell.driver.of(name)),
    }


def _driver(algorithm: Algorithm) -> Scenario:
    return {"name": algorithm.kind, "options": dict(algorithm.options)}


def _qdisc(device: str, root: Algorithm, network: Network) -> Scenario:
    ends = direction(device)
    found = _discipline(root, network)
    return {"host": network.hosts.index(ends.source), "link": network.link(*ends), "root": found}


def _discipline(algorithm: Algorithm, network: Network) -> Scenario:
    found: Scenario = {"kind": algorithm.kind, "options": dict(algorithm.options)}
    if algorithm.child is not None:
        found["child"] = _discipline(algorithm.child, network)
    if algorithm.classes:
        found["classes"] = [_class(each, network) for each in algorithm.classes]
    if algorithm.filters:
        found["filters"] = [{"fits": _fits(each, network), "class": each.minor} for each in algorithm.filters]
    return found


def _class(each: Class, network: Network) -> Scenario:
    found: Scenario = {"minor": each.minor, "parent": each.parent, "options": dict(each.options)}
    return found if each.child is None else {**found, "child": _discipline(each.child, network)}


def _fits(each: Filter, network: Network) -> Scenario | str:
    match each.fits:
        case "flow":
            return {"traffic": each.what}
        case "from" | "to":
            return {each.fits: network.hosts.index(str(each.what))}
        case "dscp":
            return {"dscp": each.what}
    return "all"


def _connections(flow: Flow, network: Network, seed: int) -> list[Scenario]:
    own = _own_keys(flow)
    return [
        {
            "kind": own["kind"],
            "name": name,
            "from": network.hosts.index(flow.direction.source),
            "to": network.hosts.index(flow.direction.target),
            "start_ns": flow.start_ns + start_offset(seed, name, flow.jitter_ns),
            "stop_ns": flow.stop_ns,
            **own,
        }
        for name in flow.names
    ]


def _own_keys(flow: Flow) -> Scenario:
    own: Scenario
    if isinstance(flow, Bulk):
        control = {"name": flow.cc.kind, "options": dict(flow.cc.options)}
        own = {"kind": "tcp", "bytes": flow.bytes, "cc": control, "tsq": dict(flow.tsq), "socket": dict(flow.socket)}
    elif isinstance(flow, Datagrams):
        own = {"kind": "udp", "rate_bps": flow.rate_bps, "size": flow.size, "sndbuf": flow.sndbuf}
    else:
        own = {"kind": "ping", "interval_ns": flow.interval_ns, "size": flow.size}
        own |= {} if flow.protocol == defaults.PING_PROTOCOL else {"protocol": flow.protocol}
    # Without a code point a run has the identity it had before there were any.
    return own if flow.dscp == defaults.DSCP else {**own, "dscp": flow.dscp}


def _record(keys: Keys, network: Network) -> Scenario:
    measure = keys.measure
    captured = {"pcap": sorted({network.hosts.index(host) for host in measure.pcap})} if measure.pcap else {}
    return {"interval_ns": measure.interval, "tcp_info": measure.tcp_info, "events": defaults.EVENTS, **captured}
