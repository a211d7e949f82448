"""Checks a scenario for features that the kernel was built without, and for conflicting kernel-wide settings."""

from collections.abc import Iterator, Mapping

from tailback import qdiscs
from tailback.backends.linux import suitable
from tailback.backends.linux.job import V6, families_of
from tailback.backends.linux.suitable import Finding
from tailback.kernel import Kernel
from tailback.resolved import Scenario, SmallQueue

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
        for each in (_controls, _small_queues, _qdiscs, _traces, _addresses)
        for finding in each(scenario, kernel)
    )
    suitable.refuse(suitable.programs(), stacks, suitable.findings(scenario), own)


def _controls(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    options: dict[str, Mapping[str, int]] = {}
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


def _traces(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    return iter(()) if kernel.has("NET_SCH_OPPORTUNITIES") else suitable.traces(scenario)


def _addresses(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    if V6 in families_of(scenario) and not kernel.has("IPV6"):
        yield f"the kernel `{kernel.manifest.name}` does not have IPv6", "build it anew: tailback kernel build"


def _qdiscs(scenario: Scenario, kernel: Kernel) -> Iterator[Finding]:
    for attached in scenario.qdiscs:
        for kind in (node.kind for node in attached.root.tree):
            symbol = qdiscs.of(kind).symbol
            if symbol and not kernel.has(symbol):
                what = f"the kernel `{kernel.manifest.name}` does not have the discipline `{kind}`"
                yield what, f"build one with {symbol}"
