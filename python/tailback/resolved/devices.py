"""Devices of a resolved scenario, and their rates. Only this module computes the rate of a device.

    rate = minimum of   the rate of the link at that time, or the mean of its trace
                        the rates of all shapers on the way of the packets

A shaper is a `tbf` or `netem` with a rate, a `cake` with a bandwidth, or the classes of an `htb`. An htb class without
a parent cannot borrow, so it sends at its rate, whatever its ceiling; any other class sends at most at its ceiling.
[tc htb(8)] [linux-6.12 sch_htb.c htb_activate_prios] The rate of a class with children is at most the sum of their
rates, and so is that of other disciplines with classes (`prio`). The stages of a series, and a shaper and its child,
are traversed one after the other. Unclassified packets of an htb are not shaped and not considered here. A Wi-Fi radio
has no rate, because the channel is shared.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from tailback import qdiscs
from tailback.qdiscs import series
from tailback.resolved.links import Link, Trace
from tailback.resolved.qdiscs import Class, Qdisc


class Device(Struct, frozen=True, kw_only=True):
    """The device of a host on a link, or its radio in a cell."""

    name: str
    """The name of the device, such as `client -> router` or `client -> air`."""
    host: int
    neighbour: int
    """The host at the other end; for the radio of an access point, its first station."""
    link: int
    """The link to that neighbour."""
    end: int
    """The end of the link, 0 or 1."""
    wire: Link | None
    """The link; `None` for a radio."""
    trace: Trace | None
    """The trace that replaces its rate."""
    root: Qdisc | None
    """The root discipline in the file."""


def rate_of(device: Device, at_ns: int = 0) -> int | None:
    """The rate of a device at a time, in bit/s; `None` if nothing limits it."""
    rates = [rate for begin_ns, rate in rates_of(device) if begin_ns <= at_ns]
    return rates[-1]


def rates_of(device: Device) -> list[tuple[int, int | None]]:
    """The rates of a device, each with the time (ns) from which it applies; the first applies from 0."""
    shaped = None if device.root is None else shaped_rate(device.root)
    return [(at_ns, _least([rate, shaped])) for at_ns, rate in _link_rates(device).items()]


def mean_rate(device: Device, start_ns: int, end_ns: int) -> float | None:
    """The mean rate of a device between two times, in bit/s; `None` if it is unlimited at some time in between."""
    known = rates_of(device)
    ends = [at_ns for at_ns, _ in known[1:]] + [end_ns]
    bits = 0
    for (begin, rate), end in zip(known, ends, strict=True):
        lasts = min(end, end_ns) - max(begin, start_ns)
        if lasts > 0 and rate is None:
            return None
        bits += max(lasts, 0) * (rate or 0)
    return bits / (end_ns - start_ns)


def shaped_rate(root: Qdisc) -> int | None:
    """The rate in bit/s that the shapers of a discipline tree allow; `None` if there is no shaper."""
    if root.kind == series.KIND:
        return _least(shaped_rate(stage) for _, stage in root.children)
    if qdiscs.of(root.kind).class_rates and root.classes:
        inner: dict[int, list[Class]] = {}
        for each in root.classes:
            inner.setdefault(each.parent, []).append(each)
        return _sum(_class_rate(inner, each) for each in root.classes if not each.parent)
    if root.classes:
        return _sum(None if each.child is None else shaped_rate(each.child) for each in root.classes)
    below = None if root.child is None else shaped_rate(root.child)
    return _least([root.options.get(qdiscs.of(root.kind).shaper), below])


def _class_rate(inner: Mapping[int, Sequence[Class]], each: Class) -> int | None:
    """The rate that an htb class and its descendants allow; `inner` has the classes below each."""
    rate = each.options.get("rate")
    own = each.options.get("ceil", rate) if each.parent else rate
    children = inner.get(each.minor, ())
    below = _sum(_class_rate(inner, other) for other in children) if children else None
    return _least([own, below, None if each.child is None else shaped_rate(each.child)])


def _link_rates(device: Device) -> dict[int, int | None]:
    """The rates of the link, by the time (ns) from which each applies; of changes at one time the last one counts."""
    wire, trace = device.wire, device.trace
    if wire is None:
        return {0: None if trace is None else trace.mean_rate_bps}
    changed = {change.at_ns: change.rate_bps for change in wire.changes(device.end) if change.rate_bps is not None}
    if trace is not None:
        return dict.fromkeys([0, *changed], trace.mean_rate_bps)
    return {0: wire.rate_bps[device.end], **changed}


def _least(rates: Iterable[int | None]) -> int | None:
    return min((rate for rate in rates if rate is not None), default=None)


def _sum(rates: Iterable[int | None]) -> int | None:
    """The sum of parallel rates; `None` (unlimited) if one of them is."""
    total = 0
    for rate in rates:
        if rate is None:
            return None
        total += rate
    return total
