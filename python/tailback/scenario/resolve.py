"""From checked keys and a seed to the resolved scenario of one run (`docs/contracts.md`).

Start offsets (`jitter`) are the only random numbers drawn here. A flow's offset is

    first 8 bytes, big endian, of SHA-256("SEED/NAME/start") · jitter / 2^64

so it depends on nothing but the seed and the flow's own name: it is the same on every machine, and the same
repetition gives the same offsets in every configuration (common random numbers).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tailback.scenario import defaults, wifi
from tailback.scenario.flows import Bulk, Datagrams, Echo, Flow, flows, offloads_of, way
from tailback.scenario.hops import network_of, wires
from tailback.scenario.network import Network
from tailback.scenario.schema import Change, Host, Keys, Link, Nic, Wifi, direction
from tailback.scenario.sysctl import sysctl
from tailback.scenario.traces import Trace
from tailback.scenario.ways import OPTIONS
from tailback.scenario.words import Algorithm, Class, Filter

Scenario = dict[str, Any]


def scenario(keys: Keys, title: str, seed: int) -> Scenario:
    """The resolved scenario."""
    network = network_of(keys)
    traces = _traces(keys)
    return {
        "title": title,
        "seed": seed,
        "duration_ns": keys.duration,
        "hosts": [_host(keys, name, network) for name in network.hosts],
        "links": [_link(wire.link, keys, network, traces) for wire in wires(keys)],
        **({"traces": [_trace(each) for each in traces]} if traces else {}),
        **({"routes": list(_routes(network))} if network.routes else {}),
        **({"cells": cells} if (cells := _cells(keys, network)) else {}),
        "qdiscs": [_qdisc(device, root, network) for device, root in keys.qdiscs.items()],
        "traffic": [connection for flow in flows(keys) for connection in _connections(flow, network, seed)],
        "record": _record(keys, network),
        **({} if keys.kernel is None else {"kernel": keys.kernel}),
    }


def directions(keys: Keys) -> dict[str, str]:
    """`up` or `down` by flow of TCP or UDP, as seen from the first host; a flow that is neither is absent."""
    first = network_of(keys).hosts[0]
    found = {
        name: way(flow.direction, first) for flow in flows(keys) if not isinstance(flow, Echo) for name in flow.names
    }
    return {name: direction for name, direction in found.items() if direction is not None}


def start_offset(seed: int, name: str, jitter_ns: int) -> int:
    """How much later than `start` a flow begins, in ns: uniform in [0, jitter)."""
    draw = int.from_bytes(hashlib.sha256(f"{seed}/{name}/start".encode()).digest()[:8], "big")
    return draw * jitter_ns >> 64


def _host(keys: Keys, name: str, network: Network) -> Scenario:
    if name in network.switches:
        # It passes trains of segments on as they come.
        return {"name": name, "stack": defaults.STACK, "sysctl": {}, "offloads": "on"}
    settings = (keys.hosts or {}).get(name)
    stack = settings.stack if settings is not None else defaults.STACK
    given = settings.sysctl if settings is not None else {}
    return {
        "name": name,
        "stack": stack,
        "sysctl": {key: sysctl(key, value) for key, value in given.items()},
        "offloads": offloads_of(keys, name),
    }


def _link(link: Link, keys: Keys, network: Network, traces: Sequence[Trace]) -> Scenario:
    nics = [_nic(keys, host) for host in link.ends]
    found: Scenario = {
        "ends": [network.places[end] for end in link.ends],
        "rate_bps": _one_if_equal(link.rate),
        "delay_ns": link.delay,
        "mtu": link.mtu,
        "ring": _one_if_equal(link.ring or [nic.ring for nic in nics]),
        "bql": _one_if_equal(link.bql or [nic.bql for nic in nics]),
    }
    if any(link.trace):
        found["trace"] = [None if each is None else traces.index(each) for each in link.trace]
    if any(netem := [_netem(link, end) for end in range(2)]):
        found["netem"] = netem
    if link.schedule:
        found["schedule"] = list(_schedule(link))
    return found


def _one_if_equal(ends: Sequence[Any]) -> Any:
    """One value stands for both ends."""
    return ends[0] if ends[0] == ends[1] else list(ends)


def _nic(keys: Keys, name: str) -> Nic:
    return ((keys.hosts or {}).get(name) or Host.model_validate({})).nic


def _netem(link: Link, end: int) -> dict[str, int]:
    """All that netem does to the packets that one end sends."""
    options: dict[str, int] = {}
    for key in OPTIONS:
        options |= getattr(link, key)[end] or {}
    return options


def _schedule(link: Link) -> Iterator[Scenario]:
    """Changes, a line for each way; what netem does is given whole where a part of it changes."""
    given = [{key: getattr(link, key)[end] or {} for key in OPTIONS} for end in range(2)]
    for change in link.schedule:
        for end in range(2):
            new = {key: found for key in OPTIONS if (found := getattr(change, key)[end]) is not None}
            given[end] |= new
            line = _changed(change, end)
            if new:
                line["netem"] = {name: value for options in given[end].values() for name, value in options.items()}
            if line:
                yield {"at_ns": change.at, "end": end, **line}


def _changed(change: Change, end: int) -> Scenario:
    line: Scenario = {}
    if change.rate[end] is not None:
        line["rate_bps"] = change.rate[end]
    if change.delay is not None:
        line["delay_ns"] = change.delay[end]
    if change.state[end] is not None:
        line["up"] = change.state[end] == "up"
    return line


def _traces(keys: Keys) -> list[Trace]:
    """Each trace once, by its content."""
    found = [each for wire in wires(keys) for each in wire.link.trace if each is not None]
    return list({each.sha256: each for each in found}.values())


def _trace(trace: Trace) -> Scenario:
    return {"sha256": trace.sha256, "stamps_ms": list(trace.stamps_ms)}


def _routes(network: Network) -> Iterator[Scenario]:
    for (host, target), neighbour in network.routes.items():
        places = {"host": network.places[host], "to": network.places[target]}
        yield {**places, "link": network.link(host, neighbour)}


def _cells(keys: Keys, network: Network) -> list[Scenario]:
    return [_cell(link, network) for link in keys.links if isinstance(link, Wifi)]


def _cell(cell: Wifi, network: Network) -> Scenario:
    return {
        "access_point": network.places[cell.wifi.ap],
        "stations": [_station(cell, name, network) for name in cell.wifi.stations],
        "band": cell.band,
        "channel": cell.channel,
        "hidden": [[network.places[name] for name in pair] for pair in cell.hidden],
        "rts": cell.rts,
        "beacon_bps": cell.beacons,
        "access_point_edca": _edca(cell, wifi.ACCESS_POINT),
        "station_edca": _edca(cell, "stations"),
        "mpdu_overhead": wifi.MPDU_OVERHEAD + (wifi.CCMP if cell.encryption == "ccmp" else 0),
        "driver": _driver(cell.driver.of(wifi.ACCESS_POINT, cell.wifi.ap)),
    }


def _edca(cell: Wifi, side: str) -> list[Scenario]:
    return [asdict(category) for category in cell.edca.get(side, wifi.STATION_EDCA)]


def _station(cell: Wifi, name: str, network: Network) -> Scenario:
    standard = wifi.STANDARDS[cell.standard]
    index = cell.mcs[name] if isinstance(cell.mcs, dict) else cell.mcs
    return {
        "host": network.places[name],
        "mode": wifi.mode(standard, cell.width, index, cell.streams.of(name), cell.guard),
        "rate": cell.rate.of(name),
        "loss_ppm": cell.loss.of(name),
        "snr_cdb": _snr_cdb(cell, name),
        "driver": _driver(cell.driver.of(name)),
    }


def _snr_cdb(cell: Wifi, name: str) -> int | None:
    snr, distance = cell.snr.of(name), cell.distance.of(name)
    if snr is None and distance is not None:
        snr = wifi.snr_at(distance, cell.band, cell.width)
    return None if snr is None else round(100 * snr)


def _driver(algorithm: Algorithm) -> Scenario:
    return {"name": algorithm.kind, "options": dict(algorithm.options)}


def _qdisc(device: str, root: Algorithm, network: Network) -> Scenario:
    ends = direction(device)
    found = _discipline(root, network)
    return {"host": network.places[ends.source], "link": network.link(*ends), "root": found}


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
            return {each.fits: network.places[str(each.what)]}
        case "dscp":
            return {"dscp": each.what}
    return "all"


def _connections(flow: Flow, network: Network, seed: int) -> list[Scenario]:
    own = _own_keys(flow)
    return [
        {
            "kind": own["kind"],
            "name": name,
            "from": network.places[flow.direction.source],
            "to": network.places[flow.direction.target],
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
        own |= {} if flow.ip == defaults.IP else {"ip": flow.ip}
    elif isinstance(flow, Datagrams):
        own = {"kind": "udp", "rate_bps": flow.rate_bps, "size": flow.size, "sndbuf": flow.sndbuf}
    else:
        own = {"kind": "ping", "interval_ns": flow.interval_ns, "size": flow.size}
        own |= {} if flow.protocol == defaults.PING_PROTOCOL else {"protocol": flow.protocol}
    # Without a code point a run has the identity it had before there were any.
    return own if flow.dscp == defaults.DSCP else {**own, "dscp": flow.dscp}


def _record(keys: Keys, network: Network) -> Scenario:
    measure = keys.measure
    captured = {"pcap": sorted({network.places[host] for host in measure.pcap})} if measure.pcap else {}
    return {"interval_ns": measure.interval, "tcp_info": measure.tcp_info, "events": defaults.EVENTS, **captured}
