"""Links of a resolved scenario, and their traces. Pairs of values are in the order of `Link.ends`."""

from dataclasses import dataclass
from typing import Annotated

from tailback.resolved.fields import (
    ABSENT_IF_EMPTY,
    ABSENT_IF_NEITHER,
    ABSENT_IF_NONE,
    ABSENT_IF_ZERO,
    STRICT,
    Ends,
    Options,
)

OPPORTUNITY_BITS = 1500 * 8
"""Bits of one delivery opportunity of a trace. [mm-link DESCRIPTION]"""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace of delivery opportunities."""

    __pydantic_config__ = STRICT

    sha256: str
    """Digest of the file."""
    stamps_ms: tuple[int, ...]
    """The times of the opportunities, in order; the last one is also the length of the trace."""

    @property
    def length_ns(self) -> int:
        """The length, after which the trace repeats."""
        return self.stamps_ms[-1] * 10**6

    @property
    def mean_rate_bps(self) -> int:
        """The mean rate."""
        return len(self.stamps_ms) * OPPORTUNITY_BITS * 1000 // self.stamps_ms[-1]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of one direction of a link; `None` means unchanged."""

    __pydantic_config__ = STRICT

    at_ns: int
    end: int
    """The sending end."""
    rate_bps: Annotated[int | None, ABSENT_IF_NONE] = None
    delay_ns: Annotated[int | None, ABSENT_IF_NONE] = None
    up: Annotated[bool | None, ABSENT_IF_NONE] = None
    netem: Annotated[Options | None, ABSENT_IF_NONE] = None
    """All options of netem; they replace the previous ones."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A full-duplex link between two hosts."""

    __pydantic_config__ = STRICT

    ends: tuple[int, int]
    """Indices of the two hosts."""
    rate_bps: Ends[int | None]
    """`None` if serialization takes no time (veth), or if the end has a trace."""
    delay_ns: tuple[int, int]
    mtu: int
    ring: Ends[int]
    bql: Ends[bool]
    interrupt_ns: Annotated[tuple[int, int], ABSENT_IF_ZERO] = (0, 0)
    """Shortest time between two receive interrupts at each end; 0: every packet interrupts."""
    trace: Annotated[tuple[int | None, int | None], ABSENT_IF_NEITHER] = (None, None)
    """Index of the trace of each end."""
    netem: Annotated[tuple[Options, Options], ABSENT_IF_NEITHER] = ({}, {})
    """The impairments of the packets of each end, except the delay."""
    schedule: Annotated[tuple[Change, ...], ABSENT_IF_EMPTY] = ()
    """Sorted by time."""

    def changes(self, end: int) -> list[Change]:
        """The changes in the schedule for one end."""
        return [change for change in self.schedule if change.end == end]


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route: `host` sends packets for `to` through `link`."""

    __pydantic_config__ = STRICT

    host: int
    to: int
    link: int
