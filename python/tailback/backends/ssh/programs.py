"""Programs such as `tcpdump` and `iperf3` on a machine, which run as long as the connection exists.

The agent (`crates/agent/src/tether.rs`) starts them at a time of the machine's clock, with a list of arguments, and
ends them with the connection.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tailback.backends.ssh.connection import Agent, Connection, HostFailed
from tailback.backends.ssh.session import Session, at_once


@dataclass(frozen=True)
class Order:
    """A program to run on a machine."""

    host: str
    what: str
    """The name of the program in errors."""
    argv: Sequence[str]
    at_ns: int = 0
    """Start by the machine's monotonic clock; 0 means immediately."""


class Program:
    """A running program, whose output is collected."""

    def __init__(self, session: Session, agent: Agent, order: Order) -> None:
        self.order = order
        self._connection = Connection(order.host, session.machine, agent, ["tether", str(order.at_ns), *order.argv])
        self._output = b""
        self._reader = threading.Thread(target=self._read, name=f"hear {order.what}", daemon=True)
        self._reader.start()

    def output(self, patience_s: float) -> bytes:
        """Waits for its end; returns its output."""
        self._reader.join(patience_s)
        if self._reader.is_alive():
            raise HostFailed(self.order.host, self.order.what, f"it has not ended after {patience_s:g} s more")
        return self._output

    def stopped(self) -> bytes:
        """Stops it; returns its output."""
        self._connection.end()
        self._reader.join()
        return self._output

    def close(self) -> None:
        """Ends the program."""
        self._connection.end()
        self._reader.join()
        self._connection.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._output = self._connection.output.read()


@contextlib.contextmanager
def running(orders: Sequence[Order], opened: dict[str, Session], agent: Agent) -> Iterator[list[Program]]:
    """Runs programs during the block."""
    started: dict[int, Program] = {}

    def start(number: int) -> None:
        started[number] = Program(opened[orders[number].host], agent, orders[number])

    try:
        at_once(start, range(len(orders)))
        yield [started[number] for number in range(len(orders))]
    finally:
        at_once(Program.close, list(started.values()))
