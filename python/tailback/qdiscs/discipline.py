"""The fields that describe a queue discipline, in one place for everything that uses its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tailback.tc.options import Grammar
from tailback.tc.printing import Printed
from tailback.tc.writing import Units, plain

Json: TypeAlias = dict[str, Any]
Settings: TypeAlias = Mapping[str, int]
"""Options in base units; with those that follow from others, where they are resolved."""

Writer: TypeAlias = Callable[[Settings, Units], Iterator[str]]
Line: TypeAlias = Sequence[str]


def nothing(_settings: Settings) -> Json:
    """For disciplines of which `tc` shows no options."""
    return {}


def no_lines(_entry: Mapping[str, Any]) -> Iterator[str]:
    """For disciplines of which `tc` prints no further lines."""
    yield from ()


@dataclass(frozen=True)
class Shown:
    """The fields of a discipline in `tc -s -j qdisc show`, and how `tc -s` prints them."""

    options: Callable[[Settings], Json]
    """What it is set to: rates in byte/s, times in µs, netem's in s, shares from 0 to 1, flags where they are on."""
    if_given: Sequence[str] = ()
    """Options that are shown only where they were given."""
    counters: Sequence[Line] = ()
    """Its own counters, a line each, under those that all kinds have."""
    shares: Sequence[str] = ()
    """Counters that are shares from 0 to 1."""
    among_options: Sequence[str] = ()
    """Counters that stand among the options."""
    values_alone: Sequence[str] = ()
    """Options that are printed without their name."""
    class_counters: Sequence[Line] = ()
    """The counters of a class beside those that all classes have, a line each."""
    units: Mapping[str, Printed] = field(default_factory=dict)
    """Of the options and counters that are not printed as plain numbers."""
    parts: Literal["classes", "tins"] = "classes"
    """What its parts are called."""
    more: Callable[[Mapping[str, Any]], Iterator[str]] = no_lines
    """What is printed in a form of its own, from its entry in the JSON."""


@dataclass(frozen=True)
class InKernel:
    """What a real kernel supports of a discipline; the simulator supports everything."""

    comes: Literal["as a module", "with every kernel"] = "as a module"
    refused: Mapping[str, str] = field(default_factory=dict)
    """Options that no backend gives to a kernel, with what to do instead."""
    no_device: tuple[str, str] | None = None
    """Why no device there can have it, and what to do."""
    marks: Sequence[int] | None = ()
    """The bytes at which the kernel has its counters of packets marked CE, each of 32 bits; none if it never marks,
    `None` if the agent does not read them."""
    marks_in: Literal["statistics", "options"] = "statistics"
    """Where these bytes are: `TCA_STATS_APP` or `TCA_OPTIONS`."""


@dataclass(frozen=True)
class Discipline:
    """A queue discipline by its kind, as `tc` calls it."""

    kind: str
    shown: Shown
    kernel: InKernel
    grammar: Grammar = field(default_factory=Grammar)
    """How its words are read."""
    writer: Writer = plain
    """How they are written for a kernel's `tc`."""
    alone: str = ""
    """What can stand in a scenario by itself, where the bare kind drops every packet."""
    takes: Literal["any packet", "packets of filters"] = "any packet"
    """Which packets it does not drop: any, or those that a filter gives to a class."""
    classes_by: str = ""
    """The option that says how many classes it has from the beginning."""
    above_classes: Sequence[str] = ()
    """Options of the discipline itself, where all others are those of its classes."""
    shaper: str = ""
    """The option by which it is a shaper."""
    class_rates: Sequence[str] = ()
    """The options of a class that say how fast it may send, the first that is given counts."""
    queue: Literal["one fifo", "fifos", "managed", "none"] = "managed"
    """What its packets wait in: `none` if a child holds them."""

    @property
    def module(self) -> str:
        """The kernel module of the discipline; empty if every kernel has it."""
        return "" if self.kernel.comes == "with every kernel" else f"sch_{self.kind}"

    @property
    def symbol(self) -> str:
        """The symbol by which a kernel is built with it; empty if every kernel has it."""
        return "" if self.kernel.comes == "with every kernel" else f"NET_SCH_{self.kind.upper()}"

    @property
    def limits_bytes(self) -> bool:
        """Its `limit` is in bytes, where that of others is in packets."""
        return self.shown.units.get("limit") == "bytes"
