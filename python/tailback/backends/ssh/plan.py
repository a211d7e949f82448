"""Plans an experiment on a testbed: the commands for each machine, in order, each with the command that undoes it.

    modules      modprobe; those of the user are built on the machine (`modules.py`)
    devices      ip link, ip address: up, the MTU of the link, the address if the testbed file gives one
    routes       ip route to each destination network, if the existing route differs from the experiment
    sysctls      those of the hosts; forwarding on routers; no cached metrics between connections
    offloads     ethtool -K; with `off` also one segment per skb, because since Linux 4.17 TCP builds larger skbs
                 regardless of the device (`docs/experiment-file.md`)
    disciplines  tc, as in the file. A list is built as in TEACUP: the first stage is on an ifb, to which the packets of
                 the device are redirected; they return to the root discipline of the device, the second stage

The command that undoes a step is sent to the machine before the step (`crates/agent/src/guard.rs`).
"""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from tailback import qdiscs
from tailback.backends.linux import disciplines, job, links, sockets
from tailback.backends.linux.disciplines import root_of
from tailback.backends.linux.hops import first_hops
from tailback.backends.linux.small_queues import small_queue
from tailback.backends.linux.trees import NOTHING, Matches, Tree
from tailback.backends.ssh import modules
from tailback.backends.ssh.facts import PACING_SHIFT, SMALL_QUEUE, Facts, sysctl_path
from tailback.backends.ssh.layout import Layout, Port
from tailback.qdiscs import series
from tailback.resolved import Connection, Flow, Qdisc, Tcp

MAX_STAGES = 2
PROC_SYS = "/proc/sys/"
Words = tuple[str, ...]

EVERY_MACHINE = {"net.ipv4.tcp_no_metrics_save": "1", "net.ipv4.ping_group_range": "0 2147483647"}


@dataclass(frozen=True)
class Step:
    """One command on one machine."""

    host: str
    what: str
    """The name of the step in errors."""
    argv: Words = ()
    undo: Words | None = None
    stdin: str = ""
    """The standard input of the command, which then changes nothing that has to be undone."""
    path: str = ""
    """A file of the kernel to write, instead of a command."""
    value: str = ""

    @property
    def words(self) -> str:
        """The command in the syntax of a shell."""
        if self.path.startswith(PROC_SYS):
            name = self.path.removeprefix(PROC_SYS).replace("/", ".")
            return shlex.join(["sysctl", "-w", f"{name}={self.value}"])
        if self.path:
            return f"echo {shlex.quote(self.value)} > {shlex.quote(self.path)}"
        piped = f"printf %s {shlex.quote(self.stdin)} | " if self.stdin else ""
        return piped + shlex.join(self.argv)

    @property
    def undo_words(self) -> str:
        """The command that undoes it, in the syntax of a shell; empty if none is needed."""
        return "restore its old value" if self.path else shlex.join(self.undo or ())


@dataclass(frozen=True)
class Plan:
    """A plan."""

    steps: Sequence[Step]
    job: Mapping[str, Any]
    """The job for all agents; each takes its own part."""


def plan_of(layout: Layout, token: str) -> Plan:
    """The plan of a scenario on a testbed."""
    steps = [
        step
        for each in (_modules, _own_modules, _devices, routes, _sysctls, _offloads, _small_queues, _disciplines)
        for step in each(layout)
    ]
    return Plan(steps, job_of(layout, token))


def job_of(layout: Layout, token: str) -> dict[str, Any]:
    """The job for the agents, as for other kernels, but with the addresses of the testbed."""
    scenario = layout.scenario
    plain = job.job_of(structs.replace(scenario, qdiscs=()))
    tcp_too = layout.testbed.keys.engine == "agent"
    return plain | {
        "hosts": scenario.host_names,
        "setup": [],
        "devices": [device for port in layout.ports for device in _watched(layout, port)],
        "traffic": [
            job.conversation(entry, socket.port, scenario) | _on_testbed(layout, entry, token)
            for entry, socket in sockets.with_sockets(scenario)
            if tcp_too or not isinstance(entry, Tcp)
        ],
    }


def _on_testbed(layout: Layout, entry: Flow, token: str) -> dict[str, Any]:
    """Additional entries of a flow on a testbed: a token, because others might connect."""
    return {
        "address": str(layout.target(entry.source, entry.target)),
        **({"token": token} if entry.transport != "icmp" else {}),
        **({"pacing_shift": _pacing_shift(entry)} if isinstance(entry, Connection) else {}),
    }


def stages(root: Qdisc | None) -> list[Qdisc | None]:
    """The stages of a discipline, in the order of the packets."""
    if root is not None and root.kind == series.KIND:
        return [stage for _, stage in root.children]
    return [root]


def rate_to_make(layout: Layout, port: Port) -> int | None:
    """The rate of a link that must be emulated; `None` if the device has it."""
    rate = layout.scenario.links[port.link].rate_bps[port.end]
    speed = layout.device(port).speed_mbit
    if layout.testbed.keys.links == "cabled" or rate is None or (speed is not None and speed * 1_000_000 == rate):
        return None
    return rate


def _pacing_shift(entry: Connection) -> int | None:
    tsq = entry.tsq
    return tsq.shift if tsq.kind == "time" and tsq.shift != STOCK_SHIFT else None


STOCK_SHIFT = 10
"""`sk_pacing_shift` of a socket: 1 ms. [linux-6.12 sock.c sock_init_data_uid]"""


def _modules(layout: Layout) -> Iterator[Step]:
    """Loads missing modules. They are not unloaded, because a loaded module has no effect."""
    for host, wanted in _wanted_modules(layout).items():
        facts = layout.facts[host]
        absent = [name for name in dict.fromkeys(wanted) if name and name not in facts.modules]
        if absent and facts.loadable:
            yield Step(host, "loading modules", ("modprobe", "-a", *absent))


def _own_modules(layout: Layout) -> Iterator[Step]:
    """Builds and loads the congestion controls of the user."""
    for each in modules.commands(layout):
        yield Step(each.host, each.what, each.argv, each.undo, each.stdin)


def _wanted_modules(layout: Layout) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {name: [] for name in layout.facts}
    for port in layout.ports:
        root = root_of(layout.scenario, port)
        found = stages(root)
        trees = [disciplines.tree_of(stage, rate_to_make(layout, port)) for stage in found]
        nodes = [node for tree in trees if tree is not None for node in tree.tree]
        wanted[port.owner] += [qdiscs.of(node.kind).module for node in nodes]
        if len(found) > 1 or delay_of(layout, port):
            wanted[port.owner] += ["ifb", "cls_u32", "act_mirred"]
    own = {source.name for source in layout.scenario.controls}
    for flow in (each for each in layout.scenario.connections if each.cc.name not in own):
        name = flow.cc.name
        for end in (flow.source, flow.target):
            if name not in layout.facts[layout.name(end)].controls:
                wanted[layout.name(end)].append(f"tcp_{name}")
    return wanted


def _devices(layout: Layout) -> Iterator[Step]:
    for port in _each_device(layout):
        device, mtu = layout.device(port), layout.scenario.links[port.link].mtu
        given = layout.interface(port).address
        link = ("ip", "link", "set", port.name)
        if device.mtu != mtu:
            undo = (*link, "mtu", str(device.mtu))
            yield Step(port.owner, f"the MTU of {port.name}", (*link, "mtu", str(mtu)), undo)
        if given is not None and ipaddress.IPv4Interface(given) not in device.addresses:
            words = ("address", "add", given, "dev", port.name)
            undo = ("ip", "address", "del", given, "dev", port.name)
            yield Step(port.owner, f"the address of {port.name}", ("ip", *words), undo)
        if not device.up:
            yield Step(port.owner, f"{port.name} up", (*link, "up"), (*link, "down"))


def _each_device(layout: Layout) -> Iterator[Port]:
    """Each device once."""
    yield from {(port.owner, port.name): port for port in layout.ports}.values()


def routes(layout: Layout) -> Iterator[Step]:
    done: set[tuple[str, ipaddress.IPv4Network]] = set()
    for source, target in layout.pairs():
        network = layout.address(first_hops(layout.hops, target)[source]).network
        here = source
        while here != target:
            name = layout.name(here)
            if name in layout.facts and (name, network) not in done:
                done.add((name, network))
                yield from _route(layout, (here, target), network)
            here = first_hops(layout.hops, here)[target].neighbour


def _route(layout: Layout, way: tuple[int, int], network: ipaddress.IPv4Network) -> Iterator[Step]:
    first, beyond = layout.gateway(*way)
    port = layout.port(first)
    if beyond is None or port is None or network == layout.address(first).network:
        return
    gateway = str(layout.address(beyond).ip)
    if routed(layout.facts[port.owner], network) == (port.name, gateway):
        return
    words = (str(network), "via", gateway, "dev", port.name)
    yield Step(port.owner, f"the route to {network}", ("ip", "route", "add", *words), ("ip", "route", "del", *words))


def routed(facts: Facts, network: ipaddress.IPv4Network) -> tuple[str, str | None] | None:
    """Device and gateway of the machine's route to exactly this network; `None` if it has no such route."""
    for route in facts.routes:
        if route.get("dst") == str(network):
            return str(route.get("dev")), route.get("gateway")
    return None


def _sysctls(layout: Layout) -> Iterator[Step]:
    for host in layout.scenario.hosts:
        name = host.name
        if name not in layout.facts:
            continue
        wanted = EVERY_MACHINE | ({"net.ipv4.ip_forward": "1"} if name in layout.forwarders() else {})
        for key, given in host.sysctl.items():
            wanted[key] = " ".join(map(str, given)) if isinstance(given, tuple) else str(given)
        held = layout.facts[name].sysctls
        for key, value in wanted.items():
            if held.get(key) != value:
                yield Step(name, f"the sysctl {key}", path=sysctl_path(key), value=value)


def _offloads(layout: Layout) -> Iterator[Step]:
    for port in _each_device(layout):
        device = layout.device(port)
        wanted = layout.scenario.hosts[port.host].offloads
        words = {"off": ("tso", "gso", "gro", "lro"), "gso": ("tso", "gso", "gro", "lro")}.get(wanted, ())
        on = [word for word in words if device.offloads.get(word)]
        off = [word for word in ("tso", "gso", "gro") if wanted == "on" and device.offloads.get(word) is False]
        for changed, state, before in ((on, "off", "on"), (off, "on", "off")):
            if changed:
                do, undo = (tuple(x for word in changed for x in (word, state)) for state in (state, before))
                tool = ("ethtool", "-K", port.name)
                yield Step(port.owner, f"the offloads of {port.name}", (*tool, *do), (*tool, *undo))
        if wanted == "off" and device.gso_max_segs != 1:
            change = ("ip", "link", "set", port.name, "gso_max_segs")
            undo = (*change, str(device.gso_max_segs))
            yield Step(port.owner, f"the segments of {port.name}", (*change, "1"), undo)


def _small_queues(layout: Layout) -> Iterator[Step]:
    """Machine-wide settings: TCP Small Queues (with our changes to the kernel), and parameters of controls."""
    for host, flows in senders(layout).items():
        for name, value in small_queue(flows[0].tsq).items():
            yield Step(host, "TCP Small Queues", path=f"{SMALL_QUEUE}/small_queue_{name}", value=str(value))
        shifts = {_pacing_shift(flow) for flow in flows} - {None}
        if shifts:
            # The agent sets it per flow (`crates/agent/src/app/sockets.rs`); this step makes sure that it is restored.
            yield Step(host, "TCP Small Queues", path=PACING_SHIFT, value=str(STOCK_SHIFT))
        written = {
            f"/sys/module/tcp_{flow.cc.name}/parameters/{name}": value
            for flow in flows
            for name, value in flow.cc.options.items()
        }
        for path, value in written.items():
            yield Step(host, f"the parameter {path.rsplit('/', 1)[-1]}", path=path, value=str(value))


def senders(layout: Layout) -> dict[str, list[Connection]]:
    """The connections of each sending machine; both ends of requests send."""
    found: dict[str, list[Connection]] = {}
    for flow in layout.scenario.connections:
        for end in (flow.source, flow.target) if not isinstance(flow, Tcp) else (flow.source,):
            found.setdefault(layout.name(end), []).append(flow)
    return found


def _disciplines(layout: Layout) -> Iterator[Step]:
    redirected: set[tuple[str, str]] = set()
    matches = matches_of(layout)
    for port in layout.ports:
        found = stages(root_of(layout.scenario, port))
        rate_bps = rate_to_make(layout, port)
        delay_ns = delay_of(layout, port)
        if (len(found) > 1 or delay_ns) and (port.owner, port.name) not in redirected:
            redirected.add((port.owner, port.name))
            yield _tc(port, "the hook", ["qdisc", "add", "dev", port.name, "clsact"], port.name, "clsact")
        if len(found) > 1:
            yield from on_ifb(port, "egress", found[0], matches)
        yield from _tree(port, port.name, disciplines.tree_of(found[-1], rate_bps), matches)
        if delay_ns:
            netem = Qdisc(kind="netem", options={"limit": links.LARGEST_LIMIT, "delay": delay_ns})
            yield from on_ifb(port, "ingress", netem)


def delay_of(layout: Layout, port: Port) -> int:
    """The delay of packets that arrive on a device. It is added on arrival, so that it does not affect the sender's
    small queue.
    """
    delays = layout.scenario.links[port.link].delay_ns
    return delays[1 - port.end] if layout.testbed.keys.links == "emulated" else 0


def matches_of(layout: Layout) -> Matches:
    """The values that filters may match: the addresses and ports of the testbed."""
    addresses: dict[int, list[str]] = {}
    for port in layout.ports:
        addresses.setdefault(port.host, []).append(str(layout.address(port).ip))
    return Matches(addresses, disciplines.matches_of(layout.scenario).sockets)


def on_ifb(port: Port, way: str, root: Qdisc | None, matches: Matches = NOTHING) -> Iterator[Step]:
    """Redirects packets of a device through an ifb; they return to its root discipline (egress) or host (ingress)."""
    ifb = ifb_of(port, way)
    what = f"the {way} stage of {port.name}"
    yield Step(port.owner, what, ("ip", "link", "add", "name", ifb, "type", "ifb"), ("ip", "link", "del", ifb))
    yield Step(port.owner, what, ("ip", "link", "set", ifb, "up"))
    yield from _tree(port, ifb, root, matches)
    match = ("protocol", "ip", "u32", "match", "u32", "0", "0")
    redirect = ("action", "mirred", "egress", "redirect", "dev", ifb)
    yield Step(port.owner, what, ("tc", "filter", "add", "dev", port.name, way, *match, *redirect))


def ifb_of(port: Port, way: str) -> str:
    """The name of our ifb for a device, at most 15 characters."""
    return f"tb{'o' if way == 'egress' else 'i'}-{port.name}"[:15]


def _tree(port: Port, device: str, root: Qdisc | None, matches: Matches) -> Iterator[Step]:
    for number, words in enumerate(Tree(device, matches).commands(root) if root is not None else ()):
        # Deleting an ifb also deletes its disciplines.
        undone = "root" if number == 0 and device == port.name else ""
        what = f"the discipline {words[words.index('handle') + 2]}" if words[0] == "qdisc" else f"the {words[0]}"
        yield _tc(port, what, words, device, undone)


def _tc(port: Port, what: str, words: Iterable[str], device: str, undone: str) -> Step:
    """A step with `tc`; `undone` is what to delete from the device to undo it."""
    undo = ("tc", "qdisc", "del", "dev", device, undone) if undone else None
    return Step(port.owner, f"{what} of {device}", ("tc", *words), undo)


def _watched(layout: Layout, port: Port) -> Iterator[dict[str, Any]]:
    """The disciplines to sample. The second stage is below the list, as in the simulator."""
    found = stages(root_of(layout.scenario, port))
    neighbours = f"{layout.name(port.host)} -> {layout.name(port.neighbour)}"
    hidden = int(rate_to_make(layout, port) is not None and not disciplines.is_shaper(found[-1]))
    below = int(len(found) > 1)
    if below:
        yield {"host": port.host, "interface": ifb_of(port, "egress"), "name": neighbours, "hidden": 0, "below": 1}
    yield {"host": port.host, "interface": port.name, "name": neighbours, "hidden": hidden, "below": below}
