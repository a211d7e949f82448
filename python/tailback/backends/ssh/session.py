"""The agent of one machine as an object: requests and answers, events, and a heartbeat.

A missing answer or a lost connection raises `HostFailed` with the host and the step.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from tailback.backends.ssh.connection import Agent, Connection, HostFailed
from tailback.testbed import Machine

PROTOCOL = 1
ANSWER_S = 120.0
"""Time limit for an answer of a connected machine."""
BEAT_S = 3.0
BUSY_S = 60.0
"""Time limit for a machine that restores itself after a killed run."""

CLOCK_SAMPLES = 15

Event = Mapping[str, Any]
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Offset:
    """The offset of a machine's monotonic clock to ours, and its uncertainty, half the shortest round-trip time."""

    ns: int
    uncertainty_ns: int


class Session:
    """A session with a machine's agent, which restores the machine when the session is closed or falls silent."""

    def __init__(self, host: str, machine: Machine, agent: Agent, silence_s: int) -> None:
        self.host = host
        self.machine = machine
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._connection = _serving(host, machine, agent, silence_s)
        self._answers: dict[int, queue.SimpleQueue[Event]] = {}
        self._lock = threading.Lock()
        self._number = 0
        self._ended = threading.Event()
        self._restored = False
        self._listener = threading.Thread(target=self._listen, name=f"hear {host}", daemon=True)
        self._listener.start()
        self._handshake()
        threading.Thread(target=self._beat, name=f"beat {host}", daemon=True).start()

    @property
    def management(self) -> str:
        """Address of the machine on the management network."""
        return self._connection.management

    def ask(self, step: str, do: str, timeout_s: float = ANSWER_S, **what: Any) -> Any:
        """Sends a request and returns the answer; errors name the `step`."""
        number, answers = self._request(do, what)
        try:
            answer = answers.get(timeout=timeout_s)
        except queue.Empty:
            raise HostFailed(self.host, step, f"no answer for {timeout_s:g} s", "is the machine overloaded?") from None
        finally:
            with self._lock:
                self._answers.pop(number, None)
        if answer.get("lost"):
            raise HostFailed(self.host, step, self._connection.reason("the connection was lost"), LOST)
        if "error" in answer:
            raise HostFailed(self.host, step, str(answer["error"]))
        return answer["ok"]

    def run(self, step: str, *argv: str, stdin: str | None = None) -> str:
        """The output of a program with the standard input `stdin`; raises `HostFailed` if it fails."""
        done = self.ask(step, "run", argv=list(argv), input=stdin)
        if done["status"] != 0:
            raise HostFailed(self.host, step, f"`{' '.join(argv)}`: {done['stderr'].strip()}")
        return str(done["stdout"])

    def tried(self, *argv: str, stdin: str | None = None) -> str | None:
        """The output of a program; `None` if it is missing or fails."""
        try:
            done = self.ask("looking", "run", argv=list(argv), input=stdin)
        except HostFailed:
            if self._ended.is_set():
                raise
            return None
        return str(done["stdout"]) if done["status"] == 0 else None

    def read(self, paths: Iterable[str]) -> dict[str, str | None]:
        """The content of files; `None` for files that cannot be read."""
        found: dict[str, str | None] = self.ask("reading", "read", paths=list(paths))
        return found

    def offset(self) -> Offset:
        """The offset of its clock, from the sample with the shortest round-trip time, as in NTP. [rfc5905 §8]"""
        samples = []
        for _ in range(CLOCK_SAMPLES):
            sent = time.monotonic_ns()
            there = int(self.ask("comparing clocks", "clock"))
            back = time.monotonic_ns()
            samples.append(Offset(there - (sent + back) // 2, (back - sent) // 2))
        return min(samples, key=lambda sample: sample.uncertainty_ns)

    def ahead(self) -> int:
        """How far its wall clock is ahead of its monotonic clock, in ns. It reads the wall clock first: if it is
        interrupted before it reads the other, the difference is too small.
        """
        return max(int(self.ask("comparing clocks", "ahead")) for _ in range(CLOCK_SAMPLES))

    def restore(self) -> list[str]:
        """Undoes all changes; returns those that could not be undone."""
        failed: list[str] = self.ask("restoring", "restore")
        self._restored = True
        return failed

    def close(self) -> None:
        """Ends the agent, which restores the machine if necessary."""
        self._ended.set()
        self._connection.end()
        self._listener.join()
        self._connection.close()

    def _handshake(self) -> None:
        try:
            answer = self.ask("greeting the agent", "hello")
        except HostFailed:
            self.close()
            raise
        self.left: list[str] = answer["left"]
        """Changes of a killed run that were undone."""
        if answer["protocol"] != PROTOCOL:
            self.close()
            raise HostFailed(
                self.host, "greeting the agent", f"it speaks protocol {answer['protocol']}, not {PROTOCOL}"
            )

    def _request(self, do: str, what: Mapping[str, Any]) -> tuple[int, queue.SimpleQueue[Event]]:
        answers: queue.SimpleQueue[Event] = queue.SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._answers[number] = answers
            if self._ended.is_set():
                answers.put({"lost": True})
            self._connection.send(json.dumps({"id": number, "do": do, **what}).encode() + b"\n")
        return number, answers

    def _listen(self) -> None:
        try:
            for line in self._connection.output:
                self._heard(line)
        except (OSError, ValueError):
            pass
        self._ended.set()
        with self._lock:
            for answers in self._answers.values():
                answers.put({"lost": True})
        self.events.put({"event": "lost"})

    def _heard(self, line: bytes) -> None:
        message = json.loads(line)
        number = message.get("id")
        if number is None:
            self.events.put(message)
            return
        with self._lock:
            answers = self._answers.get(number)
        if answers is not None:
            answers.put(message)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            number, _ = self._request("beat", {})
            with self._lock:
                self._answers.pop(number, None)

    @property
    def gone(self) -> bool:
        """Whether the connection has ended."""
        return self._ended.is_set()

    def lost(self) -> str:
        """Why the connection ended."""
        return self._connection.reason("the connection was lost")


LOST = "the machine restores itself within seconds; look at its sshd, then `run` again: finished runs are kept"


def _serving(host: str, machine: Machine, agent: Agent, silence_s: int) -> Connection:
    """A connection to a serving agent; waits if the machine is still being restored."""
    deadline = time.monotonic() + BUSY_S
    while True:
        connection = Connection(host, machine, agent, ["serve", str(silence_s)])
        connection.send(b'{"id": 0, "do": "beat"}\n')
        first = connection.output.readline()
        try:
            message = json.loads(first)
        except ValueError:
            answer = first.decode(errors="replace").strip()
            reason = connection.reason(answer or "the agent did not start")
            connection.close()
            raise HostFailed(host, "starting the agent", reason) from None
        if message.get("event") != "refused":
            return connection
        connection.close()
        reason = str(message["error"])
        if not reason.startswith("busy") or time.monotonic() > deadline:
            raise HostFailed(host, "starting the agent", reason)
        time.sleep(0.3)


def at_once(work: Callable[[T], U], items: Sequence[T]) -> list[U]:
    """Calls `work` for all items in parallel, waits for all of them, and then raises the first error."""
    if not items:
        return []
    with ThreadPoolExecutor(len(items)) as pool:
        return [future.result() for future in [pool.submit(work, item) for item in items]]
