"""Disciplines of a resolved scenario. Options are those in the file, in the units of the registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import field, structs

from tailback.resolved.fields import Options, Part, no_options
from tailback.resolved.size_table import SizeTable


class Fits(Part, frozen=True, kw_only=True):
    """What a filter matches; one of them is given."""

    traffic: str | None = None
    """The name of a traffic entry."""
    source: int | None = field(name="from", default=None)
    """The index of a host."""
    target: int | None = field(name="to", default=None)
    dscp: int | None = None
    """A code point."""

    def __post_init__(self) -> None:
        if sum(value is not None for value in structs.astuple(self)) != 1:
            raise ValueError("exactly one of `traffic`, `from`, `to` and `dscp` is needed")


class Filter(Part, frozen=True, kw_only=True):
    """Sends packets to a class: those that fit, or all."""

    fits: Fits | Literal["all"]
    minor: int = field(name="class")


class Qdisc(Part, frozen=True, kw_only=True):
    """A discipline with its children. The classes of a `series` are its stages in order."""

    kind: str
    options: Options = field(default_factory=no_options)
    child: Qdisc | None = None
    classes: tuple[Class, ...] = ()
    filters: tuple[Filter, ...] = ()
    stab: SizeTable | None = None
    """The lengths that it and its children see, instead of those of the frames."""

    @property
    def children(self) -> Iterator[tuple[int, Qdisc]]:
        """The disciplines directly below, each with the minor number of its class."""
        if self.child is not None:
            yield 1, self.child
        for each in self.classes:
            if each.child is not None:
                yield each.minor, each.child

    @property
    def tree(self) -> Iterator[Qdisc]:
        """This discipline and all below it."""
        yield self
        for _, child in self.children:
            yield from child.tree


class Class(Part, frozen=True, kw_only=True):
    """A class, with the minor number of its handle; parent 0 is the discipline."""

    minor: int
    parent: int
    options: Options = field(default_factory=no_options)
    child: Qdisc | None = None


class AttachedQdisc(Part, frozen=True, kw_only=True):
    """The root discipline of the device of `host` on `link`."""

    host: int
    link: int
    root: Qdisc
