"""A lower bound on the memory of a run, from the rows that it will certainly record and from its flows.

The rows of samples and of pings are certain, and so is what each flow takes, however short it is; of `arrivals` the
expected number counts. Rows of events (drops, PPDUs, ACKs) and packets in flight are not certain; for them the
simulator has a limit (`crates/world/src/world.rs held`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct

from tailback.scenario import traffic
from tailback.scenario.document import nearest
from tailback.scenario.errors import Finding, ScenarioError
from tailback.scenario.experiment import Configuration, Experiment
from tailback.scenario.flows import flows
from tailback.scenario.hops import network_of
from tailback.scenario.paths import Loc, show
from tailback.scenario.schema import Keys
from tailback.scenario.words import Algorithm
from tailback.tc.units import time_word

STEPS = (1, 2, 5)
"""Intervals that hints suggest are one of these times a power of ten."""

INTERVAL: Loc = ("measure", "interval")

ROUTE_BYTES = 8
"""Bytes of the next hop of a pair of hosts. [crates/world/src/route.rs Routes]"""

FLOW_BYTES = 1400
"""Memory of a flow besides its samples, in the measure of rows, of which the peak is `fitting.memory.COPIES` times as
much: 7 kB per flow were measured for 15,000 and 6 kB for 60,000 flows of 30 kB: their entries, JSON, sockets, rows of
`flows` and `events`, and summary.
"""

RowBytes = Mapping[str, int]
"""Bytes of a row by table."""


class Part(Struct, frozen=True):
    """The rows that one interval causes."""

    loc: Loc
    interval_ns: int
    rows: Mapping[str, int]

    def bytes(self, row_bytes: RowBytes) -> int:
        """Their memory in bytes."""
        return sum(count * row_bytes[table] for table, count in self.rows.items())


class Size(Struct, frozen=True):
    """Lower bounds on the rows of a run, and on the memory of rows and flows."""

    rows: int
    size: int
    """Bytes."""


def size_of(keys: Keys, row_bytes: RowBytes) -> Size:
    """The certain rows of a run, and the memory of these and of its flows."""
    found = parts(keys)
    of_flows = FLOW_BYTES * sum(flow.opens for flow in flows(keys))
    return Size(sum(sum(part.rows.values()) for part in found), sum(part.bytes(row_bytes) for part in found) + of_flows)


def parts(keys: Keys) -> list[Part]:
    """The rows of a run by the interval that causes them."""
    return [Part(INTERVAL, keys.measure.interval, _sampled(keys)), *_by_own_interval(keys)]


def refuse_larger(experiment: Experiment, limit: int, row_bytes: RowBytes) -> None:
    """Raises `ScenarioError` if the certain rows of a run need more than `limit` bytes, for each interval to change, or
    if its flows do, for the entry that opens most.
    """
    wrong = [finding for each in experiment.configurations for finding in _too_large(each, limit, row_bytes)]
    if wrong:
        raise ScenarioError(wrong)


def _sampled(keys: Keys) -> dict[str, int]:
    step = keys.measure.interval
    open_ns = sum(traffic.of(flow.kind).sampled_ns(flow, keys.duration) for flow in flows(keys))
    disciplines = sum(_disciplines(root) for root in keys.qdiscs.values())
    return {"tcp_info": open_ns // step, "qdisc": disciplines * (keys.duration // step)}


def _disciplines(root: Algorithm) -> int:
    return 1 + sum(map(_disciplines, root.children))


def _by_own_interval(keys: Keys) -> Iterator[Part]:
    for flow in flows(keys):
        rows = traffic.of(flow.kind).rows(flow)
        if rows is not None:
            yield Part(rows.loc, rows.interval_ns, {rows.table: rows.count})


def _too_large(configuration: Configuration, limit: int, row_bytes: RowBytes) -> Iterator[Finding]:
    keys = configuration.keys
    hosts = len(network_of(keys).hosts)
    if ROUTE_BYTES * hosts**2 > limit:
        message = f"the routes of {hosts} hosts need {memory_word(ROUTE_BYTES * hosts**2)} of memory"
        hint = f"a run may use {memory_word(limit)} here: connect at most {math.isqrt(limit // ROUTE_BYTES)} hosts"
        yield Finding(nearest(configuration.tree, ("links",)).where, "links", message, hint)
    yield from _too_many_flows(configuration, limit)
    found = parts(keys)
    total = sum(part.bytes(row_bytes) for part in found)
    if total <= limit:
        return
    shortest = time_word(_rounded_down(keys.duration * limit // total))
    for part in found:
        # Only intervals above an equal share of the memory need to change.
        share, size = limit // len(found), part.bytes(row_bytes)
        if size > share:
            word = time_word(part.interval_ns)
            rows = sum(part.rows.values())
            message = (
                f"`{word}` gives at least {rows:.2g} rows in {time_word(keys.duration)}, "
                f"{memory_word(size)} of memory, but a run may use {memory_word(limit)} here"
            )
            enough = time_word(_rounded_up(-(-part.interval_ns * size // max(share, 1))))
            hint = f"give {enough} or more, a `duration` of at most {shortest}, or run fewer at a time: --jobs 1"
            yield Finding(nearest(configuration.tree, part.loc).where, show(part.loc), message, hint)


def _too_many_flows(configuration: Configuration, limit: int) -> Iterator[Finding]:
    found = flows(configuration.keys)
    count = sum(flow.opens for flow in found)
    if FLOW_BYTES * count <= limit:
        return
    most = max(found, key=lambda flow: flow.opens)
    message = f"about {count:,} flows need {memory_word(FLOW_BYTES * count)} of memory, "
    message += f"but a run may use {memory_word(limit)} here; this entry opens {most.opens:,}"
    hint = f"have at most {limit // FLOW_BYTES:,} flows: fewer arrivals or `flows`, or a shorter `duration`; "
    hint += "or run fewer at a time: --jobs 1"
    yield Finding(nearest(configuration.tree, most.loc).where, show(most.loc), message, hint)


def memory_word(count: int) -> str:
    """A size of memory for messages: `3.1 GB`, `25 MB`."""
    if count < 1e8:
        return f"{count / 1e6:.2g} MB"
    return f"{count / 1e9:.2g} GB" if count < 1e11 else f"{count / 1e9:.0f} GB"


def _rounded_up(nanoseconds: int) -> int:
    return next(step for step in _steps() if step >= nanoseconds)


def _rounded_down(nanoseconds: int) -> int:
    fitting = 1
    for step in _steps():
        if step > nanoseconds:
            return fitting
        fitting = step
    return fitting


def _steps() -> Iterator[int]:
    power = 1
    while True:
        yield from (digit * power for digit in STEPS)
        power *= 10
