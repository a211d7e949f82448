"""Checks a scenario before a run for what a kernel cannot do, and for what Tailback does not ask a kernel for yet.

Findings have a remedy; docs/kernel.md lists the most important.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailback import qdiscs
from tailback.backends.backend import Unsuitable
from tailback.backends.linux import programs as of_user
from tailback.backends.linux.disciplines import hidden_of, is_shaper, root_of
from tailback.backends.linux.hops import V6, families_of, hops_of
from tailback.backends.linux.links import device_name, lowest_rate, states
from tailback.backends.linux.steps import PROGRAMS
from tailback.resolved import MILLISECOND_SHIFT, Scenario, SmallQueue, shaped_rate

LEAST_MTU_OF_V6 = 1280

MOST_CONNECTIONS = 10_000
"""TCP connections of a run: each has two threads of the agent and a port of its own."""

DEFAULT_STACK = "linux-6.12"
"""The stack of hosts that name none."""


class NotAsked(str):
    """A problem of Tailback: the kernel may be able to do this, but the backend has no commands for it."""

    __slots__ = ()


Finding = tuple[str, str]
"""A problem and its remedy; a problem of the kernel unless it is `NotAsked`."""


def no_shift(name: str, tsq: SmallQueue) -> Finding:
    """Says of a flow that no pacing shift gives its time: a kernel shifts the pacing rate, patched or not."""
    below = tsq.shift or 0
    near = " or ".join(f"`tsq: {2.0 ** (MILLISECOND_SHIFT - shift):g}ms`" for shift in (below, below - 1))
    what = f"`{name}` has a `tsq` of {(tsq.time_ns or 0) / 1e6:g} ms, which no pacing shift gives"
    return what, f"use {near}, or run it on the simulator, --backend sim"


def refuse(*findings: Iterable[Finding]) -> None:
    """Raises `Unsuitable` for the first finding."""
    for what, remedy in itertools.chain(*findings):
        raise Unsuitable(f"{problem_text(what)}\n  hint: {remedy}")


def problem_text(what: str) -> str:
    """The problem, with whose it is."""
    whose = "Tailback does not ask a kernel for this yet" if isinstance(what, NotAsked) else "a kernel cannot do this"
    return f"{whose}: {what}"


def programs() -> Iterator[Finding]:
    """Missing programs."""
    for program in PROGRAMS:
        if not Path(program).is_file():
            yield f"`{program}` is not installed", "apt-get install iproute2"


def stacks(scenario: Scenario, version: str, remedy: str) -> Iterator[Finding]:
    """Hosts whose stack differs from the kernel; the default stack allows any kernel."""
    for host in scenario.hosts:
        if not allows(host.stack, version):
            what = f"host `{host.name}` has the stack `{host.stack}`; the kernel is Linux {series(version)}"
            yield what, f"remove `stack`, or {remedy}"


def allows(stack: str, release: str) -> bool:
    """Whether a host with this stack may run on a kernel of this release: one of the same series."""
    return stack == DEFAULT_STACK or series(stack.removeprefix("linux-")) == series(release)


def series(release: str) -> str:
    """The series of a point release: 5.10 of 5.10.262."""
    return ".".join(release.split(".")[:2])


def findings(scenario: Scenario) -> Iterator[Finding]:
    """All features that no kernel supports."""
    parts = (
        _own_controls, _thresholds, _reception, _copies, _tunnels, _side_by_side, _traffic, _addresses, _qdiscs,
        _shapers, _size_tables, _record, of_user.findings,
    )  # fmt: skip
    for each in parts:
        yield from each(scenario)


def _own_controls(scenario: Scenario) -> Iterator[Finding]:
    for source in scenario.controls:
        if source.language == "python":
            what = f"`{source.name}` is a congestion control in Python, which no kernel runs"
            yield what, "run it on the simulator, --backend sim, or write it as a kernel module"


def bpf_programs(scenario: Scenario, why: str) -> Iterator[Finding]:
    """Controls in BPF, on a kernel that does not load them."""
    for source in scenario.controls:
        if source.language == "bpf":
            what = f"`{source.name}` is a BPF program, {why}"
            yield what, "run it on the simulator, --backend sim, as root with --backend netns, or write it as a module"


def _thresholds(scenario: Scenario) -> Iterator[Finding]:
    for host in scenario.hosts:
        if host.ssthresh:
            what = f"host `{host.name}` has a slow-start threshold, a metric of routes"
            yield NotAsked(what), "remove `ssthresh`, or run it on the simulator, --backend sim"


def _reception(scenario: Scenario) -> Iterator[Finding]:
    """How a NIC hands over what it receives: a veth hands over each packet at once."""
    for host in scenario.hosts:
        if host.gro:
            what = f"host `{host.name}` merges what it receives (`gro`)"
            yield NotAsked(what), "remove `gro`, or run it on the simulator, --backend sim"
    for link in scenario.links:
        for end, interval in zip(link.ends, link.interrupt_ns, strict=True):
            if interval:
                what = f"host `{scenario.hosts[end].name}` mitigates interrupts (`interrupts`)"
                yield NotAsked(what), "remove `interrupts`, or run it on the simulator, --backend sim"


def cells(scenario: Scenario) -> Iterator[Finding]:
    """Wi-Fi, on a kernel whose radios are real."""
    for cell in scenario.cells:
        ap = scenario.hosts[cell.access_point].name
        what = f"Wi-Fi (the cell of `{ap}`)"
        yield NotAsked(what), "run it on the simulator, --backend sim, or in virtual time, --backend uml:wifi"


def traces(scenario: Scenario) -> Iterator[Finding]:
    """Links that only a kernel with our discipline can run."""
    for link in scenario.links:
        if any(trace is not None for trace in link.trace):
            ends = " - ".join(scenario.hosts[end].name for end in link.ends)
            what = f"the link {ends} has a trace, which no discipline of this kernel supports"
            yield what, "run it with --backend uml or --backend sim, or give the link a `rate` with a `schedule`"


def _copies(scenario: Scenario) -> Iterator[Finding]:
    """A netem with `duplicate` must be the only one in its tree. [linux-6.12 sch_netem.c check_netem_in_tree]"""
    for hop in hops_of(scenario):
        link = scenario.links[hop.link]
        found = [state for _, state in states(link, hop.end)]
        if found[0].takes_two and any(state.netem.get("duplicate") for state in found):
            name = device_name(scenario, hop)
            what = (
                f"{name} has a rate, `duplicate`, and `jitter` or `reorder`, which needs two netems; then none may "
                "duplicate"
            )
            yield what, "remove one of the three, or run it on the simulator, --backend sim"


def _tunnels(scenario: Scenario) -> Iterator[Finding]:
    for link in scenario.links:
        if link.overhead:
            ends = " - ".join(scenario.hosts[end].name for end in link.ends)
            yield NotAsked(f"the link {ends} adds bytes to each packet"), "remove `overhead`, or use --backend sim"


def _side_by_side(scenario: Scenario) -> Iterator[Finding]:
    joined = [frozenset(link.ends) for link in scenario.links]
    for place, ends in enumerate(joined):
        if ends in joined[:place]:
            names = " and ".join(sorted(scenario.hosts[end].name for end in ends))
            yield NotAsked(f"{names} are connected by two links"), "put a router on one of them, or remove it"


def _traffic(scenario: Scenario) -> Iterator[Finding]:
    for entry in scenario.flows:
        yield from ((NotAsked(what), remedy) for what, remedy in entry.refused())
    if len(scenario.connections) > MOST_CONNECTIONS:
        what = f"{len(scenario.connections):,} TCP connections in one run, and the agent opens {MOST_CONNECTIONS:,}"
        yield NotAsked(what), "lower the rate of arrivals, shorten the run, or run it on the simulator, --backend sim"


def _addresses(scenario: Scenario) -> Iterator[Finding]:
    """A link of IPv6 carries at least 1280 bytes. [rfc8200 §5]"""
    for link in scenario.links if V6 in families_of(scenario) else ():
        if link.mtu < LEAST_MTU_OF_V6:
            ends = " - ".join(scenario.hosts[end].name for end in link.ends)
            what = f"a flow goes over IPv6, and the link {ends} has an MTU of {link.mtu} bytes"
            yield what, f"remove `ip`, or give the link at least {LEAST_MTU_OF_V6} bytes"


def _qdiscs(scenario: Scenario) -> Iterator[Finding]:
    for attached in scenario.qdiscs:
        for node in attached.root.tree:
            kernel = qdiscs.of(node.kind).kernel
            if kernel.no_device is not None:
                what, remedy = kernel.no_device
                yield (NotAsked(what) if kernel.refused_by == "Tailback" else what), remedy
            for name in node.options:
                if name in kernel.refused:
                    yield f"`{name}` of `{node.kind}`", kernel.refused[name]


def _shapers(scenario: Scenario) -> Iterator[Finding]:
    for hop in hops_of(scenario):
        root = root_of(scenario, hop)
        own_bps = shaped_rate(root) if root is not None and is_shaper(root) else None
        link_bps = lowest_rate(scenario.links[hop.link], hop.end)
        if link_bps is not None and own_bps is not None and own_bps > link_bps:
            name = device_name(scenario, hop)
            what = f"the shaper of {name} is faster than its link ({own_bps} > {link_bps} bit/s)"
            yield NotAsked(what), "remove the shaper, because the link has its own, or shape below the rate of the link"


def _size_tables(scenario: Scenario) -> Iterator[Finding]:
    """A size table below the shaper of a link would change what that charges."""
    for hop in hops_of(scenario):
        root = root_of(scenario, hop)
        if root is not None and root.stab is not None and hidden_of(scenario, hop):
            what = (
                f"`stab` at {device_name(scenario, hop)}, below the rate of the link, which would see its lengths, too"
            )
            yield NotAsked(what), "give the rate to a shaper below `stab`, such as htb, and none to the link"


def _record(scenario: Scenario) -> Iterator[Finding]:
    if scenario.record.tcp_info == "ack":
        yield "`tcp_info` after each ACK; from outside it can be read at intervals only", "remove `measure.tcp_info`"
    if scenario.record.packets_ns is not None:
        what = "`packets`, where each packet is; a kernel is not seen from inside"
        yield what, "remove `measure.packets`, use `measure.pcap`, or run it on the simulator, --backend sim"
