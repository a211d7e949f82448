"""One run on a testbed: sets up the machines, runs the traffic, and restores the machines in any case.

    connect → facts → steps, each undone by its machine → sockets → clocks → start → rows → counters → restored

The clocks of the machines are compared with ours before and after the run. All machines start at the same time, which
each gets in its own clock. So all tables have one time axis, with the accuracy in `clock_uncertainty_us`.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tailback import columns
from tailback.backends.backend import RunCancelled, RunFailed, RunResult
from tailback.backends.linux import tables
from tailback.backends.linux.hops import first_hops
from tailback.backends.linux.process import Progress
from tailback.backends.ssh import capture, iperf3, programs
from tailback.backends.ssh import facts as facts_of_machines
from tailback.backends.ssh.connection import Agent, HostFailed
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout, taking_part
from tailback.backends.ssh.plan import Step, plan_of
from tailback.backends.ssh.session import LOST, Offset, Session, at_once
from tailback.kernel.scratch import scratch
from tailback.resolved import Scenario
from tailback.testbed import Machine, Testbed

LIVE = logging.getLogger("tailback.live")
"""Logger of throughput and round-trip times, one line per second."""

LEAD_S = 0.5
"""Minimum time between the command to start and the start; longer if machines answer slowly."""
LONGEST_LEAD_S = 60.0
OVERTIME_S = 120.0
"""Time limit for the end of a run after its duration; busy machines may be slow."""
LOOK_S = 0.1
AFTERMATH_S = 10.0
TOKEN_BYTES = 16
SECOND_NS = 1_000_000_000
T = TypeVar("T")


class TestbedProgress(Progress):
    """The progress of a run."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        """Throughput and round-trip times of the last second."""


@dataclass
class Measured:
    """The data of a run, as it arrives."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    """The rows of each table as CSV with heading, one text per machine."""

    def add(self, host: str, table: str, text: str) -> None:
        """Adds rows of a machine."""
        heading, _, rows = text.partition("\n")
        known = self.texts.setdefault(table, [])
        if (host, table) in self._headed:
            known.append(text)
            return
        self._headed.add((host, table))
        if not known:
            known.append(f"{heading}\n")
        known.append(rows)

    _headed: set[tuple[str, str]] = field(default_factory=set)


@contextlib.contextmanager
def sessions(machines: Mapping[str, Machine], testbed: Testbed, agent: Agent) -> Iterator[dict[str, Session]]:
    """Opens a session with each machine; the machines are restored at the end of the block."""
    opened: dict[str, Session] = {}

    def connect(host: str) -> None:
        opened[host] = Session(host, machines[host], agent, testbed.keys.silence)

    try:
        at_once(connect, list(machines))
        yield {host: opened[host] for host in machines}
    finally:
        # Closing waits for the agent's guard, so that the machine is restored when the connection has ended.
        at_once(lambda session: session.close(), list(opened.values()))


def facts_of(opened: Mapping[str, Session]) -> dict[str, Facts]:
    """The current facts of all machines."""
    found: Sequence[Facts] = at_once(facts_of_machines.gather, list(opened.values()))
    return {facts.host: facts for facts in found}


def run_scenario(scenario: Scenario, testbed: Testbed, agent: Agent, progress: TestbedProgress) -> RunResult:
    """Runs `scenario`; raises `RunFailed` or `RunCancelled`, with all machines restored."""
    started = time.monotonic()
    try:
        with sessions(taking_part(scenario, testbed), testbed, agent) as opened:
            layout = Layout(scenario, testbed, facts_of(opened))
            result = _Run(layout, opened, agent, progress).result()
    except HostFailed as failure:
        raise RunFailed(str(failure)) from failure
    cost = {"wall_s": time.monotonic() - started, "sim_s": scenario.duration_ns / 1e9}
    return RunResult(result.tables, {**cost, **result.cost}, result.captures, result.notes)


class _Run:
    """A run on connected machines."""

    def __init__(self, layout: Layout, opened: dict[str, Session], agent: Agent, progress: TestbedProgress) -> None:
        self._layout = layout
        self._opened = opened
        self._agent = agent
        self._progress = progress
        self._plan = plan_of(layout, secrets.token_hex(TOKEN_BYTES))
        self._measured = Measured()

    def result(self) -> RunResult:
        """Sets up the machines, runs the traffic, and restores the machines."""
        for step in self._plan.steps:
            _cancelled(self._progress)
            take(self._opened[step.host], step)
        _try_paths(self._layout, self._opened)
        names = self._layout.scenario.host_names
        self._each(lambda each: each.ask("opening sockets", "prepare", job=self._plan.job, me=names.index(each.host)))
        begun = time.monotonic()
        before = self._each(Session.offset)
        # Reading the clocks took many round trips, so the command to start, which takes one, fits into that time.
        lead_s = max(LEAD_S, time.monotonic() - begun)
        counters = self._each(facts_of_machines.qdiscs)
        captures = self._measure(before, lead_s)
        after, counted = self._each(Session.offset), self._each(facts_of_machines.qdiscs)
        not_restored = self._each(Session.restore)
        notes = {
            name: {
                **self._layout.facts[name].document(),
                "clock": _clock(before[name], after[name]),
                "commands": [step.words for step in self._plan.steps if step.host == name],
                "qdiscs_at_start": list(counters[name]),
                "qdiscs_at_end": list(counted[name]),
                **({"not_restored": not_restored[name]} if not_restored[name] else {}),
            }
            for name in self._opened
        }
        testbed = self._layout.testbed
        with scratch("tailback-ssh-", Path(tempfile.gettempdir())) as folder:
            found, cost = _tables(folder, self._measured)
        unsure = max(offset.uncertainty_ns for offset in before.values()) / 1e3
        provenance = {"testbed": {"file": testbed.path, "says": testbed.document(), "machines": notes}}
        return RunResult(
            tables.recorded(found, {"tcp_info_receiver": RECEIVER}),
            {**cost, "clock_uncertainty_us": unsure},
            captures,
            provenance,
        )

    def _measure(self, offsets: Mapping[str, Offset], lead_s: float) -> dict[str, bytes]:
        """Starts all machines at the same time and waits for their end; returns the captures by machine.

        If the start time passes before all machines are ready, the start is repeated with twice the lead time.
        """
        while (found := self._measured_after(offsets, lead_s)) is None:
            lead_s *= 2
            if lead_s > LONGEST_LEAD_S:
                raise HostFailed(
                    next(iter(self._opened)), "starting", f"connecting took longer than {LONGEST_LEAD_S:g} s"
                )
        return found

    def _measured_after(self, offsets: Mapping[str, Offset], lead_s: float) -> dict[str, bytes] | None:
        dumps = capture.orders(self._layout)
        by_iperf3 = self._layout.testbed.keys.engine == iperf3.NAME
        servers = iperf3.servers(self._layout) if by_iperf3 else []
        begun = time.monotonic()
        with programs.running([*dumps, *servers], self._opened, self._agent) as beside:
            if by_iperf3:
                lead_s = max(3 * (time.monotonic() - begun), 2 * lead_s)
            start_ns = time.monotonic_ns() + int(lead_s * SECOND_NS)
            zero_ns = {host: start_ns + offset.ns for host, offset in offsets.items()}
            clients = iperf3.clients(self._layout, zero_ns) if by_iperf3 else []
            with programs.running(clients, self._opened, self._agent) as sending:
                if time.monotonic_ns() > start_ns:
                    return None
                self._each(lambda each: each.ask("starting", "start", zero_ns=zero_ns[each.host]))
                _follow(self._layout, self._opened, self._measured, self._progress)
                if by_iperf3:
                    served = [each.output(OVERTIME_S) for each in beside[len(dumps) :]]
                    sent = [each.output(OVERTIME_S) for each in sending]
                    for table, text in iperf3.texts(self._layout, served, sent).items():
                        self._measured.add(iperf3.NAME, table, text)
            contents = [each.stopped() for each in beside[: len(dumps)]]
        return self._captures(dumps, contents, zero_ns)

    def _captures(
        self, dumps: Sequence[programs.Order], contents: Sequence[bytes], zero_ns: Mapping[str, int]
    ) -> dict[str, bytes]:
        found: dict[str, dict[str, bytes]] = {}
        for order, content in zip(dumps, contents, strict=True):
            if not content:
                hint = "is tcpdump installed, and may root capture? apt-get install tcpdump"
                raise HostFailed(order.host, order.what, "tcpdump captured nothing", hint)
            found.setdefault(order.host, {})[order.what.rsplit(" ", 1)[-1]] = content
        ahead = {host: self._opened[host].ahead() for host in found}
        return {host: capture.joined(each, zero_ns[host] + ahead[host]) for host, each in found.items()}

    def _each(self, ask: Callable[[Session], T]) -> dict[str, T]:
        """Calls `ask` for all machines in parallel; returns the answers."""
        machines = list(self._opened.values())
        return dict(zip(self._opened, at_once(ask, machines), strict=True))


def take(session: Session, step: Step) -> None:
    """Executes a step on its machine."""
    if step.path:
        session.ask(step.what, "set", path=step.path, value=step.value)
    elif step.stdin:
        session.run(step.what, *step.argv, stdin=step.stdin)
    else:
        session.ask(step.what, "change", argv=list(step.argv), undo=None if step.undo is None else list(step.undo))


def _try_paths(layout: Layout, opened: Mapping[str, Session]) -> None:
    """Checks that packets take the paths of the experiment and that their destinations answer."""
    targets: dict[str, list[tuple[str, str, str]]] = {}
    for source, target in layout.pairs():
        name = layout.name(source)
        port = layout.port(first_hops(layout.hops, source)[target])
        if port is not None:
            there = str(layout.target(source, target))
            targets.setdefault(name, []).append((layout.name(target), there, port.name))

    def try_those_of(session: Session) -> None:
        for target, address, device in dict.fromkeys(targets.get(session.host, [])):
            step = f"the way to `{target}`"
            taken = session.run(step, "ip", "route", "get", address).split()
            if "dev" not in taken or taken[taken.index("dev") + 1] != device:
                hint = f"add a route to it through {device}, or name the device of the existing route"
                raise HostFailed(
                    session.host, step, f"{address} has the route `{' '.join(taken[:5])}`, not {device}", hint
                )
            done = session.ask(step, "run", argv=["ping", "-n", "-c", "1", "-w", "15", address])
            if done["status"] != 0:
                hint = "check the cables, and whether the router forwards (net.ipv4.ip_forward, its firewall)"
                raise HostFailed(session.host, step, f"{address} does not answer a ping", hint)

    at_once(try_those_of, list(opened.values()))


def _follow(layout: Layout, opened: Mapping[str, Session], measured: Measured, progress: TestbedProgress) -> None:
    """Waits until all machines have reported the end."""
    duration_ns = layout.scenario.duration_ns
    deadline = time.monotonic() + LEAD_S + duration_ns / 1e9 + OVERTIME_S
    running = dict(opened)
    live = _Live(duration_ns, progress)
    while running:
        _cancelled(progress)
        if time.monotonic() > deadline:
            names = ", ".join(running)
            raise HostFailed(next(iter(running)), "measuring", f"no end reported: {names}", "is it overloaded?")
        for host, session in list(running.items()):
            try:
                if _heard(session, measured, live):
                    del running[host]
            except HostFailed as failure:
                raise _cause(failure, running) from failure
        time.sleep(LOOK_S)
    live.tell()


def _heard(session: Session, measured: Measured, live: _Live) -> bool:
    """Processes the events of a machine; returns whether it has ended."""
    while not session.events.empty():
        event = session.events.get()
        match event["event"]:
            case "ended":
                return True
            case "rows":
                measured.add(session.host, event["table"], event["text"])
            case "live":
                live.note(event)
            case "lost":
                raise _lost(session)
            case _:
                raise HostFailed(session.host, "measuring", str(event.get("error")))
    return False


def _lost(session: Session) -> HostFailed:
    return HostFailed(session.host, "measuring", session.lost(), LOST)


def _cause(failure: HostFailed, running: Mapping[str, Session]) -> HostFailed:
    """The cause of a failure: another machine whose connection was lost, if there is one."""
    end = time.monotonic() + AFTERMATH_S
    while time.monotonic() < end:
        gone = next((session for session in running.values() if session.gone), None)
        if gone is not None:
            return _lost(gone)
        time.sleep(LOOK_S)
    return failure


class _Live:
    """Reports throughput and round-trip times once per second."""

    def __init__(self, duration_ns: int, progress: TestbedProgress) -> None:
        self._duration_ns = duration_ns
        self._progress = progress
        self._bytes: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, float] = {}
        self._rtts: dict[str, float] = {}
        self._reported_ns = 0

    def note(self, event: Mapping[str, Any]) -> None:
        """Records bytes and round-trip times of a machine."""
        t_ns = int(event["t_ns"])
        for flow, count in event["bytes"].items():
            last_ns, last = self._bytes.get(flow, (0, 0))
            self._rates[flow] = (count - last) * 8e3 / max(t_ns - last_ns, 1)
            self._bytes[flow] = (t_ns, count)
        self._rtts |= {name: rtt_ns / 1e6 for name, rtt_ns in event["rtt_ns"].items()}
        rates = [f"{flow} {rate:.2f} Mbit/s" for flow, rate in self._rates.items()]
        rtts = [f"{name} {rtt:.2f} ms" for name, rtt in self._rtts.items()]
        if t_ns > self._reported_ns:
            # All machines have reported the previous second.
            self.tell()
            self._reported_ns = t_ns
        self._progress.words = f"{t_ns / 1e9:.0f} s: " + ", ".join([*rates, *rtts])
        self._progress.fraction = max(self._progress.fraction, min(t_ns / self._duration_ns, 1.0))

    def tell(self) -> None:
        """Logs the last second."""
        if self._progress.words:
            LIVE.info(self._progress.words)


def _cancelled(progress: Progress) -> None:
    if progress.cancelled:
        raise RunCancelled("cancelled")


def _clock(before: Offset, after: Offset) -> dict[str, float]:
    return {
        "offset_us": before.ns / 1e3,
        "uncertainty_us": before.uncertainty_ns / 1e3,
        "drift_us": (after.ns - before.ns) / 1e3,
    }


RECEIVER: tables.Form = {
    "t": (columns.NUMBER, "s"),
    "flow": (columns.TEXT, ""),
    "rcv_mss": (columns.COUNT, "B"),
    "rcv_rtt": (columns.COUNT, "µs"),
    "rcv_space": (columns.COUNT, "B"),
    "rcv_ssthresh": (columns.COUNT, "B"),
    "rcv_wnd": (columns.COUNT, "B"),
    "bytes_received": (columns.COUNT, "B"),
    "data_segs_in": (columns.COUNT, "segments"),
    "rcv_ooopack": (columns.COUNT, "segments"),
}
"""Columns of a receiving socket; other backends sample only the sender."""


def _tables(folder: Path, measured: Measured) -> tuple[dict[str, Any], dict[str, float]]:
    """The tables with the rows of all machines, sorted by time."""
    for name, texts in measured.texts.items():
        (folder / f"{name}.csv").write_text("".join(texts), encoding="utf-8")
    found = {
        **tables.read_tables(folder),
        "tcp_info_receiver": tables.read_table(folder, "tcp_info_receiver", RECEIVER),
    }
    segments = tables.read_segments(folder)
    return {name: table.sort_values("t", kind="stable") for name, table in found.items()}, {
        "segments": segments
    } if segments else {}
