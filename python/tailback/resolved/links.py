"""Links of a resolved scenario, and their traces. Pairs of values are in the order of `Link.ends`."""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from tailback.resolved.fields import Options, Part

OPPORTUNITY_BITS = 1500 * 8
"""Bits of one delivery opportunity of a trace. [mm-link DESCRIPTION]"""


class Trace(Part, frozen=True, kw_only=True):
    """A trace of delivery opportunities."""

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


class Policer(Part, frozen=True, kw_only=True):
    """A token bucket without a queue, which drops what exceeds. [tc-police(8)]"""

    rate_bps: int
    burst: int
    """Bytes of the bucket."""
    mtu: int | None = None
    """The longest frame that conforms; `None`: 2040 bytes."""
    peakrate_bps: int | None = None
    """Rate of a second bucket, which holds `mtu`."""


class Change(Part, frozen=True, kw_only=True):
    """A change of one direction of a link; `None` means unchanged."""

    at_ns: int
    end: int
    """The sending end."""
    rate_bps: int | None = None
    delay_ns: int | None = None
    up: bool | None = None
    netem: Options | None = None
    """All options of netem; they replace the previous ones."""


class Link(Part, frozen=True, kw_only=True):
    """A full-duplex link between two hosts."""

    ends: tuple[int, int]
    """Indices of the two hosts."""
    rate_bps: tuple[int | None, int | None]
    """`None` if serialization takes no time (veth), or if the end has a trace."""
    delay_ns: tuple[int, int]
    mtu: int
    ring: tuple[int, int]
    bql: tuple[bool, bool]
    interrupt_ns: tuple[int, int] = (0, 0)
    """Shortest time between two receive interrupts at each end; 0: every packet interrupts."""
    overhead: int = 0
    """Bytes on the wire that each packet has in addition."""
    trace: tuple[int | None, int | None] = (None, None)
    """Index of the trace of each end."""
    netem: tuple[Options, Options] = ({}, {})
    """The impairments of the packets of each end, except the delay."""
    police: tuple[Policer | None, Policer | None] = (None, None)
    """The policer of the packets of each end, at the other end."""
    schedule: tuple[Change, ...] = ()
    """Sorted by time."""

    @property
    def is_instant(self) -> bool:
        """A direction has neither rate nor trace: serialization takes no time, and a burst arrives at one instant."""
        return any(rate is None and trace is None for rate, trace in zip(self.rate_bps, self.trace, strict=True))

    def changes(self, end: int) -> list[Change]:
        """The changes in the schedule for one end."""
        return [change for change in self.schedule if change.end == end]

    def delay_at_start(self, end: int) -> int:
        """The delay of one direction at 0 s, which a change may give."""
        changed = (change.delay_ns for change in self.changes(end) if change.at_ns == 0)
        return [self.delay_ns[end], *(delay for delay in changed if delay is not None)][-1]


class Route(Part, frozen=True, kw_only=True):
    """A route: `host` sends packets for `to` through `link`."""

    host: int
    to: int
    link: int


ONE_IF_EQUAL = ("rate_bps", "ring", "bql")
"""Keys of a link that have a single value in JSON if it is that of both ends."""

DEFAULTS = {each.encode_name: each.default for each in structs.fields(Link) if isinstance(each.default, tuple)}
"""Keys of a link that JSON lacks if neither end has another value; msgspec omits only a tuple that is the same one."""


def shortened(link: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a link, from all of its fields."""
    return {key: _one_if_equal(key, value) for key, value in link.items() if not _is_absent(key, value)}


def in_full(link: Any) -> Any:
    """The reverse of `shortened`; what is no link is left to the reader."""
    if not isinstance(link, Mapping):
        return link
    return {key: _one_per_direction(value) if key in ONE_IF_EQUAL else value for key, value in link.items()}


def _one_if_equal(key: str, value: Any) -> Any:
    return value[0] if key in ONE_IF_EQUAL and value[0] == value[1] else value


def _is_absent(key: str, value: Any) -> bool:
    return (key == "overhead" and not value) or (key in DEFAULTS and tuple(value) == DEFAULTS[key])


def _one_per_direction(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value, value)
