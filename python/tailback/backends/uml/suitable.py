"""Checks a scenario for features that the kernel was built without, and for conflicting kernel-wide settings."""

from collections.abc import Iterator, Mapping

from tailback import qdiscs
from tailback.backends.linux import suitable
from tailback.backends.linux.driver_traits import traits
from tailback.backends.linux.hops import V6, families_of, radio_hops
from tailback.backends.linux.suitable import Finding, NotAsked
from tailback.kernel import Kernel
from tailback.resolved import Scenario, SmallQueue
from tailback.resolved.wifi import Driver, Mode

BUILT_IN = ("reno",)
"""Controls that every kernel has, without a configuration symbol."""

CONTROL_SYMBOLS = {"highspeed": "TCP_CONG_HSTCP"}
"""Symbols that differ from the name of the control."""


def check(scenario: Scenario, kernel: Kernel) -> None:
    """Raises `Unsuitable` for the first feature that cannot be run."""
    version = kernel.manifest.version
    stacks = suitable.stacks(scenario, version, "build that kernel: tailback kernel build --source DIR")
    own = (
        finding
        for each in (_controls, _small_queues, _qdiscs, _traces, _addresses, _cells)
        for finding in each(scenario, kernel)
    )
    suitable.refuse(suitable.programs(), stacks, suitable.findings(scenario), own)


def _controls(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    options: dict[str, Mapping[str, int]] = {}
    yield from suitable.bpf_programs(scenario, "which needs a JIT compiler, and user-mode Linux has none for BPF")
    own = {source.name for source in scenario.controls}
    if own and not kernel.has("MODULES"):
        yield f"the kernel `{kernel.manifest.name}` loads no modules", "build it again: tailback kernel build"
    for entry in (each for each in scenario.connections if each.cc.name not in own):
        control = entry.cc
        name = control.name
        symbol = CONTROL_SYMBOLS.get(name, f"TCP_CONG_{name.upper()}")
        if name not in BUILT_IN and not kernel.has(symbol):
            remedy = f"build one with {symbol}"
            yield f"the kernel `{kernel.manifest.name}` does not have the congestion control `{name}`", remedy
        if options.setdefault(name, control.options) != control.options:
            yield f"`{name}` has different options in two flows", "they apply to the whole kernel: use the same options"


def _small_queues(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    """The shift is per socket; all other settings apply to the whole kernel."""
    settings = [entry.tsq for entry in scenario.connections]
    same = [SmallQueue(kind="time") if tsq.kind == "time" else tsq for tsq in settings]
    if any(tsq != same[0] for tsq in same):
        yield (
            "flows differ in `tsq` by more than a time",
            "off, bytes and packets apply to the whole kernel: use the same setting",
        )
    between = [entry for entry in scenario.connections if entry.tsq.time_ns is not None]
    yield from (suitable.no_shift(entry.name, entry.tsq) for entry in between[:1])


def _traces(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    return iter(()) if kernel.has("NET_SCH_OPPORTUNITIES") else suitable.traces(scenario)


def _addresses(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    if V6 in families_of(scenario) and not kernel.has("IPV6"):
        remedy = "build one: tailback kernel build --with ipv6, and use --backend uml:ipv6"
        yield f"the kernel `{kernel.manifest.name}` does not have IPv6", remedy


def _qdiscs(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    for attached in scenario.qdiscs:
        for node in attached.root.tree:
            kind, symbol = node.kind, qdiscs.of(node.kind).symbol
            if symbol and not kernel.has(symbol):
                what = f"the kernel `{kernel.manifest.name}` does not have the discipline `{kind}`"
                yield what, f"build one with {symbol}"


def _cells(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    """Which part of Wi-Fi the driver in the kernel has by now; the air itself is the simulator's."""
    if not scenario.cells:
        return
    simulator = "run it on the simulator, --backend sim"
    if not kernel.has("TAILBACK_WIFI"):
        remedy = "build one that has: tailback kernel build --with wifi, and name it: uml:wifi"
        yield f"the kernel `{kernel.manifest.name}` has no radios", remedy
    if len({cell.channel or number for number, cell in enumerate(scenario.cells)}) > 1:
        yield NotAsked("cells on several channels"), f"give them one `channel`, or {simulator}"
    for cell in scenario.cells:
        for station in cell.stations:
            name = scenario.hosts[station.host].name
            ends = (cell.driver, station.driver)
            if station.rate != "fixed" and _beyond_minstrel(station.mode) and not all(map(_chooses, ends)):
                what = NotAsked(f"rate control of mac80211 beyond 802.11ac and 80 MHz (`{name}`)")
                yield what, f"give it an `mcs`, use 802.11ac or a driver whose firmware chooses, or {simulator}"
        for driver in (cell.driver, *(station.driver for station in cell.stations)):
            yield from _driver(driver)
        for host in (cell.access_point, *(station.host for station in cell.stations)):
            yield from _radio(scenario, host)


OF_MAC80211 = ("limit", "memory_limit", "airtime", "airtime_low", "airtime_device", "airtime_step")
"""Options of a driver that the guest leaves as mac80211 has them: `kernel: mine` may have others."""

NOT_IN_THE_AIR = ("rx_quiet", "rx_longest", "tx_quiet", "tx_longest")
"""Options of a driver that the process with the air does not have: there they are 0."""


def _beyond_minstrel(mode: Mode) -> bool:
    """Whether minstrel_ht of Linux 6.12 has no such modes. [linux-6.12 rc80211_minstrel_ht.c minstrel_mcs_groups]"""
    return mode.format == "he" or mode.width > 80


def _chooses(driver: Driver) -> bool:
    """Whether the firmware of the driver's card chooses the rates."""
    return driver.name in traits() and traits()[driver.name].chooses


def _driver(driver: Driver) -> Iterator[Finding]:
    simulator = "run it on the simulator, --backend sim"
    if driver.name not in traits():
        what = (
            f"the driver `{driver.name}` has a qdisc; above every driver of Linux 6.12, mac80211 has queues of its own"
        )
        yield what, f"use one of {', '.join(traits())}, or {simulator}"
    refused = {*OF_MAC80211, *(option for option in NOT_IN_THE_AIR if driver.options.get(option))}
    for option in sorted(refused & set(driver.options)):
        yield NotAsked(f"`{option}` of a driver"), f"remove it, or {simulator}"


def _radio(scenario: Scenario, host: int) -> Iterator[Finding]:
    name = scenario.hosts[host].name
    shifts = {flow.tsq.shift for flow in scenario.tcp if flow.source == host and flow.tsq.kind == "time"}
    if len(shifts) > 1:
        what = f"flows of `{name}` differ in `tsq`, which mac80211 sets for all sockets above a radio"
        yield what, "use the same `tsq`"
    radios = {hop.link for hop in radio_hops(scenario) if hop.host == host}
    if any(attached.host == host and attached.link in radios for attached in scenario.qdiscs):
        yield NotAsked(f"a discipline above the radio of `{name}`"), "remove it: mac80211 has queues of its own"
