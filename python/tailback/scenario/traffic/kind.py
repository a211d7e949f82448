"""The fields that describe a kind of traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, Protocol

from msgspec import Struct

from tailback.resolved import SmallQueue, Traffic
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.values import Direction, Section
from tailback.scenario.words import Algorithm


class Resolved(Struct, frozen=True):
    """The values of a flow that depend on the run: its name, the numbers of its hosts, and its start."""

    name: str
    source: int
    target: int
    start_ns: int


class File(Protocol):
    """The parts of the file that an entry depends on."""

    @property
    def duration(self) -> int:
        """Length of the run, ns."""

    @property
    def client(self) -> str:
        """The host whose flows are called uploads and downloads: the first on the users' side (`scenario.sides`)."""

    def control(self, sender: str) -> Algorithm:
        """The congestion control of a sender whose flow sets none."""

    def small_queue(self, ends: Direction) -> SmallQueue:
        """The TSQ setting of a sender whose flow sets none."""

    def device_rate(self, device: str) -> int | None:
        """The rate in bit/s of a wired device (`router -> client`) at the start; `None` if none is known."""


class Flow(Struct, frozen=True, kw_only=True):
    """An entry with its preset expanded and its defaults filled in; times in ns."""

    kind: ClassVar[str]

    loc: Loc
    names: tuple[str, ...]
    direction: Direction
    start_ns: int
    stop_ns: int | None
    jitter_ns: int
    dscp: int
    group: str | None = None
    """The group of its flows, if the entry names one."""

    @property
    def lasts_ns(self) -> int:
        """The minimum duration of a flow that has a stop; 0 for others."""
        return max(0, (self.stop_ns or 0) - self.start_ns - self.jitter_ns)

    @property
    def is_endless(self) -> bool:
        """Whether it opens flows NAME.1, NAME.2, ... in place of those in `names`, which is NAME."""
        return False

    @property
    def opens(self) -> int:
        """The number of flows that it opens in a run; the expected number if it depends on the seed."""
        return len(self.names)

    def opened(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """The flows of a run with this seed: the name of each, and this entry with its own values."""
        del seed  # It matters for kinds that draw their flows.
        return ((name, self) for name in self.names)


class Rows(Struct, frozen=True):
    """The rows that a flow records at its own interval."""

    loc: Loc
    interval_ns: int
    table: str
    count: int


def no_rows(_flow: Any) -> Rows | None:
    """For kinds without their own interval."""
    return None


def never_sampled(_flow: Any, _duration: int) -> int:
    """For kinds whose sockets are not sampled."""
    return 0


class Kind(Struct, frozen=True):
    """A kind of traffic; `kind` is its key in the file."""

    kind: str
    keys: type[Section]
    """The keys of this kind of traffic in the file."""
    flow: Callable[[Any, Loc, File], Flow]
    """Converts the keys to a flow."""
    resolved: Callable[[Any, Resolved], Traffic]
    """Converts a flow to its entry in the resolved scenario."""
    problems: Callable[[Any, int], Iterator[Problem]]
    """The errors of a flow, given the longest IP payload that fits all links of its path."""
    packets: Literal["there", "there and back"]
    """The directions in which its packets have their full size."""
    carries: Literal["data", "echoes"]
    """`data` has a direction (up, down) and defines the measurement window; `echoes` are requests and replies."""
    data_goes: Literal["there", "back"] = "there"
    """Where most of its data goes: with the arrow of the entry, or against it, as answers do."""
    opens_as: str | None = None
    """The kind of its flows in the resolved scenario, if it is another; `resolved` is then that of this kind."""
    sampled_ns: Callable[[Any, int], int] = never_sampled
    """Total time for which its sockets are certainly sampled, given the duration of the run."""
    rows: Callable[[Any], Rows | None] = no_rows
    """The rows that it records at its own interval."""


def numbered(name: str, count: int) -> tuple[str, ...]:
    """The names of `count` flows."""
    return (name,) if count == 1 else tuple(f"{name}.{number}" for number in range(1, count + 1))
