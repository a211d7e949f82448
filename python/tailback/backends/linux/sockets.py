"""What distinguishes the packets of each flow: its transport and its port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tailback.backends.linux.trees import Socket, Transport
from tailback.resolved import Flow, Scenario
from tailback.resolved.traffic import Application

FIRST_PORT = 5001

TRANSPORTS: Mapping[Application, Transport] = {
    "tcp": "tcp", "request": "tcp", "page": "tcp", "video": "tcp", "udp": "udp", "echo": "udp", "ping": "icmp",
}  # fmt: skip
"""What carries an application. Ports are consecutive for each; the port of a ping is the identifier of its requests."""


def with_sockets(scenario: Scenario) -> Iterator[tuple[Flow, Socket]]:
    """The flows that the agent can run, with what distinguishes their packets."""
    used: Counter[Transport] = Counter()
    for entry in scenario.flows:
        if entry.run_by is None:
            continue
        transport = TRANSPORTS[entry.run_by]
        yield entry, Socket(transport, FIRST_PORT + used[transport])
        used[transport] += 1
