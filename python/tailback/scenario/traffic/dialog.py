"""Errors of clients that ask and servers that answer: of requests, pages and videos, where both ends send."""

from collections.abc import Iterator

from tailback.scenario.network import Problem
from tailback.scenario.traffic.kind import Flow
from tailback.scenario.words import Algorithm


def empty_request(flow: Flow, size: int) -> Iterator[Problem]:
    """A request without bytes."""
    if size == 0:
        yield Problem((*flow.loc, "size"), "`0` bytes leave nothing to ask", "give a size, such as 300b")


def own_control(flow: Flow, cc: Algorithm) -> Iterator[Problem]:
    """A control of the user's, of which there is one at the sender of bulk data."""
    if cc.source is not None:
        hint = "name one of the simulator's controls: cc: cubic"
        yield Problem((*flow.loc, "cc"), "a control of your own sends in one direction only", hint)
