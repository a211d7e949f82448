"""Links of a resolved scenario, and the traces that they send by. Ends are in the order of `Link.ends`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tailback.resolved.fields import ABSENT_IF_EMPTY, ABSENT_IF_NEITHER, ABSENT_IF_NONE, STRICT, Ends, Options

OPPORTUNITY_BITS = 1500 * 8
"""What leaves at one instant of a trace. [mm-link DESCRIPTION]"""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace of delivery opportunities."""

    __pydantic_config__ = STRICT

    sha256: str
    """Of the file's text."""
    stamps_ms: tuple[int, ...]
    """An opportunity each, in order; the last says how long the trace is."""

    @property
    def length_ns(self) -> int:
        """After this it begins again."""
        return self.stamps_ms[-1] * 10**6

    @property
    def mean_rate_bps(self) -> int:
        """The mean rate of the trace."""
        return len(self.stamps_ms) * OPPORTUNITY_BITS * 1000 // self.stamps_ms[-1]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of one end of a link; `None` means unchanged."""

    __pydantic_config__ = STRICT

    at_ns: int
    end: int
    """The end that sends."""
    rate_bps: Annotated[int | None, ABSENT_IF_NONE] = None
    delay_ns: Annotated[int | None, ABSENT_IF_NONE] = None
    up: Annotated[bool | None, ABSENT_IF_NONE] = None
    netem: Annotated[Options | None, ABSENT_IF_NONE] = None
    """Replaces all that was."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A full-duplex link between two hosts."""

    __pydantic_config__ = STRICT

    ends: tuple[int, int]
    """Positions of the two hosts."""
    rate_bps: Ends[int | None]
    """`None`: the end hands packets over at once (a veth), or sends by a trace."""
    delay_ns: tuple[int, int]
    mtu: int
    ring: Ends[int]
    bql: Ends[bool]
    trace: Annotated[tuple[int | None, int | None], ABSENT_IF_NEITHER] = (None, None)
    """Position of the trace that each end sends by."""
    netem: Annotated[tuple[Options, Options], ABSENT_IF_NEITHER] = ({}, {})
    """What the link does to the packets of each end beside its delay."""
    schedule: Annotated[tuple[Change, ...], ABSENT_IF_EMPTY] = ()
    """In the order of time."""

    def changes(self, end: int) -> list[Change]:
        """The changes in the schedule for one end."""
        return [change for change in self.schedule if change.end == end]


@dataclass(frozen=True, kw_only=True)
class Route:
    """What `host` sends or forwards to the host `to` leaves by `link`."""

    __pydantic_config__ = STRICT

    host: int
    to: int
    link: int
