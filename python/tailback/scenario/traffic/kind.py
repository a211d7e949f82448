"""The fields that describe a kind of traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from tailback.resolved import SmallQueue, Traffic
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.values import Direction, Section
from tailback.scenario.words import Algorithm


@dataclass(frozen=True)
class Resolved:
    """What the run gives a flow: its name, its hosts by number, and its start."""

    name: str
    source: int
    target: int
    start_ns: int


class File(Protocol):
    """The parts of the file that an entry needs."""

    @property
    def duration(self) -> int:
        """Length of the run, ns."""

    @property
    def first_host(self) -> str:
        """The first host that the file names."""

    def control(self, sender: str) -> Algorithm:
        """The congestion control of a sender whose flow names none."""

    def small_queue(self, ends: Direction) -> SmallQueue:
        """The small queue of a sender whose flow names none."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """An entry with presets and defaults replaced; times in ns."""

    kind: ClassVar[str]

    loc: Loc
    names: tuple[str, ...]
    direction: Direction
    start_ns: int
    stop_ns: int | None
    jitter_ns: int
    dscp: int

    @property
    def lasts_ns(self) -> int:
        """The minimum duration of a flow that has a stop."""
        return max(0, (self.stop_ns or 0) - self.start_ns - self.jitter_ns)


@dataclass(frozen=True)
class Rows:
    """Rows that a flow makes by an interval of its own."""

    loc: Loc
    interval_ns: int
    table: str
    count: int


def no_rows(_flow: Any) -> Rows | None:
    """It has no interval of its own."""
    return None


def never_sampled(_flow: Any, _duration: int) -> int:
    """For kinds whose sockets are not sampled."""
    return 0


@dataclass(frozen=True)
class Kind:
    """A kind of traffic, by the key that the file gives it."""

    kind: str
    keys: type[Section]
    """Its keys in the file."""
    flow: Callable[[Any, Loc, File], Flow]
    """What they mean."""
    resolved: Callable[[Any, Resolved], Traffic]
    """What the resolved scenario has of it."""
    problems: Callable[[Any, int], Iterator[Problem]]
    """What is wrong with it, by the longest IP payload that fits on its way."""
    packets: Literal["there", "there and back"]
    """On which way its packets have their full size."""
    carries: Literal["data", "echoes"]
    """Data, whose direction is told and over which the window lies, or requests and their answers."""
    sampled_ns: Callable[[Any, int], int] = never_sampled
    """For how long its sockets are sampled at least, in a run of that length."""
    rows: Callable[[Any], Rows | None] = no_rows
    """The rows that it makes by an interval of its own."""


def numbered(name: str, count: int) -> tuple[str, ...]:
    """The names of `count` flows."""
    return (name,) if count == 1 else tuple(f"{name}.{number}" for number in range(1, count + 1))


def way(direction: Direction, first_host: str) -> str | None:
    """`up` from the first host of the file, `down` towards it, otherwise nothing."""
    if direction.source == first_host:
        return "up"
    return "down" if direction.target == first_host else None
