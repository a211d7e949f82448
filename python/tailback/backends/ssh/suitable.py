"""Checks whether the machines of a testbed can run a scenario, without changing them.

Each finding is one line of `tailback testbed check`. A finding that fails prevents runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import structs

from tailback import qdiscs
from tailback.backends.linux import disciplines, hops, steps
from tailback.backends.linux import suitable as any_kernel
from tailback.backends.linux.disciplines import root_of
from tailback.backends.linux.links import Hop
from tailback.backends.linux.small_queues import small_queue
from tailback.backends.linux.trees import NOTHING
from tailback.backends.ssh import iperf3, modules
from tailback.backends.ssh import plan as plans
from tailback.backends.ssh.facts import CORE_SYSCTLS, Facts
from tailback.backends.ssh.layout import Layout, Port, missing
from tailback.backends.ssh.session import Offset
from tailback.backends.ssh.visit import Visit
from tailback.resolved import Connection, Qdisc, Scenario, SmallQueue
from tailback.testbed import Testbed

Verdict: TypeAlias = Literal["pass", "warn", "fail"]

MIN_FREE_KB = 16 * 1024
UNSURE_NS = 1_000_000
LONG_CABLE_NS = 1_000_000
MODULES = {"ifb": "ifb cls_u32 act_mirred", "filters": "cls_flower cls_matchall"}
FLOWER = ("filter", "add", "dev", "l0", "parent", "1:", "protocol", "ip", "prio", "1", "flower", "dst_ip", "192.0.2.1",
          "classid", "1:1")  # fmt: skip
MATCHALL = ("filter", "add", "dev", "l0", "parent", "1:", "protocol", "all", "prio", "2", "matchall", "classid", "1:1")
STOCK = plans.STOCK_SHIFT


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    host: str
    what: str
    verdict: Verdict
    says: str = ""
    remedy: str = ""


def written(scenario: Scenario, testbed: Testbed) -> Iterator[Finding]:
    """Problems that are visible in the two files."""
    plain = _for_any_kernel(scenario)
    of_kernels = [*any_kernel.cells(scenario), *any_kernel.findings(plain), *any_kernel.traces(plain)]
    of_kernels += any_kernel.bpf_programs(scenario, "which Tailback does not load on a testbed yet")
    found = [*missing(scenario, testbed), *((any_kernel.problem_text(what), remedy) for what, remedy in of_kernels)]
    found += [*_programs(scenario), *_disciplines(scenario), *_ways(scenario)]
    found += iperf3.findings(scenario) if testbed.keys.engine == iperf3.NAME else []
    yield from (Finding("", "experiment", "fail", what, remedy) for what, remedy in found)


def _for_any_kernel(scenario: Scenario) -> Scenario:
    """The scenario without what only testbeds support: two stages per device."""
    qdiscs = (
        structs.replace(attached, root=stage)
        for attached in scenario.qdiscs
        for stage in plans.stages(attached.root)
        if stage is not None
    )
    return structs.replace(scenario, qdiscs=tuple(qdiscs), programs=())


def _programs(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for program in scenario.programs:
        what = any_kernel.NotAsked(
            f"the program `{program.name}` on a machine of a testbed, where nothing would contain it"
        )
        yield any_kernel.problem_text(what), "run it in virtual time, --backend uml, or in namespaces, --backend netns"
    if scenario.clock_ns is not None:
        yield "`clock` is that of a guest, and machines have their own", "remove `clock`, or use --backend uml"


def _ways(scenario: Scenario) -> Iterator[tuple[str, str]]:
    if not hops.has_one_way(scenario):
        yield "there are several paths between two hosts, or `routes`", "leave one path between any two hosts"
    for flow in scenario.tcp:
        if flow.ip != hops.V4.version:
            what = any_kernel.problem_text(any_kernel.NotAsked(f"`{flow.name}` goes over IPv6"))
            yield what, "remove `ip`, or run it on `--backend sim` or `netns`"
    for link in scenario.links:
        special = [
            key
            for key, there in (
                ("netem", any(link.netem)),
                ("police", link.police != (None, None)),
                ("schedule", bool(link.schedule)),
                ("trace", link.trace != (None, None)),
            )
            if there
        ]
        if special:
            ends = " - ".join(scenario.hosts[end].name for end in link.ends)
            what = f"the link {ends} does more than delay packets (`{special[0]}` of the resolved scenario)"
            yield what, "give the router's device a netem: qdiscs: {router -> lan2: [netem loss 1%, htb rate 10mbit]}"


def _disciplines(scenario: Scenario) -> Iterator[tuple[str, str]]:
    for device in scenario.devices:
        place = f"the discipline of {device.name}"
        found = plans.stages(device.root)
        if len(found) > plans.MAX_STAGES:
            yield f"{place} has {len(found)} stages", "a device and its ifb hold two: put the others on another device"


def of_machine(facts: Facts) -> Iterator[Finding]:
    """The findings that apply to any experiment."""
    host = facts.host
    yield Finding(host, "reachable", "pass", f"Linux {facts.release} at {facts.management or 'its address'}")
    for left in facts.left:
        yield Finding(host, "left behind", "warn", left, "nothing to do: it has been restored")
    absent = [name for name in ("ip", "tc") if name not in facts.programs]
    yield _judged(host, "iproute2", f"no {', '.join(absent)}" if absent else "", "apt-get install iproute2")
    for program, package in (("ss", "iproute2"), ("ethtool", "ethtool"), ("ping", "iputils-ping")):
        if program not in facts.programs:
            worst: Verdict = "fail" if program == "ethtool" else "warn"
            yield Finding(host, program, worst, "is not there", f"apt-get install {package}")
    if facts.free_kb is not None:
        free = f"{facts.free_kb // 1024} MB free"
        enough = facts.free_kb >= MIN_FREE_KB
        yield Finding(host, "disk", "pass" if enough else "fail", free, "" if enough else "free some space")


def of_clock(host: str, offset: Offset) -> Finding:
    """The uncertainty of its clock."""
    says = f"known to ±{offset.uncertainty_ns / 1e3:.0f} µs"
    if offset.uncertainty_ns <= UNSURE_NS:
        return Finding(host, "clock", "pass", says)
    remedy = "start times and one-way delays are no more accurate than this: use a shorter, less busy path"
    return Finding(host, "clock", "warn", says, remedy)


def of_devices(facts: Facts, testbed: Testbed) -> Iterator[Finding]:
    """The findings about its test devices, for any experiment."""
    for neighbour, interface in testbed.machines[facts.host].interfaces.items():
        name = facts.interfaces.get(neighbour)
        if name is None:
            name = interface.device or f"a device with the address {interface.address}"
            what = f"there is no {name}, which should connect to `{neighbour}`"
            yield Finding(facts.host, interface.device or "device", "fail", what, "`ip address` there shows them")
            continue
        device = facts.devices[name]
        if any(str(address.ip) == facts.management for address in device.addresses):
            what = "is on the management network: the experiment would cut its own connection"
            yield Finding(facts.host, name, "fail", what, "name the device of the test network")
        if device.root is not None:
            what = f"has the discipline {device.root['kind']}, configured by someone, which could not be restored"
            yield Finding(facts.host, name, "fail", what, f"remove it: tc qdisc del dev {name} root")
        if not device.addresses and interface.address is None:
            what = f"write it: {{device: {name}, address: 10.0.1.1/24}}"
            yield Finding(facts.host, name, "fail", "has no IPv4 address", what)
        if device.wireless:
            what = "is wireless: mac80211 sets the small queue of its sockets to 8 ms, or as the driver says"
            yield Finding(facts.host, name, "warn", what, "nothing to do; use `tsq: 8ms` in the simulation")
        on = [word for word, state in device.offloads.items() if state]
        speed = f"{device.speed_mbit} Mbit/s" if device.speed_mbit else "speed unknown"
        says = f"{device.driver or 'no driver'}, {speed}, MTU {device.mtu}, {'up' if device.up else 'down'}, "
        yield Finding(facts.host, name, "pass", says + (f"offloads {' '.join(on)}" if on else "no offloads"))


def of_scenario(layout: Layout) -> Iterator[Finding]:
    """The findings about the requirements of an experiment, as far as they can be read from the machines."""
    for each in (_stacks, _links, _routes, _sysctls, _small_queues, _own_modules):
        yield from each(layout)


def _own_modules(layout: Layout) -> Iterator[Finding]:
    for host, what, remedy in modules.problems(layout):
        yield Finding(host, "kernel module", "fail", what, remedy)


def tried(layout: Layout, visit: Visit) -> Iterator[Finding]:
    """The findings about kernel features, which are tried in a temporary network namespace of the machine."""
    questions = {host: _questions(layout, host) for host in layout.facts}
    answered = visit.tried({host: each for host, each in questions.items() if each})
    for host, each in questions.items():
        if each and host not in answered:
            remedy = "Tailback continues: a feature that the kernel lacks is reported when it is used"
            yield Finding(host, "kernel", "warn", "cannot be tried in a namespace", remedy)
            continue
        for name, trial in each.items():
            refusal = answered[host][name]
            if trial is None:
                yield _judged(host, f"control {name}", refusal or "", f"load it: modprobe tcp_{name}")
            else:
                module = MODULES.get(name) or qdiscs.of(name).module
                remedy = f"load it (modprobe -a {module}), or boot a kernel that has it"
                yield _judged(host, f"discipline {name}", _short(refusal), remedy)


def _short(refusal: str | None) -> str:
    """The last part of a refusal, which is the message of the kernel."""
    lines = (refusal or "").strip().splitlines()
    return lines[0].rsplit(": ", 1)[-1] if lines else ""


def _judged(host: str, what: str, wrong: str, remedy: str) -> Finding:
    """A finding that passes if `wrong` is empty."""
    return Finding(host, what, "fail", wrong, remedy) if wrong else Finding(host, what, "pass")


def _flows_at(layout: Layout, host: str) -> list[Connection]:
    found = layout.scenario.connections
    return [flow for flow in found if host in {layout.name(flow.source), layout.name(flow.target)}]


def _questions(layout: Layout, host: str) -> dict[str, Sequence[steps.Json] | None]:
    """The features to try: each discipline on a veth, redirection to an ifb, and congestion controls."""
    trials: dict[str, Sequence[steps.Json] | None] = {}
    for port in (port for port in layout.ports if port.owner == host):
        found = plans.stages(root_of(layout.scenario, port))
        rate_bps = plans.rate_to_make(layout, port)
        trees = [disciplines.tree_of(stage, rate_bps) for stage in found]
        nodes = [node for tree in trees if tree is not None for node in tree.tree]
        if plans.delay_of(layout, port):
            nodes.append(Qdisc(kind="netem"))
        for node in nodes:
            alone = Qdisc(kind=node.kind, options=node.options)
            # By name, because the paths of programs may differ there.
            own = [_veth(), *disciplines.attach_tree(Hop(0, 0, 0, 0), alone, NOTHING)]
            bare = [step | {"argv": [_bare(step["argv"][0]), *step["argv"][1:]]} for step in own]
            trials.setdefault(node.kind, bare)
        if any(node.filters for node in nodes):
            filters = [("qdisc", "add", "dev", "l0", "root", "handle", "1:", "htb"), FLOWER, MATCHALL]
            trials.setdefault("filters", [_veth(), *(steps.run(0, "tc", *words) for words in filters)])
        if len(found) > 1 or plans.delay_of(layout, port):
            trials.setdefault("ifb", _redirection())
    built = {source.name for source in layout.scenario.controls}
    return trials | dict.fromkeys(sorted({flow.cc.name for flow in _flows_at(layout, host)} - built))


def _bare(program: str) -> str:
    return program.rsplit("/", 1)[-1]


def _veth() -> steps.Json:
    return steps.run(0, "ip", "link", "add", "name", "l0", "type", "veth", "peer", "name", "p0")


def _redirection() -> list[steps.Json]:
    commands = [step.argv for step in plans.on_ifb(Port(0, 0, 0, 0, "l0", ""), "egress", None)]
    hook = ("tc", "qdisc", "add", "dev", "l0", "clsact")
    return [_veth(), *(steps.run(0, *argv) for argv in (hook, *commands))]


def _stacks(layout: Layout) -> Iterator[Finding]:
    for host in layout.scenario.hosts:
        facts = layout.facts.get(host.name)
        if facts is not None and not any_kernel.allows(host.stack, facts.release):
            what = f"the experiment has the stack {host.stack}, and this is Linux {facts.release}"
            yield Finding(facts.host, "kernel", "fail", what, "remove `stack`, or boot that kernel")


def _links(layout: Layout) -> Iterator[Finding]:
    cabled = layout.testbed.keys.links == "cabled"
    for port in layout.ports:
        rate = layout.scenario.links[port.link].rate_bps[port.end]
        speed = layout.device(port).speed_mbit
        if rate is None or speed is None or speed * 1_000_000 == rate:
            continue
        what = f"is a link of {rate / 1e6:g} Mbit/s in the experiment, and the device has {speed} Mbit/s"
        if cabled:
            remedy = f"ethtool -s {port.name} speed {rate // 1_000_000}, change `rate`, or say `links: emulated`"
            yield Finding(port.owner, port.name, "fail", what, remedy)
        elif speed * 1_000_000 < rate:
            yield Finding(port.owner, port.name, "fail", what, "change `rate`: no discipline makes a device faster")
    for link in layout.scenario.links:
        longest_ns = max(link.delay_ns)
        if cabled and longest_ns >= LONG_CABLE_NS:
            ends = " - ".join(layout.name(end) for end in link.ends)
            what = f"the link {ends} has a delay of {longest_ns / 1e6:g} ms, which the cable must have itself"
            yield Finding("", "experiment", "warn", what, "use `links: emulated`, or a netem in `qdiscs`")
    for hop in layout.hops:
        link = layout.scenario.links[hop.link]
        if (
            not cabled
            and layout.name(hop.host) in layout.testbed.switches
            and (link.rate_bps != (None, None) or link.delay_ns != (0, 0))
        ):
            what = f"the link of the switch `{layout.name(hop.host)}` has a rate or delay, which is not emulated there"
            yield Finding("", "experiment", "fail", what, "give it to a link between machines")


def _routes(layout: Layout) -> Iterator[Finding]:
    for step in plans.routes(layout):
        network = step.argv[3]
        other = next((route for route in layout.facts[step.host].routes if route.get("dst") == network), None)
        if other is not None:
            what = (
                f"{network} goes by {other.get('dev')} via {other.get('gateway', 'no gateway')}, not by the experiment"
            )
            remedy = f"remove the route: ip route del {network}"
            yield Finding(step.host, "route", "fail", what, remedy)


def _sysctls(layout: Layout) -> Iterator[Finding]:
    for host in layout.scenario.hosts:
        facts = layout.facts.get(host.name)
        for name in host.sysctl if facts is not None else ():
            if facts is not None and name not in facts.sysctls and name not in CORE_SYSCTLS:
                yield Finding(facts.host, "sysctl", "fail", f"its kernel has no {name}", "remove it")


PATCHED = "a kernel with Tailback's changes (kernel/README.md; `tailback kernel build --source DIR` shows how)"


def _small_queues(layout: Layout) -> Iterator[Finding]:
    """A stock kernel only has the millisecond per socket, and `net.ipv4.tcp_limit_output_bytes` as an upper limit."""
    for host, flows in plans.senders(layout).items():
        tunable = layout.facts[host].tunable
        for flow in flows:
            needs = _needed(flow.tsq)
            if flow.tsq.time_ns is not None:
                yield Finding(host, "tsq", "fail", *any_kernel.no_shift(flow.name, flow.tsq))
            elif needs and not needs <= tunable:
                yield Finding(host, "tsq", "fail", *_refused(flow))
        if len({flow.tsq for flow in flows if flow.tsq.kind != "time"}) > 1:
            what = "its flows differ in `tsq` by more than a time"
            remedy = "off, bytes and packets apply to the whole kernel: use the same setting"
            yield Finding(host, "tsq", "fail", what, remedy)


def _needed(tsq: SmallQueue) -> frozenset[str]:
    if tsq.kind == "time":
        return frozenset() if tsq.shift == STOCK else frozenset({"pacing_shift"})
    return frozenset(small_queue(tsq))


def _refused(flow: Connection) -> tuple[str, str]:
    tsq = flow.tsq
    setting = {
        "time": f"{1 << max(STOCK - (STOCK if tsq.shift is None else tsq.shift), 0)} ms (sk_pacing_shift {tsq.shift})",
        "off": "no small queue",
        "check": f"a pacing shift of {tsq.shift} for the check alone",
        "bytes": f"a fixed {tsq.bytes} bytes",
        "packets": f"{tsq.packets} packets",
    }[tsq.kind]
    what = f"`{flow.name}` needs {setting}, which a stock kernel does not support"
    remedy = {
        "bytes": "to limit bytes, set the sysctl net.ipv4.tcp_limit_output_bytes; any other fixed limit needs ",
        "time": "mac80211 sets 8 ms for its own sockets; elsewhere remove `tsq`, or boot ",
    }.get(tsq.kind, "remove `tsq`, or boot ")
    return what, remedy + PATCHED
