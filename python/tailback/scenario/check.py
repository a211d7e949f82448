"""Checks that involve several keys: hosts exist, times are in order, names are unique, the window is within the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tailback.scenario import cells, defaults, links, names, traffic
from tailback.scenario.flows import flows, kind_of, own_endpoints, own_sources
from tailback.scenario.hops import cell_names, network_of
from tailback.scenario.network import Network, Problem
from tailback.scenario.network import problems as network_problems
from tailback.scenario.paths import Loc
from tailback.scenario.schema import Keys, Measure, Preset
from tailback.scenario.sysctl import check_stack, sysctl
from tailback.scenario.traffic import Flow, program
from tailback.scenario.traffic.tcp import Tcp
from tailback.scenario.values import Direction, direction
from tailback.scenario.words import Algorithm
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import time_word

#: Hosts and links have numbers of 16 bits. [docs/contracts.md]
MAX_HOSTS = 65_535

#: Bytes of an IPv4 header without options [rfc791 §3.1] and of an ICMP echo header [rfc792].
IPV4_HEADER = 20


def window_of(keys: Keys) -> tuple[int, int]:
    """The measurement window in ns: as given, else from the end of the warm-up to the last stop."""
    measured = _measured(keys)
    if keys.measure.window is not None:
        return keys.measure.window[0], keys.measure.window[1]
    stops = [keys.duration if flow.stop_ns is None else flow.stop_ns for flow in measured]
    return min(flow.start_ns for flow in measured) + keys.measure.warmup, max(stops)


def problems(keys: Keys) -> list[Problem]:
    """All errors of an experiment whose single values are valid."""
    network = network_of(keys)
    found = [
        *network_problems(network),
        *_hosts(keys, network),
        *links.problems(keys),
        *cells.problems(keys),
        *_qdiscs(keys, network),
        *_presets(keys),
        *_traffic(keys, network),
        *_programs(keys, network),
        *_captured(keys, network),
        *_logged(keys),
        *_own_controls(keys),
    ]
    # The window follows from the times of the flows, so it is only checked if those are valid.
    return found or list(_window(keys))


def _hosts(keys: Keys, network: Network) -> Iterator[Problem]:
    if len(network.hosts) > MAX_HOSTS:
        yield Problem(("hosts",), f"there are {len(network.hosts)} hosts", f"at most {MAX_HOSTS} can be numbered")
    for host, settings in (keys.hosts or {}).items():
        for key, value in settings.sysctl.items():
            try:
                sysctl(key, value)
                check_stack(key, settings.stack, value)
            except WordError as error:
                yield Problem(("hosts", host, "sysctl", key), error.message, error.hint)


def _own_controls(keys: Keys) -> Iterator[Problem]:
    """Files of controls are known by their names, so two of them need two names."""
    seen: dict[str, str] = {}
    hint = "rename one of the two files"
    for source in own_sources(keys):
        if seen.setdefault(source.name, source.sha256) != source.sha256:
            yield Problem(("cc",), f"two flows have controls of different files named `{source.name}`", hint)
    for each in own_endpoints(keys):
        if seen.setdefault(each.name, each.sha256) != each.sha256:
            yield Problem(("traffic",), f"two entries have different files named `{each.name}`", hint)


def _captured(keys: Keys, network: Network) -> Iterator[Problem]:
    for place, entry in enumerate(keys.traffic):
        if keys.measure.pcap and isinstance(entry, Tcp) and entry.ip != defaults.IP:
            hint = "remove `measure.pcap` or `ip`: captures contain IPv4 only"
            yield Problem(("traffic", place, "ip"), f"packets of IPv{entry.ip} cannot be captured", hint)
    for place, host in enumerate(keys.measure.pcap):
        if host not in network.places:
            hint = f"capture at one of {', '.join(network.hosts)}"
            yield Problem(("measure", "pcap", place), f"there is no host `{host}`", hint)


def _logged(keys: Keys) -> Iterator[Problem]:
    """The window of the table `packets`."""
    if keys.measure.packets is None:
        return
    start, stop = keys.measure.packets
    shown = f"`[{time_word(start)}, {time_word(stop)}]`"
    if start >= stop:
        yield Problem(("measure", "packets"), f"{shown} ends before it begins", "write [from, to]: [10s, 10.2s]")
    elif stop > keys.duration:
        hint = f"the run lasts {time_word(keys.duration)}: end the window by then"
        yield Problem(("measure", "packets"), f"{shown} lies outside the run", hint)


def _qdiscs(keys: Keys, network: Network) -> Iterator[Problem]:
    given: dict[str, str] = {}
    names = _flow_names(keys)
    for device in keys.qdiscs:
        loc: Loc = ("qdiscs", device)
        try:
            ends = direction(device)
        except WordError:
            hint = "name a device by its host and its neighbour: client -> router"
            yield Problem(loc, f"`{device}` is not a device", hint)
            continue
        name = network.device_named(*ends)
        if name is None:
            yield from _no_device(loc, ends, keys, network)
        elif given.setdefault(name, device) != device:
            yield Problem(loc, f"names the same device as `{given[name]}`", "remove one of the two")
        yield from _filters(loc, keys.qdiscs[device], names, network)


def _no_device(loc: Loc, ends: Direction, keys: Keys, network: Network) -> Iterator[Problem]:
    """Says why `A -> B` is not a device: an unknown host, no link, or a radio that several stations share."""
    source, target = ends
    known = [*network.hosts, *cell_names(keys).values()]
    unknown = [name for name, of in ((source, network.hosts), (target, known)) if name not in of]
    for name in unknown:
        yield Problem(loc, f"there is no host `{name}`", nearest_hint(name, known))
    link = network.link(source, target)
    if link is not None:
        radio = network.device(link, source)
        message = f"`{source}` sends to all stations of this cell through one device with one root discipline"
        yield Problem(loc, message, f"name the device by its cell: {radio}")
    elif not unknown:
        near = [device.partition(" -> ")[2] for device in network.devices if device.startswith(f"{source} -> ")]
        hint = f"`{source}` has links to: {', '.join(near)}" if near else f"`{source}` has no link"
        yield Problem(loc, f"no link joins `{source}` and `{target}`", hint)


def _filters(loc: Loc, root: Algorithm, names: Mapping[str, None], network: Network) -> Iterator[Problem]:
    """Checks that filters name existing flows and hosts."""
    for each in root.filters:
        known: Mapping[str, object] = network.places if each.fits != "flow" else names
        if each.fits in ("flow", "from", "to") and each.what not in known:
            noun = "flow" if each.fits == "flow" else "host"
            yield Problem(
                loc, f"there is no {noun} `{each.what}` for a filter", nearest_hint(str(each.what), list(known))
            )
    for child in root.children:
        yield from _filters(loc, child, names, network)


def _flow_names(keys: Keys) -> dict[str, None]:
    """The names of flows, and of entries that stand for several flows."""
    known = [name for flow in flows(keys) for name in flow.names]
    return dict.fromkeys([*known, *(name.rpartition(".")[0] for name in known if "." in name)])


def _presets(keys: Keys) -> Iterator[Problem]:
    for index, entry in enumerate(keys.traffic):
        if not isinstance(entry, Preset):
            continue
        if entry.hosts[0] == entry.hosts[1]:
            message = f"`{entry.hosts[0]}` is named twice"
            yield Problem(("traffic", index, "hosts"), message, "name two hosts: hosts: [client, server]")
        if "flows" in entry.model_fields_set and entry.preset not in ("tcp_nup", "tcp_ndown", "responsiveness"):
            message = f"`{entry.preset}` does not take a number of flows"
            yield Problem(("traffic", index, "flows"), message, "use tcp_nup or tcp_ndown, or remove `flows`")
        if entry.rate is not None and entry.preset != "udp_flood":
            message = f"`{entry.preset}` does not take a rate"
            yield Problem(("traffic", index, "rate"), message, "use udp_flood, or remove `rate`")


def _traffic(keys: Keys, network: Network) -> Iterator[Problem]:
    for flow in flows(keys):
        entry = keys.traffic[int(flow.loc[1])]
        key = "hosts" if isinstance(entry, Preset) else kind_of(entry).kind
        yield from _unknown_hosts((*flow.loc, key), flow.direction, network)
        yield from _no_path((*flow.loc, key), flow.direction, network)
        yield from _times(flow, keys.duration)
        yield from _packet_sizes(flow, network)
    yield from _shared_names(flows(keys))


def _programs(keys: Keys, network: Network) -> Iterator[Problem]:
    found = program.entries(keys.traffic)
    if found:
        names = [name for flow in flows(keys) for name in flow.names]
        yield from program.problems(found, names, network, keys.duration)


def _unknown_hosts(loc: Loc, ends: Direction, network: Network) -> Iterator[Problem]:
    for host in ends:
        if host not in network.places:
            yield Problem(loc, f"there is no host `{host}`", nearest_hint(host, network.hosts))


def _no_path(loc: Loc, ends: Direction, network: Network) -> Iterator[Problem]:
    for host in ends:
        if host in network.switches:
            yield Problem(loc, f"`{host}` is a switch, which is not an end of traffic", "name one of its hosts")
    for source, target in (ends, reversed(ends)) if network.routes else ():
        if source in network.places and target in network.places and network.path(source, target) is None:
            message = f"packets from `{source}` do not reach `{target}`: `routes` form a loop"
            yield Problem(loc, message, "change the `routes` between them")


def _times(flow: Flow, duration: int) -> Iterator[Problem]:
    start, stop = time_word(flow.start_ns), time_word(flow.stop_ns or 0)
    end = f"the run ends at {time_word(duration)}"
    if flow.start_ns >= duration:
        message = f"`{start}` is not before the end of the run"
        yield Problem((*flow.loc, "start"), message, f"{end}: start earlier or make `duration` longer")
    elif flow.stop_ns is not None and flow.stop_ns > duration:
        message = f"`{stop}` is after the end of the run"
        yield Problem((*flow.loc, "stop"), message, f"{end}: stop earlier or make `duration` longer")
    elif flow.stop_ns is not None and flow.start_ns >= flow.stop_ns:
        message = f"`{stop}` is not after `start`, `{start}`"
        yield Problem((*flow.loc, "stop"), message, f"stop after {start}, or start earlier")
    elif flow.start_ns + flow.jitter_ns > (duration if flow.stop_ns is None else flow.stop_ns):
        message = f"`{time_word(flow.jitter_ns)}` may delay the start past the stop"
        yield Problem((*flow.loc, "jitter"), message, "give less jitter, such as 10ms")


def _packet_sizes(flow: Flow, network: Network) -> Iterator[Problem]:
    """Checks that packets fit the MTU of all links on their path, for echoes in both directions (no fragmentation)."""
    kind = traffic.of(flow.kind)
    back = network.links_on(*flow.direction[::-1]) if kind.packets == "there and back" else []
    way = [*network.links_on(*flow.direction), *back]
    if way:
        yield from kind.problems(flow, min(network.hops[link].mtu for link, _ in way) - IPV4_HEADER)


def _shared_names(found: Sequence[Flow]) -> Iterator[Problem]:
    for flow, first, name in names.pairs(found):
        message = f"the name `{name}` is already used by traffic[{first.loc[1]}]"
        hint = "give each entry a `name` of its own"
        for one in (first, flow):
            if one.is_endless and names.counted(name) == one.names[0]:
                hint += f"; the flows of traffic[{one.loc[1]}] are {one.names[0]}.1, {one.names[0]}.2, ..."
                break
        yield Problem((*flow.loc, "name"), message, hint, first.loc)


def _window(keys: Keys) -> Iterator[Problem]:
    loc: Loc = ("measure", "window")
    measure, duration = keys.measure, keys.duration
    start, stop = window_of(keys)
    shown = f"`[{time_word(start)}, {time_word(stop)}]`"
    if measure.window is None:
        yield from _warmup(keys, start, stop)
    elif start >= stop:
        yield Problem(loc, f"{shown} ends before it begins", "write [from, to]: [10s, 35s]")
    elif stop > duration:
        hint = f"the run lasts {time_word(duration)}: end the window by then or make `duration` longer"
        yield Problem(loc, f"{shown} lies outside the run", hint)
    else:
        yield from _window_in_warmup(keys, measure, start)


def _warmup(keys: Keys, start: int, stop: int) -> Iterator[Problem]:
    if start >= stop:
        warmup = time_word(keys.measure.warmup)
        left = time_word(stop - (start - keys.measure.warmup))
        message = f"a warm-up of `{warmup}` leaves nothing to measure"
        hint = f"traffic lasts {left}: shorten the warm-up, or make the run longer"
        yield Problem(("measure", "warmup"), message, hint)


def _window_in_warmup(keys: Keys, measure: Measure, start: int) -> Iterator[Problem]:
    warm = min(flow.start_ns for flow in _measured(keys)) + measure.warmup
    if start < warm:
        message = f"`{time_word(start)}` lies in the warm-up, which ends at {time_word(warm)}"
        hint = "begin the window later, or remove `warmup`"
        yield Problem(("measure", "window"), message, hint)


def _measured(keys: Keys) -> Sequence[Flow | program.Entry]:
    """What the measurement window follows: flows with data, and programs that are no servers."""
    found = flows(keys)
    data = [flow for flow in found if traffic.of(flow.kind).carries == "data"]
    own = program.entries(keys.traffic)
    return [*data, *(entry for entry in own if not entry.keys.server)] or found or own
