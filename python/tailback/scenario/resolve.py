"""Converts checked keys and a seed to the resolved scenario of one run (`docs/contracts.md`).

Random numbers are drawn here for start offsets (`jitter`) and for `arrivals` (`scenario.arrivals`). A flow's offset is

    first 8 bytes, big endian, of SHA-256("SEED/NAME/start") · jitter / 2^64

so it depends only on the seed and on the name of the flow: it is the same on every machine, and a repetition has the
same offsets in every configuration (common random numbers).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, TypeVar

from tailback import resolved
from tailback.resolved import Device, Scenario, Trace, Traffic
from tailback.scenario import defaults, names, sides, traffic, wifi
from tailback.scenario.flows import flows, offloads_of, own_endpoints, own_sources
from tailback.scenario.hops import cell_names, network_of, wires
from tailback.scenario.network import Network
from tailback.scenario.schema import Keys, Link, Nic, SignalChange, Wifi
from tailback.scenario.sysctl import sysctl
from tailback.scenario.traffic import Flow, program
from tailback.scenario.traffic.kind import Resolved
from tailback.scenario.values import Direction, direction
from tailback.scenario.ways import OPTIONS
from tailback.scenario.words import Algorithm, Class, Filter

T = TypeVar("T")


def scenario(keys: Keys, title: str, seed: int) -> Scenario:
    """The resolved scenario of one run."""
    network = network_of(keys)
    traces = _traces(keys)
    found = Scenario(
        title=title,
        seed=seed,
        duration_ns=keys.duration,
        hosts=tuple(_host(keys, name, network) for name in network.hosts),
        links=tuple(_link(wire.link, keys, network, traces) for wire in wires(keys)),
        traces=tuple(traces),
        routes=tuple(_routes(network)),
        cells=tuple(_cells(keys, network)),
        controls=own_sources(keys),
        endpoints=own_endpoints(keys),
        qdiscs=tuple(_qdisc(device, root, network) for device, root in keys.qdiscs.items()),
        traffic=tuple(connection for flow in flows(keys) for connection in _connections(flow, network, seed)),
        record=_record(keys, network),
        programs=program.resolved_of(program.entries(keys.traffic), network),
        clock_ns=keys.clock,
        kernel=keys.kernel,
    )
    names.unique("flows", (flow.name for flow in found.traffic))
    names.unique("devices", (device.name for device in found.devices))
    return found


def devices(keys: Keys) -> dict[str, Device]:
    """The devices of an experiment, by name."""
    idle = keys.model_copy(update={"traffic": []})
    return {device.name: device for device in scenario(idle, "", keys.seed).devices}


def _data_of(flow: Flow) -> Direction:
    """Where the data of a flow goes; answers go against its arrow."""
    there = flow.direction
    return there if traffic.of(flow.kind).data_goes == "there" else Direction(there.target, there.source)


def directions(keys: Keys, seed: int) -> dict[str, str]:
    """`up` (from the users' side) or `down` (to it) by name of each TCP and UDP flow; flows across are absent."""
    carrying = (flow for flow in flows(keys) if traffic.of(flow.kind).carries == "data")
    data = {name: _data_of(one) for flow in carrying for name, one in flow.opened(seed)}
    ways = sides.ways(data.values(), network_of(keys))
    found = {name: sides.called(name) or ways[one] for name, one in data.items()}
    return {name: direction for name, direction in found.items() if direction is not None}


def groups(keys: Keys, seed: int) -> dict[str, str]:
    """The group by name of each flow whose entry names one."""
    return {name: flow.group for flow in flows(keys) if flow.group is not None for name, _ in flow.opened(seed)}


def start_offset(seed: int, name: str, jitter_ns: int) -> int:
    """The random delay of a flow's start in ns: uniform in [0, jitter)."""
    draw = int.from_bytes(hashlib.sha256(f"{seed}/{name}/start".encode()).digest()[:8], "big")
    return draw * jitter_ns >> 64


def _host(keys: Keys, name: str, network: Network) -> resolved.Host:
    if name in network.switches:
        # A switch forwards trains of segments unchanged.
        return resolved.Host(name=name, stack=defaults.STACK, offloads="on")
    settings = (keys.hosts or {}).get(name)
    given = settings.sysctl if settings is not None else {}
    return resolved.Host(
        name=name,
        stack=settings.stack if settings is not None else defaults.STACK,
        sysctl={key: sysctl(key, value) for key, value in given.items()},
        offloads=offloads_of(keys, name),
        gro=settings.gro if settings is not None else defaults.GRO,
        ssthresh=settings.ssthresh if settings is not None else defaults.SSTHRESH,
    )


def _link(link: Link, keys: Keys, network: Network, traces: Sequence[Trace]) -> resolved.Link:
    near, far = (_nic(keys, host) for host in link.ends)
    return resolved.Link(
        ends=_pair([network.places[end] for end in link.ends]),
        rate_bps=_pair(link.rate),
        delay_ns=_pair(link.delay),
        mtu=link.mtu,
        overhead=link.overhead,
        ring=_pair(link.ring or [near.ring, far.ring]),
        bql=_pair(link.bql or [near.bql, far.bql]),
        interrupt_ns=_pair(link.interrupts or [near.interrupts, far.interrupts]),
        trace=_pair([None if each is None else traces.index(each) for each in link.trace]),
        netem=(_netem(link, 0), _netem(link, 1)),
        police=_pair([_policer(options) for options in link.police]),
        schedule=tuple(_schedule(link)),
    )


def _pair(ends: Sequence[T]) -> tuple[T, T]:
    first, second = ends
    return first, second


def _nic(keys: Keys, name: str) -> Nic:
    host = (keys.hosts or {}).get(name)
    return _plain_nic() if host is None else host.nic


@cache
def _plain_nic() -> Nic:
    return Nic.model_validate({})


def _netem(link: Link, end: int) -> dict[str, int]:
    """All options of netem for the packets that one end sends."""
    options: dict[str, int] = {}
    for key in OPTIONS:
        options |= getattr(link, key)[end] or {}
    return options


def _policer(options: Mapping[str, int] | None) -> resolved.Policer | None:
    if options is None:
        return None
    return resolved.Policer(
        rate_bps=options["rate"],
        burst=options["burst"],
        mtu=options.get("mtu"),
        peakrate_bps=options.get("peakrate"),
    )


def _schedule(link: Link) -> Iterator[resolved.Change]:
    """The changes of each direction. If one of netem's options changes, all of them are given."""
    given = [{key: getattr(link, key)[end] or {} for key in OPTIONS} for end in range(2)]
    for change in link.schedule:
        for end in range(2):
            new = {key: found for key in OPTIONS if (found := getattr(change, key)[end]) is not None}
            given[end] |= new
            netem = {name: value for options in given[end].values() for name, value in options.items()}
            found = resolved.Change(
                at_ns=change.at,
                end=end,
                rate_bps=change.rate[end],
                delay_ns=None if change.delay is None else change.delay[end],
                up=None if change.state[end] is None else change.state[end] == "up",
                netem=netem if new else None,
            )
            if found != resolved.Change(at_ns=change.at, end=end):
                yield found


def _traces(keys: Keys) -> list[Trace]:
    """Each trace once, by its content."""
    found = [each for wire in wires(keys) for each in wire.link.trace if each is not None]
    return list({each.sha256: each for each in found}.values())


def _routes(network: Network) -> Iterator[resolved.Route]:
    for (host, target), neighbour in network.routes.items():
        link = network.link(host, neighbour)
        assert link is not None, "checked routes use existing links"
        yield resolved.Route(host=network.places[host], to=network.places[target], link=link)


def _cells(keys: Keys, network: Network) -> Iterator[resolved.Cell]:
    names = cell_names(keys)
    return (_cell(names[place], link, network) for place, link in enumerate(keys.links) if isinstance(link, Wifi))


def _cell(name: str, cell: Wifi, network: Network) -> resolved.Cell:
    return resolved.Cell(
        name=name,
        access_point=network.places[cell.wifi.ap],
        stations=tuple(_station(cell, name, network) for name in cell.wifi.stations),
        band=cell.band,
        channel=cell.channel,
        hidden=tuple(_pair([network.places[name] for name in pair]) for pair in cell.hidden),
        rts=cell.rts,
        beacon_bps=cell.beacons,
        access_point_edca=_edca(cell, wifi.ACCESS_POINT),
        station_edca=_edca(cell, "stations"),
        mpdu_overhead=wifi.MPDU_OVERHEAD + (wifi.CCMP if cell.encryption == "ccmp" else 0),
        driver=_driver(cell.driver.of(wifi.ACCESS_POINT, cell.wifi.ap)),
    )


def _edca(cell: Wifi, side: str) -> tuple[resolved.Edca, ...]:
    return tuple(cell.edca.get(side, wifi.STATION_EDCA))


def _station(cell: Wifi, name: str, network: Network) -> resolved.Station:
    standard = wifi.STANDARDS[cell.standard]
    index = cell.mcs[name] if isinstance(cell.mcs, dict) else cell.mcs
    return resolved.Station(
        host=network.places[name],
        mode=wifi.mode(standard, cell.width, index, cell.streams.of(name), cell.guard),
        rate=cell.rate.of(name),
        loss_ppm=cell.loss.of(name),
        snr_cdb=_snr_cdb(cell, name, cell),
        driver=_driver(cell.driver.of(name)),
        schedule=tuple(
            resolved.SignalChange(at_ns=change.at, loss_ppm=change.loss.of(name), snr_cdb=_snr_cdb(cell, name, change))
            for change in cell.schedule
            if change.changed(name)
        ),
    )


def _snr_cdb(cell: Wifi, name: str, given: Wifi | SignalChange) -> int | None:
    """The SNR of a station, as its cell gives it or a change."""
    snr, distance = given.snr.of(name), given.distance.of(name)
    if snr is None and distance is not None:
        snr = wifi.snr_at(distance, cell.band, cell.width)
    return None if snr is None else round(100 * snr)


def _driver(algorithm: Algorithm) -> resolved.Driver:
    return resolved.Driver(name=algorithm.kind, options=dict(algorithm.options))


def _qdisc(device: str, root: Algorithm, network: Network) -> resolved.AttachedQdisc:
    ends = direction(device)
    name = network.device_named(*ends)
    assert name is not None, "checked disciplines are on existing devices"
    link = network.devices[name][0]
    return resolved.AttachedQdisc(host=network.places[ends.source], link=link, root=_discipline(root, network))


def _discipline(algorithm: Algorithm, network: Network) -> resolved.Qdisc:
    return resolved.Qdisc(
        kind=algorithm.kind,
        options=dict(algorithm.options),
        child=None if algorithm.child is None else _discipline(algorithm.child, network),
        classes=tuple(_class(each, network) for each in algorithm.classes),
        filters=tuple(resolved.Filter(fits=_fits(each, network), minor=each.minor) for each in algorithm.filters),
        stab=algorithm.stab,
    )


def _class(each: Class, network: Network) -> resolved.Class:
    return resolved.Class(
        minor=each.minor,
        parent=each.parent,
        options=dict(each.options),
        child=None if each.child is None else _discipline(each.child, network),
    )


def _fits(each: Filter, network: Network) -> resolved.Fits | Literal["all"]:
    match each.fits:
        case "flow":
            return resolved.Fits(traffic=str(each.what))
        case "from":
            return resolved.Fits(source=network.places[str(each.what)])
        case "to":
            return resolved.Fits(target=network.places[str(each.what)])
        case "dscp" if isinstance(each.what, int):
            return resolved.Fits(dscp=each.what)
    return "all"


def _connections(flow: Flow, network: Network, seed: int) -> Iterator[Traffic]:
    for name, one in flow.opened(seed):
        ends = (network.places[one.direction.source], network.places[one.direction.target])
        start_ns = one.start_ns + start_offset(seed, name, one.jitter_ns)
        yield traffic.of(one.kind).resolved(one, Resolved(name, *ends, start_ns))


def _record(keys: Keys, network: Network) -> resolved.Record:
    measure = keys.measure
    return resolved.Record(
        interval_ns=measure.interval,
        tcp_info=measure.tcp_info,
        events=defaults.EVENTS,
        pcap=tuple(sorted({network.places[host] for host in measure.pcap})),
        packets_ns=None if measure.packets is None else (measure.packets[0], measure.packets[1]),
    )
