"""Traffic and the measurement window that do not fit: what is wanted once and began outside has no time to completion;
what lasts and stops early is measured while it is silent.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tailback.scenario.paths import Loc
from tailback.scenario.traffic import Flow
from tailback.scenario.traffic.page import Loads
from tailback.scenario.traffic.tcp import Bulk
from tailback.scenario.traffic.udp import Datagrams
from tailback.tc.units import time_word

NO_SILENCE = 0.05
"""The part of the window in which a flow that lasts may be silent at its end without a warning."""


class Missed(Struct, frozen=True):
    """A warning about one entry of the traffic."""

    loc: Loc
    text: str
    remedy: str
    extent: int
    """How long before the window it begins, or after it, or is silent in it, ns."""


def completions(flows: list[Flow], window: tuple[int, int]) -> Iterator[Missed]:
    """The entries of which no completion is measured, because all of their flows begin outside of the window."""
    start, stop = window
    for flow in flows:
        if not _ends(flow):
            continue
        latest = flow.start_ns + flow.jitter_ns
        if latest >= start and flow.start_ns < stop:
            continue
        early = latest < start
        apart = f"before the measurement window, which begins at {time_word(start)}"
        if not early:
            apart = f"after the measurement window, which ends at {time_word(stop)}"
        yield Missed(
            flow.loc,
            f"`{flow.names[0]}` begins {apart}: how long it takes is not measured",
            f"let the window contain its start, such as `measure: {{window: [{time_word(flow.start_ns)}, ...]}}`",
            start - latest if early else flow.start_ns - stop,
        )


def silences(flows: list[Flow], window: tuple[int, int]) -> Iterator[Missed]:
    """The entries that last and stop well before the end of a window that follows from the end of the run: nobody asked
    for the time in which they are silent, and their goodput counts it.
    """
    start, stop = window
    for flow in flows:
        if _lasts(flow) and flow.stop_ns is not None and stop - flow.stop_ns > NO_SILENCE * (stop - start):
            yield Missed(
                (*flow.loc, "stop"),
                f"`{flow.names[0]}` stops at {time_word(flow.stop_ns)}, and the measurement window ends with other "
                f"traffic at {time_word(stop)}: goodput counts the time between as silence",
                f"end the window with it, `measure: {{window: [{time_word(start)}, {time_word(flow.stop_ns)}]}}`, or "
                "stop all traffic at one time",
                stop - flow.stop_ns,
            )


def _lasts(flow: Flow) -> bool:
    if isinstance(flow, Bulk):
        return flow.bytes is None and flow.arrivals is None
    return isinstance(flow, Datagrams)


def _ends(flow: Flow) -> bool:
    """Whether how long the flow takes is a result: a transfer of a size, or one load of a page."""
    if isinstance(flow, Bulk):
        return flow.bytes is not None and flow.arrivals is None
    return isinstance(flow, Loads) and flow.every_ns is None
