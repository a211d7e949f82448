"""Algorithms as read from the experiment file: a kind, options in base units, and what is below."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from tailback.resolved import Control, ControlSource, SizeTable


class Filter(Struct, frozen=True):
    """Sends matching packets to a class. `fits`: flow, from, to, dscp or all; `what`: the name or code point."""

    fits: str
    what: str | int | None
    minor: int


class Class(Struct, frozen=True):
    """A class of a tree, with its minor number; parent 0 is the discipline."""

    minor: int
    parent: int
    options: dict[str, int]
    child: Algorithm | None


class Algorithm(Struct, frozen=True, dict=True):
    """An algorithm with the given options in base units; a discipline may have a child or classes."""

    kind: str
    options: dict[str, int] = field(default_factory=dict)
    child: Algorithm | None = None
    classes: tuple[Class, ...] = ()
    filters: tuple[Filter, ...] = ()
    source: ControlSource | None = None
    """The file of a congestion control that the user wrote."""
    parameters: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    """The parameters of the congestion control, by name."""
    stab: SizeTable | None = None
    """The size table of a root discipline, if it has one."""

    @property
    def children(self) -> tuple[Algorithm, ...]:
        """The disciplines directly below."""
        own = () if self.child is None else (self.child,)
        return own + tuple(each.child for each in self.classes if each.child is not None)

    @cached_property
    def control(self) -> Control:
        """The congestion control of a resolved scenario, which all flows of an entry share."""
        return Control(name=self.kind, options=dict(self.options), parameters=dict(self.parameters))
