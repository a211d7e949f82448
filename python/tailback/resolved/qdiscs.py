"""Disciplines of a resolved scenario. Options are those in the file, in the units of the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer

from tailback.resolved.fields import ABSENT_IF_EMPTY, ABSENT_IF_NONE, STRICT, Options

What: TypeAlias = Literal["traffic", "from", "to", "dscp", "all"]


@dataclass(frozen=True)
class Fits:
    """What a filter matches: the name of a traffic entry, the index of a host, a code point, or `all` packets."""

    what: What
    value: str | int | None = None


def _fits(value: Any) -> Any:
    if value == "all":
        return Fits("all")
    if isinstance(value, dict) and len(value) == 1:
        ((what, of),) = value.items()
        return {"what": what, "value": of}
    return value


def _fits_json(fits: Fits) -> Any:
    return "all" if fits.what == "all" else {fits.what: fits.value}


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Sends matching packets to a class."""

    __pydantic_config__ = STRICT

    fits: Annotated[Fits, BeforeValidator(_fits), PlainSerializer(_fits_json)]
    minor: Annotated[int, Field(alias="class")]


@dataclass(frozen=True, kw_only=True)
class Qdisc:
    """A discipline with its children. The classes of a `series` are its stages in order."""

    __pydantic_config__ = STRICT

    kind: str
    options: Options = field(default_factory=dict)
    child: Annotated[Qdisc | None, ABSENT_IF_NONE] = None
    classes: Annotated[tuple[Class, ...], ABSENT_IF_EMPTY] = ()
    filters: Annotated[tuple[Filter, ...], ABSENT_IF_EMPTY] = ()

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


@dataclass(frozen=True, kw_only=True)
class Class:
    """A class, with the minor number of its handle; parent 0 is the discipline."""

    __pydantic_config__ = STRICT

    minor: int
    parent: int
    options: Options = field(default_factory=dict)
    child: Annotated[Qdisc | None, ABSENT_IF_NONE] = None


@dataclass(frozen=True, kw_only=True)
class AttachedQdisc:
    """The root discipline of the device of `host` on `link`."""

    __pydantic_config__ = STRICT

    host: int
    link: int
    root: Qdisc
