"""What distinguishes the packets of each flow: its transport and its port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tailback.backends.linux.trees import Socket
from tailback.resolved import Flow, Scenario
from tailback.resolved.traffic import Transport

FIRST_PORT = 5001

BESIDE_PROGRAMS = 20_001
"""The first port beside programs, which have ports of their own (iperf3: 5201)."""


def with_sockets(scenario: Scenario) -> Iterator[tuple[Flow, Socket]]:
    """The flows with what distinguishes their packets.

    Ports are consecutive for each transport; the port of a ping over ICMP is the identifier of its requests.
    """
    used: Counter[Transport] = Counter()
    first = BESIDE_PROGRAMS if scenario.programs else FIRST_PORT
    for entry in scenario.flows:
        yield entry, Socket(entry.transport, first + used[entry.transport])
        used[entry.transport] += 1
