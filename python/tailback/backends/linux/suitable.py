"""Checks a scenario for features that no kernel supports, before a run. Findings have a remedy."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailback import qdiscs
from tailback.backends import Unsuitable
from tailback.backends.linux.job import hops_of, is_shaper, root_of
from tailback.backends.linux.links import lowest_rate, states
from tailback.backends.linux.steps import PROGRAMS
from tailback.resolved import FLOWS, Scenario, shaped_rate

DEFAULT_STACK = "linux-6.12"
"""The stack of hosts that name none."""

Finding = tuple[str, str]
"""A problem and its remedy."""


def refuse(*findings: Iterable[Finding]) -> None:
    """Raises `Unsuitable` for the first finding."""
    for what, remedy in itertools.chain(*findings):
        raise Unsuitable(f"a real kernel cannot run this: {what}\n  hint: {remedy}")


def programs() -> Iterator[Finding]:
    """Missing programs."""
    for program in PROGRAMS:
        if not Path(program).is_file():
            yield f"`{program}` is not installed", "apt-get install iproute2"


def stacks(scenario: Scenario, version: str, remedy: str) -> Iterator[Finding]:
    """Hosts whose stack differs from the kernel; the default stack allows any kernel."""
    version = ".".join(version.split(".")[:2])
    for host in scenario.hosts:
        if host.stack not in (DEFAULT_STACK, f"linux-{version}"):
            what = f"host `{host.name}` has the stack `{host.stack}`; the kernel is Linux {version}"
            yield what, f"remove `stack`, or {remedy}"


def findings(scenario: Scenario) -> Iterator[Finding]:
    """All features that no kernel supports."""
    for each in (_own_controls, _cells, _traces, _copies, _side_by_side, _traffic, _qdiscs, _shapers, _record):
        yield from each(scenario)


def _own_controls(scenario: Scenario) -> Iterator[Finding]:
    for source in scenario.controls:
        what = f"`{source.name}` is a congestion control in Python, which no kernel runs"
        yield what, "run it on the simulator, --backend sim, or write it as a kernel module"


def _cells(scenario: Scenario) -> Iterator[Finding]:
    for cell in scenario.cells:
        ap = scenario.hosts[cell.access_point].name
        what = f"this backend does not support Wi-Fi (the cell of `{ap}`)"
        yield what, "run it on the simulator, --backend sim, or use wired links"


def _traces(scenario: Scenario) -> Iterator[Finding]:
    for link in scenario.links:
        if any(trace is not None for trace in link.trace):
            ends = " - ".join(scenario.hosts[end].name for end in link.ends)
            what = f"the link {ends} has a trace, which no discipline of Linux supports"
            yield what, "run it on the simulator, --backend sim, or give the link a `rate` with a `schedule`"


def _copies(scenario: Scenario) -> Iterator[Finding]:
    """A netem with `duplicate` must be the only one in its tree. [linux-6.12 sch_netem.c check_netem_in_tree]"""
    for hop in hops_of(scenario):
        link = scenario.links[hop.link]
        found = [state for _, state in states(link, hop.end)]
        if found[0].takes_two and any(state.netem.get("duplicate") for state in found):
            name = f"{scenario.hosts[hop.host].name} -> {scenario.hosts[hop.neighbour].name}"
            what = (
                f"{name} has a rate, `duplicate`, and `jitter` or `reorder`, which needs two netems; then none may "
                "duplicate"
            )
            yield what, "remove one of the three, or run it on the simulator, --backend sim"


def _side_by_side(scenario: Scenario) -> Iterator[Finding]:
    joined = [frozenset(link.ends) for link in scenario.links]
    for place, ends in enumerate(joined):
        if ends in joined[:place]:
            names = " and ".join(sorted(scenario.hosts[end].name for end in ends))
            yield f"{names} are connected by two links", "put a router on one of them, or remove it"


def _traffic(scenario: Scenario) -> Iterator[Finding]:
    known = ", ".join(flow.kind for flow in FLOWS if flow.run_by is not None)
    for entry in scenario.flows:
        if entry.run_by is None:
            yield f"the traffic `{entry.name}` is of the kind `{entry.kind}`", f"use one of {known}"
        yield from entry.refused()


def _qdiscs(scenario: Scenario) -> Iterator[Finding]:
    for attached in scenario.qdiscs:
        for node in attached.root.tree:
            kernel = qdiscs.of(node.kind).kernel
            if kernel.no_device is not None:
                yield kernel.no_device
            for name in node.options:
                if name in kernel.refused:
                    yield f"the backend does not support `{name}` of `{node.kind}`", kernel.refused[name]


def _shapers(scenario: Scenario) -> Iterator[Finding]:
    for hop in hops_of(scenario):
        root = root_of(scenario, hop)
        own_bps = shaped_rate(root) if root is not None and is_shaper(root) else None
        link_bps = lowest_rate(scenario.links[hop.link], hop.end)
        if link_bps is not None and own_bps is not None and own_bps > link_bps:
            name = f"{scenario.hosts[hop.host].name} -> {scenario.hosts[hop.neighbour].name}"
            what = f"the shaper of {name} is faster than its link ({own_bps} > {link_bps} bit/s)"
            yield what, "remove the shaper, because the link has its own, or shape below the rate of the link"


def _record(scenario: Scenario) -> Iterator[Finding]:
    if scenario.record.pcap:
        yield "this backend does not support captures yet", "remove `measure.pcap`, or use `--backend sim`"
    if scenario.record.tcp_info == "ack":
        yield "`tcp_info` after each ACK cannot be read from outside the kernel", "remove `measure.tcp_info`"
