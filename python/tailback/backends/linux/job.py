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

from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from tailback import qdiscs
from tailback.backends.linux import captures, disciplines, programs, radios
from tailback.backends.linux.hops import (
    V4,
    V6,
    families_of,
    first_hops,
    has_one_way,
    hops_of,
    next_hops,
    radio_hops,
)
from tailback.backends.linux.links import Hop, cuts_segments, device_name, most_segments, sends_one_segment, states
from tailback.backends.linux.own_modules import registered
from tailback.backends.linux.sockets import with_sockets
from tailback.backends.linux.steps import IP, Json, run, write
from tailback.resolved import Connection, Flow, Scenario, Tcp

EVERY_HOST = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
    # The only group of a user namespace.
    "net/ipv4/ping_group_range": "0 0",
}


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


def job_of(scenario: Scenario) -> Json:
    """The job for the agent."""
    hops = hops_of(scenario)
    every = [*hops, *radio_hops(scenario)]
    return {
        "hosts": [f"h{number}" for number in range(len(scenario.hosts))],
        "setup": [
            *_hosts(scenario),
            *_links(scenario),
            *radios.cells(scenario),
            *_routes(scenario, every),
            *disciplines.attached(scenario, hops),
        ],
        "changes": sorted(disciplines.changes(scenario, hops), key=lambda change: int(change["at_ns"])),
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
        **disciplines.traces(scenario, hops),
        **captures.job_of(scenario, hops),
        **radios.sampled(scenario),
        **programs.job_of(scenario, every),
    }


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
            yield run(host, IP, "link", "set", device, *most_segments(scenario, host), "up")
            if cuts_segments(scenario, link, host):
                yield {"kind": "segment", "host": host, "device": device}
            # mac80211 limits its queues by the memory of packets. A NIC receives each in one piece.
            if scenario.cells and sends_one_segment(scenario, link, host):
                yield {"kind": "linearize", "host": host, "device": device}
            for family in families_of(scenario):
                there = [family.address(number, 1 - end), "lladdr", _hardware(number, 1 - end)]
                neighbour = ["neighbour", "replace", *there, "nud", "permanent", "dev", device]
                yield run(host, IP, *family.words, *neighbour)


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


def _lossy(scenario: Scenario, hops: Sequence[Hop]) -> Json:
    """The directions of links that lose packets: the ifb whose netem drops them, or the device with a policer."""
    found = []
    for hop in hops:
        link = scenario.links[hop.link]
        place = {"host": hop.neighbour, "name": device_name(scenario, hop)}
        if any(state.loses for _, state in states(link, hop.end)):
            found.append({**place, "interface": hop.behind})
        if link.police[hop.end] is not None:
            found.append({**place, "interface": hop.device, "reason": "policed"})
    return {"lossy": found} if found else {}


def _target(hops: Sequence[Hop], flow: Flow) -> str:
    """The address of the receiver on the last link of the path."""
    back = first_hops(hops, flow.target)[flow.source]
    family = V6 if isinstance(flow, Tcp) and flow.ip == V6.version else V4
    return family.address(back.link, back.end)


def conversation(entry: Flow, port: int, scenario: Scenario) -> Json:
    """The entry of a flow in the agent's job, without its address: what the scenario says of it, and where it is."""
    control = {"congestion_control": registered(scenario, entry.cc)} if isinstance(entry, Connection) else {}
    return {"traffic": to_builtins(entry), "port": port, **control}


def _device(scenario: Scenario, hop: Hop) -> Json:
    return {
        "host": hop.host,
        "interface": hop.device,
        "name": device_name(scenario, hop),
        "hidden": disciplines.hidden_of(scenario, hop),
    }
