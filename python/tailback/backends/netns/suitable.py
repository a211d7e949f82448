"""Checks a scenario for features that this machine's kernel lacks, or that would affect more than a namespace."""

import platform
from collections.abc import Iterator
from pathlib import Path

from tailback.backends.linux import suitable
from tailback.backends.linux.suitable import Finding
from tailback.backends.netns import bpf, modules
from tailback.backends.netns.probe import VIRTUAL_TIME, Probe
from tailback.resolved import Scenario, SmallQueue

STOCK_SHIFT = 10
"""`sk_pacing_shift` of a socket, which cannot be changed from outside. [linux-6.12 sock.c sock_init_data_uid]"""


def check(scenario: Scenario, probe: Probe) -> None:
    """Raises `Unsuitable` for the first feature that cannot be run."""
    stacks = suitable.stacks(scenario, platform.release(), f"boot that kernel, or {VIRTUAL_TIME}")
    own = (finding for each in (_small_queues, _controls) for finding in each(scenario))
    tried = (_statistics(), probe.findings(scenario))
    more = (*suitable.cells(scenario), *modules.findings(scenario), *bpf.findings(scenario), *suitable.traces(scenario))
    clock = _clock(scenario)
    suitable.refuse(suitable.programs(), clock, stacks, suitable.findings(scenario), more, own, *tried)


def _clock(scenario: Scenario) -> Iterator[Finding]:
    if scenario.clock_ns is not None:
        yield "`clock` would be that of this machine", f"remove it, or {VIRTUAL_TIME}"
    for program in scenario.programs:
        if program.syscall_ns is not None:
            yield f"`syscall` of `{program.name}` is that of this machine", f"remove it, or {VIRTUAL_TIME}"


def _statistics() -> Iterator[Finding]:
    if not Path("/proc/self/schedstat").is_file():
        what = "this kernel does not report how long threads wait (CONFIG_SCHED_INFO), so no run could be trusted"
        yield what, VIRTUAL_TIME


def _small_queues(scenario: Scenario) -> Iterator[Finding]:
    """A stock kernel has one setting: a limit in bytes, in addition to the millisecond."""
    for flow in scenario.connections:
        if flow.tsq != SmallQueue(kind="time", shift=STOCK_SHIFT):
            what = f"`{flow.name}` has a `tsq` other than 1ms, which a stock kernel does not support"
            yield what, f"remove `tsq`, cap it with the sysctl net.ipv4.tcp_limit_output_bytes, or {VIRTUAL_TIME}"


def _controls(scenario: Scenario) -> Iterator[Finding]:
    for flow in scenario.connections:
        if flow.cc.options:
            names = ", ".join(f"`{name}`" for name in flow.cc.options)
            what = f"{names} of `{flow.cc.name}` would change for every connection of this machine"
            yield what, f"remove it, or {VIRTUAL_TIME}"
