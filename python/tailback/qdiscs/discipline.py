"""The fields that describe a queue discipline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from tailback.tc.options import Grammar
from tailback.tc.printing import Printed
from tailback.tc.writing import Units, plain

Json: TypeAlias = dict[str, Any]
Settings: TypeAlias = Mapping[str, int]
"""Options in base units; if resolved, including the ones that are derived from others."""

Writer: TypeAlias = Callable[[Settings, Units], Iterator[str]]
Line: TypeAlias = Sequence[str]


def nothing(_settings: Settings) -> Json:
    """For disciplines whose options `tc` does not show."""
    return {}


def no_lines(_entry: Mapping[str, Any]) -> Iterator[str]:
    """For disciplines without further lines in `tc -s`."""
    yield from ()


class Shown(Struct, frozen=True):
    """The fields of a discipline in `tc -s -j qdisc show`, and their format in `tc -s`."""

    options: Callable[[Settings], Json]
    """Converts options: rates to byte/s, times to µs (netem's to s), fractions to 0 to 1; flags that are off are
    omitted."""
    if_given: Sequence[str] = ()
    """Options that are only shown if they were given."""
    denied: Sequence[str] = ()
    """Options that are on unless their opposite is said: `nopacing`."""
    counters: Sequence[Line] = ()
    """The counters that are specific to it, by line."""
    shares: Sequence[str] = ()
    """Counters that are fractions from 0 to 1."""
    among_options: Sequence[str] = ()
    """Counters that `tc` has among the options."""
    joined: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    """Options as `tc -s` has them, where it has several in one word."""
    words: Callable[[Mapping[str, Any]], Iterator[str]] | None = None
    """Formats its options for `tc -s`; without it they are names and values."""
    class_counters: Sequence[Line] = ()
    """The counters of a class that are specific to it, by line."""
    units: Mapping[str, Printed] = field(default_factory=dict)
    """The units of options and counters that are not plain numbers."""
    parts: Literal["classes", "tins"] = "classes"
    """The name of its parts."""
    more: Callable[[Mapping[str, Any]], Iterator[str]] = no_lines
    """Formats further lines from its entry in the JSON."""


class InKernel(Struct, frozen=True):
    """The support of a discipline in real kernels; the simulator supports everything."""

    comes: Literal["as a module", "with every kernel"] = "as a module"
    refused: Mapping[str, str] = field(default_factory=dict)
    """Options that backends with a kernel refuse, with remedies."""
    left_out: Sequence[str] = ()
    """Options without an effect here, which a kernel is not told because it may refuse them."""
    no_device: tuple[str, str] | None = None
    """Why no device with a kernel can have it, and the remedy."""
    refused_by: Literal["the kernel", "Tailback"] = "the kernel"
    """Whose limit that is."""
    marks: Sequence[int] | None = ()
    """Byte offsets of its 32-bit counters of CE marks; empty if it never marks, `None` if the agent does not read them.
    """
    marks_in: Literal["statistics", "options", "tins"] = "statistics"
    """The attribute with these counters: `TCA_STATS_APP` or `TCA_OPTIONS`; or those of the tins of CAKE, which need no
    offsets."""
    decoded: Callable[[bytes, bytes], tuple[Json, Json]] | None = None
    """Options and counters as `tc` would show them, of the content of `TCA_OPTIONS` and `TCA_STATS_APP`: for
    disciplines that `tc` of the oldest supported system does not know."""
    encoded: Callable[[Settings, Settings], bytes] | None = None
    """The content of `TCA_OPTIONS` for options as given, and as resolved: for the same disciplines."""


class Discipline(Struct, frozen=True):
    """A queue discipline; `kind` is its name in `tc`."""

    kind: str
    shown: Shown
    kernel: InKernel
    grammar: Grammar = field(default_factory=Grammar)
    """The syntax of its options."""
    writer: Writer = plain
    """Writes its options for a kernel's `tc`."""
    alone: str = ""
    """A usable form of it, if the bare kind drops all packets."""
    takes: Literal["any packet", "packets of filters"] = "any packet"
    """The packets that it accepts: any, or only those that a filter assigns to a class."""
    tree: str = ""
    """An example of its classes and filters, if it has any."""
    classes_by: str = ""
    """The option that determines its number of predefined classes."""
    above_classes: Sequence[str] = ()
    """Options of the discipline itself, if all others belong to its classes."""
    shaper: str = ""
    """The option with its rate, if it is a shaper."""
    class_rates: Sequence[str] = ()
    """The options of a class that limit its rate; the first one that is given applies."""
    queue: Literal["one fifo", "fifos", "managed", "none"] = "managed"
    """The kind of queue of the discipline; `none` if its children hold the packets."""
    law_of: Literal["each flow", "all flows"] = "each flow"
    """Whether its AQM, if it has one, has a queue for each flow, or one for all."""
    marks: Literal["if told", "always"] = "if told"
    """Whether it marks ECN-capable packets: always, or with `ecn` or `ce_threshold`."""

    @property
    def module(self) -> str:
        """The kernel module of the discipline; empty if every kernel has it."""
        return "" if self.kernel.comes == "with every kernel" else f"sch_{self.kind}"

    @property
    def symbol(self) -> str:
        """The configuration symbol of the discipline in the kernel; empty if every kernel has it."""
        return "" if self.kernel.comes == "with every kernel" else f"NET_SCH_{self.kind.upper()}"

    @property
    def limits_bytes(self) -> bool:
        """Whether the `limit` of the discipline is in bytes instead of packets."""
        return self.shown.units.get("limit") == "bytes"
