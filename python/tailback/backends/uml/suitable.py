"""What this backend cannot run, found before anything is started. Each finding says where, what, and what to do."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tailback.backends import Scenario, Unsuitable
from tailback.backends.uml.job import PROGRAMS, first_hops, hops_of, root_of, shaper_of
from tailback.kernel import Kernel

BUILT_IN = ("pfifo", "bfifo", "pfifo_fast", "reno")
"""What every kernel has; it has no symbol of its own."""

CONTROL_SYMBOLS = {"highspeed": "TCP_CONG_HSTCP"}
"""Symbols that are not spelt as the control is."""

DEFAULT_STACK = "linux-6.12"
"""What hosts have that name none."""

Finding = tuple[str, str]
"""What, and what to do."""


def check(scenario: Scenario, kernel: Kernel) -> None:
    """Raises `Unsuitable` for the first thing that cannot be run."""
    checks: tuple[Callable[[Scenario, Kernel], Iterator[Finding]], ...] = (
        _programs, _stacks, _paths, _traffic, _controls, _small_queues, _qdiscs, _shapers, _record,
    )  # fmt: skip
    for each in checks:
        for what, remedy in each(scenario, kernel):
            raise Unsuitable(f"a real kernel cannot run this: {what}\n  hint: {remedy}")


def _programs(_scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    for program in PROGRAMS:
        if not Path(program).is_file():
            yield f"`{program}`, which builds the network inside, is not there", "apt-get install iproute2"


def _stacks(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    """The default is a model's and asks for nothing: a kernel of the user's own may be of any version."""
    version = ".".join(kernel.manifest.version.split(".")[:2])
    for host in scenario["hosts"]:
        if host["stack"] not in (DEFAULT_STACK, f"linux-{version}"):
            remedy = (
                f"leave `stack` away, or build that kernel: tailback kernel build --source DIR; use linux-{version}"
            )
            yield f"host `{host['name']}` has the stack `{host['stack']}`; the kernel is Linux {version}", remedy


def _paths(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    """Between two hosts there is one way, or routes would have to be chosen as the simulator does."""
    hops, left, islands = hops_of(scenario), set(range(len(scenario["hosts"]))), 0
    while left:
        here = left.pop()
        left -= set(first_hops(hops, here))
        islands += 1
    if len(scenario["links"]) != len(scenario["hosts"]) - islands:
        yield (
            "two hosts are joined in more than one way",
            "leave one way between any two hosts",
        )


def _traffic(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    for entry in scenario["traffic"]:
        if entry["kind"] not in ("tcp", "ping"):
            yield f"the traffic `{entry['name']}` is of the kind `{entry['kind']}`", "use tcp and ping"


def _controls(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    options: dict[str, Mapping[str, int]] = {}
    for entry in _flows(scenario):
        control = entry["cc"]
        name = control["name"]
        symbol = CONTROL_SYMBOLS.get(name, f"TCP_CONG_{name.upper()}")
        if name not in BUILT_IN and not kernel.has(symbol):
            yield f"the kernel `{kernel.manifest.name}` does not have the control `{name}`", f"build one with {symbol}"
        if options.setdefault(name, control["options"]) != control["options"]:
            yield f"`{name}` has different options in two flows", "options are those of the whole kernel: give one set"


def _small_queues(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    """The shift is the socket's; everything else is one for the kernel."""
    settings = [entry["tsq"] for entry in _flows(scenario)]
    same = [{"kind": "time"} if tsq["kind"] == "time" else tsq for tsq in settings]
    if any(tsq != same[0] for tsq in same):
        yield (
            "flows differ in `tsq` by more than a time",
            "off, bytes and packets hold for the whole kernel: give one",
        )


def _qdiscs(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    for attached in scenario["qdiscs"]:
        for kind in _kinds(attached["root"]):
            if kind not in BUILT_IN and not kernel.has(f"NET_SCH_{kind.upper()}"):
                what = f"the kernel `{kernel.manifest.name}` does not have the discipline `{kind}`"
                yield what, f"build one with NET_SCH_{kind.upper()}"


def _shapers(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    for hop in hops_of(scenario):
        link_bps, own_bps = scenario["links"][hop.link]["rate_bps"], shaper_of(root_of(scenario, hop))
        if link_bps is not None and own_bps is not None and own_bps > link_bps:
            name = f"{scenario['hosts'][hop.host]['name']} -> {scenario['hosts'][hop.neighbour]['name']}"
            what = f"the shaper of {name} is faster than its link ({own_bps} > {link_bps} bit/s)"
            yield what, "take the shaper away (the rate of the link is kept by one), or shape below the link's rate"


def _record(scenario: Scenario, _kernel: Kernel) -> Iterator[Finding]:
    if scenario["record"]["tcp_info"] == "ack":
        yield "`tcp_info` after each ACK cannot be read from outside the kernel", "record it each interval"


def _flows(scenario: Scenario) -> list[Mapping[str, Any]]:
    return [entry for entry in scenario["traffic"] if entry["kind"] == "tcp"]


def _kinds(root: Mapping[str, Any] | None) -> Iterator[str]:
    while root is not None:
        yield root["kind"]
        root = root.get("child")
