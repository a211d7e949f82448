"""Where the packets of traffic go, for checks that concern every kind."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tailback.scenario import traffic
from tailback.scenario.meanings import KINDS
from tailback.scenario.traffic import Flow
from tailback.scenario.values import Direction
from tailback.scenario.words import Algorithm


class Packets(Struct, frozen=True):
    """The packets of a flow that go one way: its data, or what answers it."""

    flow: Flow
    way: Direction
    is_data: bool


def is_over_tcp(flow: Flow) -> bool:
    """Whether a flow has TCP connections, with a congestion control."""
    return flow.kind in KINDS["over tcp"]


def control_of(flow: Flow) -> Algorithm:
    """The congestion control of a flow over TCP."""
    found = getattr(flow, "cc", None)
    assert isinstance(found, Algorithm), f"{flow.kind} has no congestion control"
    return found


def data_of(flow: Flow) -> Direction:
    """Where most of the data of a flow goes; answers go against its arrow."""
    there = flow.direction
    return there if traffic.of(flow.kind).data_goes == "there" else Direction(there.target, there.source)


def packets_of(flow: Flow) -> Iterator[Packets]:
    """The packets of a flow each way; only datagrams have no answers."""
    data = data_of(flow)
    both = traffic.of(flow.kind).packets == "there and back"
    yield Packets(flow, data, is_data=True)
    if flow.kind != "udp":
        yield Packets(flow, Direction(data.target, data.source), is_data=both)


def draws(flow: Flow) -> bool:
    """Whether a flow differs between repetitions: its start, its arrivals or its pauses are drawn."""
    pauses = getattr(getattr(flow, "think", None), "exponential", False)
    return bool(flow.jitter_ns or getattr(flow, "arrivals", None) is not None or pauses)
