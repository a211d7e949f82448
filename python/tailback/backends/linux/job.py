"""Converts a resolved scenario to a job for the agent: the commands that build its network on Linux.

A host is a network namespace, a link a pair of veth devices, which forward packets immediately, so that a packet is no
longer charged to the small queue when it enters the link. Rates and delays are emulated where TCP does not notice:

    rate       on the sending device, an HTB with the rate of the link above the discipline of the scenario, unless that
               is a shaper; on the receiving side, netem adds the transmission time (length / rate)
    trace      on the sending device, the discipline `opportunities` of our kernel (kernel/patches) above that of the
               scenario; the agent hands the times over, because `tc` does not know it
    delay      netem on the receiving side: an ifb device behind the ingress of the veth (`links.py`). On the sender it
               would end the small queue's charge too early
    offloads   a veth passes skbs of several segments to its peer unchanged, which corresponds to `on`. `off`:
               `gso_max_segs 1`, one MSS per packet; forwarded skbs are segmented below the discipline. `gso`: TCP
               builds skbs of several segments, which are segmented there, as on a link to a host that is not `on`

Not modelled: the transmit ring of a network card and BQL (`ring`, `bql`); the overhead of each frame in an skb of
several segments (HTB and netem count it once per skb).
Neighbours are static, and no metrics are cached between connections, unless a host sets `tcp_no_metrics_save` to 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tailback import qdiscs
from tailback.backends.linux import captures
from tailback.backends.linux.driver_traits import traits
from tailback.backends.linux.links import (
    FRAMING,
    PREAMBLE_AND_GAP,
    SHORTEST_FRAME,
    Hop,
    device_name,
    rewire,
    states,
    wire,
)
from tailback.backends.linux.own_modules import registered
from tailback.backends.linux.steps import IP, TC, Json, Words, run, write
from tailback.backends.linux.trees import NOTHING, Matches, Socket, Transport, Tree
from tailback.qdiscs import words_of
from tailback.resolved import Connection, Flow, Link, Qdisc, Scenario, Tcp
from tailback.resolved.traffic import Application
from tailback.resolved.wifi import Mode

FIRST_PORT = 5001

OPPORTUNITIES = "opportunities"
"""The discipline of our kernel that follows a trace."""

BETWEEN_SOCKETS: tuple[Application, ...] = ("tcp", "udp", "echo", "request", "page", "video")
"""Applications with a socket at both ends; the kernel answers echo requests of ICMP."""

TRANSPORTS: Mapping[Application, Transport] = {
    "tcp": "tcp", "request": "tcp", "page": "tcp", "video": "tcp", "udp": "udp", "echo": "udp", "ping": "icmp",
}  # fmt: skip
"""What carries an application. Ports are consecutive for each; the port of a ping is the identifier of its requests."""

EVERY_HOST = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    # The only group of a user namespace.
    "net/ipv4/ping_group_range": "0 0",
}


RADIOS = "/sys/module/tailback_wifi/parameters/"
"""The files of our driver (`kernel/driver`)."""

FREQUENCY_MHZ = 5180
"""Channel 36. The air does not depend on it."""

SHORT_GUARD_NS = 400

FORMATS = (("ht", 800), ("ht", 400), ("vht", 800), ("vht", 400), ("he", 800), ("he", 1600), ("he", 3200))
"""Formats and guard intervals in ns, as our driver numbers them (`kernel/driver/air.h`)."""

CODED_BITS = ((1, 6), (2, 6), (2, 9), (4, 6), (4, 9), (6, 8), (6, 9), (6, 10), (8, 9), (8, 10), (10, 9), (10, 10))
"""Coded bits on a carrier, and twelfths of them that are data, by MCS."""

DEFAULT_SHIFT = 10
"""`sk_pacing_shift` of sockets whose small queue is not limited by a time. [linux-6.12 sock.c sock_init_data_uid]"""


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

WITH_V6 = {
    "all/disable_ipv6": 0,
    "default/disable_ipv6": 0,
    "all/forwarding": 1,
    # No host sends packets of its own: addresses are given and static.
    "default/accept_dad": 0,
    "default/accept_ra": 0,
    "default/addr_gen_mode": 1,
}
"""Settings of each host if a flow goes over IPv6, in `net/ipv6/conf`."""


def families_of(scenario: Scenario) -> list[Family]:
    """The versions of IP that the flows use; IPv4 is always there."""
    return [V4, V6] if any(flow.ip == V6.version for flow in scenario.tcp) else [V4]


def job_of(scenario: Scenario) -> Json:
    """The job for the agent."""
    hops = hops_of(scenario)
    every = [*hops, *radio_hops(scenario)]
    return {
        "hosts": [f"h{number}" for number in range(len(scenario.hosts))],
        "setup": [
            *_hosts(scenario),
            *_links(scenario),
            *_cells(scenario),
            *_routes(scenario, every),
            *_qdiscs(scenario, hops),
        ],
        "changes": sorted(_changes(scenario, hops), key=lambda change: int(change["at_ns"])),
        "duration_ns": scenario.duration_ns,
        "interval_ns": scenario.record.interval_ns,
        "marks": {
            row.kind: {"in": row.kernel.marks_in, "at": row.kernel.marks}
            for row in qdiscs.KINDS.values()
            if row.kernel.marks is not None
        },
        "devices": [_device(scenario, hop) for hop in hops],
        **_lossy(scenario, hops),
        "traffic": [
            conversation(entry, socket.port, scenario) | {"address": _target(every, entry)}
            for entry, socket in with_sockets(scenario)
        ],
        **_traces(scenario, hops),
        **captures.job_of(scenario, hops),
        **_radios(scenario),
    }


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


def is_shaper(root: Qdisc | None) -> bool:
    """Whether a discipline tree contains a shaper."""
    chained = root
    while chained is not None:
        row = qdiscs.of(chained.kind)
        if row.shaper in chained.options or (row.class_rates and chained.classes):
            return True
        chained = chained.child
    return False


def root_of(scenario: Scenario, hop: Hop) -> Qdisc | None:
    """The root discipline of a device, including the default one; `None` if it has none."""
    given = scenario.root(hop.host, hop.link)
    if given is not None:
        return given
    link = scenario.links[hop.link]
    holds = link.rate_bps[hop.end] is not None or link.trace[hop.end] is not None
    return Qdisc(kind="pfifo_fast") if holds else None


def _hosts(scenario: Scenario) -> Iterator[Json]:
    for number, host in enumerate(scenario.hosts):
        yield run(number, IP, "link", "set", "lo", "up")
        for name, text in EVERY_HOST.items():
            yield write(number, f"/proc/sys/{name}", text)
        for name, switch in WITH_V6.items() if V6 in families_of(scenario) else ():
            yield write(number, f"/proc/sys/net/ipv6/conf/{name}", switch)
        for name, value in host.sysctl.items():
            own = " ".join(map(str, value)) if isinstance(value, tuple) else value
            yield write(number, f"/proc/sys/{name.replace('.', '/')}", own)


def _hardware(link: int, end: int) -> str:
    return f"02:00:00:{link >> 8:02x}:{link & 255:02x}:{end + 1:02x}"


def _links(scenario: Scenario) -> Iterator[Json]:
    for number, link in enumerate(scenario.links):
        device = f"l{number}"
        near, far = (
            [device, "address", _hardware(number, end), "mtu", link.mtu, "netns", f"h{link.ends[end]}"]
            for end in (0, 1)
        )
        yield run(None, IP, "link", "add", *near, "type", "veth", "peer", "name", *far)
        for end in (0, 1):
            host = link.ends[end]
            for family in families_of(scenario):
                address = f"{family.address(number, end)}/{family.prefix}"
                yield run(host, IP, *family.words, "address", "add", address, "dev", device)
            yield run(host, IP, "link", "set", device, *_most_segments(scenario, host), "up")
            if cuts_segments(scenario, link, host):
                yield {"kind": "segment", "host": host, "device": device}
            for family in families_of(scenario):
                there = [family.address(number, 1 - end), "lladdr", _hardware(number, 1 - end)]
                neighbour = ["neighbour", "replace", *there, "nud", "permanent", "dev", device]
                yield run(host, IP, *family.words, *neighbour)


def _cells(scenario: Scenario) -> Iterator[Json]:
    """The radios, their association, and their addresses."""
    for number, cell in enumerate(scenario.cells):
        hosts = [cell.access_point, *(station.host for station in cell.stations)]
        device = f"w{number}"
        ends = [
            {"host": host, "device": device, "address": _radio_address(number, place)}
            for place, host in enumerate(hosts)
        ]
        for place, host in enumerate(hosts):
            yield write(host, f"{RADIOS}radio", " ".join(map(str, radio_words(scenario, number, place))))
            yield run(host, IP, "link", "set", "wlan0", "name", device)
        # They associate as radios of 802.11n.
        width = min(40, max(station.mode.width for station in cell.stations))
        members = {"access_point": ends[0], "stations": ends[1:], "frequency": FREQUENCY_MHZ, "width": width}
        yield {"kind": "associate", "cell": members}
        for host in hosts if scenario.hosts[cell.access_point].offloads == "off" else ():
            yield run(host, IP, "link", "set", device, *_most_segments(scenario, host))
    for hop in radio_hops(scenario):
        for family in families_of(scenario):
            address = f"{family.address(hop.link, hop.end)}/{family.prefix}"
            yield run(hop.host, IP, *family.words, "address", "add", address, "dev", hop.device)
    for hop in radio_hops(scenario):
        for family in families_of(scenario):
            there = [family.address(hop.link, 1 - hop.end), "lladdr", _radio_of(scenario, hop.neighbour, hop)]
            neighbour = ["neighbour", "replace", *there, "nud", "permanent", "dev", hop.device]
            yield run(hop.host, IP, *family.words, *neighbour)


def _radio_address(cell: int, place: int) -> str:
    return f"02:00:01:{cell:02x}:{place >> 8:02x}:{place & 255:02x}"


def _radio_of(scenario: Scenario, host: int, hop: Hop) -> str:
    """The address of a host's radio in the cell of a hop."""
    number = hop.cell or 0
    cell = scenario.cells[number]
    hosts = [cell.access_point, *(station.host for station in cell.stations)]
    return _radio_address(number, hosts.index(host))


def radio_words(scenario: Scenario, number: int, place: int) -> list[object]:
    """What the driver is told about a radio: address, pacing shift of its sockets, HT mode (MCS, width, short guard
    interval), expected throughput in kbit/s, airtime fairness, airtime queue limits, streams, whether its modes vary,
    whether mac80211 chooses those of what it sends, and format with guard interval. An access point has what any of its
    stations has."""
    cell = scenario.cells[number]
    stations = cell.stations if place == 0 else cell.stations[place - 1 : place]
    host = cell.access_point if place == 0 else stations[0].host
    driver = cell.driver if place == 0 else stations[0].driver
    shifts = [flow.tsq.shift for flow in scenario.tcp if flow.source == host and flow.tsq.kind == "time"]
    mode = stations[0].mode
    index = 8 * (mode.streams - 1) + mode.mcs if mode.format == "ht" else mode.mcs
    width = max(station.mode.width for station in stations)
    short = int(any(station.mode.guard_ns == SHORT_GUARD_NS for station in stations))
    known = traits()[driver.name]
    fairness = int(driver.options.get("airtime_flags", known.fairness) > 0)
    shift = shifts[0] if shifts else DEFAULT_SHIFT
    expected = 0 if known.chooses else kbps(mode)
    streams = max(station.mode.streams for station in stations)
    varies = any(station.rate != "fixed" for station in stations)
    before = [_radio_address(number, place), shift, index, width, short, expected, fairness, int(known.limits)]
    kind = FORMATS.index((mode.format, mode.guard_ns))
    return [*before, streams, int(varies), int(varies and not known.chooses), kind]


def kbps(mode: Mode) -> int:
    """The bit rate of a mode. [ieee80211-2016 §19.5, §21.5] [ieee80211ax §27.5]"""
    of_width = {"ht": (52, 108), "vht": (52, 108, 234, 468), "he": (234, 468, 980, 1960)}[mode.format]
    carriers = of_width[(20, 40, 80, 160).index(mode.width)]
    bits, of_twelfths = CODED_BITS[mode.mcs]
    symbol_us = (12.8 if mode.format == "he" else 3.2) + mode.guard_ns / 1000
    return round(carriers * bits * of_twelfths / 12 * mode.streams / symbol_us * 1000)


def cuts_segments(scenario: Scenario, link: Link, host: int) -> bool:
    """Whether the sending device must segment skbs of several segments, because either end is not `on`."""
    return _offloads(scenario, host) != "off" and any(_offloads(scenario, end) != "on" for end in link.ends)


def _most_segments(scenario: Scenario, host: int) -> Words:
    return ["gso_max_segs", "1"] if _offloads(scenario, host) == "off" else []


def _offloads(scenario: Scenario, host: int) -> str:
    return scenario.hosts[host].offloads


def _routes(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    """Routes to the networks of remote links in a tree topology, else to all addresses."""
    if has_one_way(scenario):
        yield from _routes_of_tree(scenario, hops)
        return
    for source in range(len(scenario.hosts)):
        # Packets may arrive on another device than the one of the route back.
        yield write(source, "/proc/sys/net/ipv4/conf/all/rp_filter", 0)
        ways = next_hops(scenario, hops, source)
        for end in hops:
            way = ways.get(end.host)
            if way is not None and not (end.link == way.link and end.host == way.neighbour):
                for family in families_of(scenario):
                    gateway = family.address(way.link, 1 - way.end)
                    address = f"{family.address(end.link, end.end)}/{family.longest}"
                    route = ["route", "add", address, "via", gateway, "dev", way.device]
                    yield run(source, IP, *family.words, *route)


def _routes_of_tree(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    for source in range(len(scenario.hosts)):
        ways = first_hops(hops, source)
        for number, link in enumerate(scenario.links):
            if source in link.ends:
                continue
            way = next((way for end, way in ways.items() if end in link.ends), None)
            if way is None:
                continue
            for family in families_of(scenario):
                gateway = family.address(way.link, 1 - way.end)
                network = f"{family.network(number)}/{family.prefix}"
                yield run(source, IP, *family.words, "route", "add", network, "via", gateway)


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


def _qdiscs(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    matches = matches_of(scenario)
    for hop in hops:
        link = scenario.links[hop.link]
        root = tree_of(root_of(scenario, hop), link.rate_bps[hop.end])
        if link.trace[hop.end] is not None:
            yield run(hop.host, TC, "qdisc", "add", "dev", hop.device, "root", "handle", "1:", OPPORTUNITIES)
        if root is not None:
            yield from attach_tree(hop, root, matches, int(link.trace[hop.end] is not None))
        yield from wire(hop, link)


def _changes(scenario: Scenario, hops: Sequence[Hop]) -> Iterator[Json]:
    """The steps during the run."""
    for hop in hops:
        rate_bps = scenario.links[hop.link].rate_bps[hop.end]
        hidden = _is_hidden(root_of(scenario, hop), rate_bps)
        for at_ns, state in states(scenario.links[hop.link], hop.end)[1:]:
            steps = [*rewire(hop, state)]
            if hidden and state.rate_bps is not None and state.rate_bps != rate_bps:
                place = ["parent", "1:", "classid", "1:1", "htb", *words_of("htb", _link_shaper(state.rate_bps))]
                steps.append(run(hop.host, TC, "class", "change", "dev", hop.device, *place))
            rate_bps = state.rate_bps
            yield {"at_ns": at_ns, "steps": steps}


def _is_hidden(root: Qdisc | None, rate_bps: int | None) -> bool:
    """Whether the rate of a link needs a shaper that the scenario does not have."""
    return rate_bps is not None and not is_shaper(root)


def hidden_of(scenario: Scenario, hop: Hop) -> int:
    """The number of disciplines above those of the scenario on a device."""
    link = scenario.links[hop.link]
    follows = link.trace[hop.end] is not None
    return int(follows or _is_hidden(root_of(scenario, hop), link.rate_bps[hop.end]))


def _link_shaper(rate_bps: int) -> dict[str, int]:
    # A frame, and the data of 10 µs, because the timer may be a little late.
    burst = 1600 + rate_bps // 800_000
    frames = {"overhead": FRAMING, "mpu": SHORTEST_FRAME + PREAMBLE_AND_GAP}
    return {"rate": rate_bps, "burst": burst, "cburst": burst, "quantum": 1514, **frames}


def tree_of(root: Qdisc | None, rate_bps: int | None) -> Qdisc | None:
    """The disciplines of a device on a link of that rate: those of the scenario, below a shaper if they have none."""
    if rate_bps is None or not _is_hidden(root, rate_bps):
        return root
    return Qdisc(kind="htb", options=_link_shaper(rate_bps), child=root)


def chain(root: Qdisc | None, rate_bps: int | None) -> list[tuple[str, Mapping[str, int]]]:
    """Kinds and options from the root down, for disciplines with one child each."""
    kinds: list[tuple[str, Mapping[str, int]]] = []
    node = tree_of(root, rate_bps)
    while node is not None:
        kinds.append((node.kind, node.options))
        node = node.child
    return kinds


def attach(hop: Hop, depth: int, kind: str, options: Mapping[str, int]) -> Iterator[Json]:
    """The steps that attach a discipline at `depth` below the root, to the only class of its parent."""
    place = ["root"] if depth == 0 else ["parent", f"{depth}:1"]
    for command in Tree(hop.device, NOTHING).commands(Qdisc(kind=kind, options=options), depth, place):
        yield run(hop.host, TC, *command)


def attach_tree(hop: Hop, root: Qdisc, matches: Matches, depth: int = 0) -> Iterator[Json]:
    """The steps that attach a discipline and its children, at `depth` below the root."""
    place = ["root"] if depth == 0 else ["parent", f"{depth}:1"]
    for command in Tree(hop.device, matches).commands(root, depth, place):
        yield run(hop.host, TC, *command)


def _lossy(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The directions of links that lose packets, with the ifb whose netem drops them."""
    found = [
        {"host": hop.neighbour, "interface": hop.behind, "name": device_name(scenario, hop)}
        for hop in hops
        if any(state.loses for _, state in states(scenario.links[hop.link], hop.end))
    ]
    return {"lossy": found} if found else {}


def _radios(scenario: Scenario) -> Json:
    """What connects the radios to their air, and their devices, whose queues are sampled."""
    found = list(captures.radios(scenario))
    return {"air": f"{RADIOS}zero", "radios": found} if found else {}


def _traces(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The devices that deliver at the times of a trace, for the agent."""
    found = []
    for hop in hops:
        index = scenario.links[hop.link].trace[hop.end]
        if index is not None:
            stamps_ms = list(scenario.traces[index].stamps_ms)
            found.append({"host": hop.host, "device": hop.device, "stamps_ms": stamps_ms})
    return {"traces": found} if found else {}


def matches_of(scenario: Scenario) -> Matches:
    """The values that filters of this scenario may match."""
    addresses: dict[int, list[str]] = {}
    for hop in (*hops_of(scenario), *radio_hops(scenario)):
        own = (family.address(hop.link, hop.end) for family in families_of(scenario))
        addresses.setdefault(hop.host, []).extend(own)
    sockets: dict[str, list[Socket]] = {}
    for flow, socket in with_sockets(scenario):
        for name in {flow.name, flow.name.rpartition(".")[0] or flow.name}:
            sockets.setdefault(name, []).append(socket)
    return Matches(addresses, sockets, tuple(family.version for family in families_of(scenario)))


def _target(hops: Sequence[Hop], flow: Flow) -> str:
    """The address of the receiver on the last link of the path."""
    back = first_hops(hops, flow.target)[flow.source]
    family = V6 if isinstance(flow, Tcp) and flow.ip == V6.version else V4
    return family.address(back.link, back.end)


def with_sockets(scenario: Scenario) -> Iterator[tuple[Flow, Socket]]:
    """The flows that the agent can run, with what distinguishes their packets."""
    used: Counter[Transport] = Counter()
    for entry in scenario.flows:
        if entry.run_by is None:
            continue
        transport = TRANSPORTS[entry.run_by]
        yield entry, Socket(transport, FIRST_PORT + used[transport])
        used[transport] += 1


def conversation(entry: Flow, port: int, scenario: Scenario) -> Json:
    """The entry of a flow in the agent's job, without its address."""
    between = {"to": entry.target} if entry.run_by in BETWEEN_SOCKETS else {}
    control = {"congestion_control": registered(scenario, entry.cc)} if isinstance(entry, Connection) else {}
    return {
        "kind": entry.run_by,
        "name": entry.name,
        "from": entry.source,
        **between,
        "port": port,
        "dscp": entry.dscp or None,
        "start_ns": entry.start_ns,
        **entry.job(scenario.duration_ns),
        **control,
    }


def _device(scenario: Scenario, hop: Hop) -> Json:
    return {
        "host": hop.host,
        "interface": hop.device,
        "name": device_name(scenario, hop),
        "hidden": hidden_of(scenario, hop),
    }
