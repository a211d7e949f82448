"""One run on a testbed: the machines are made ready, measure at the same time, and are put back, whatever happens.

    connect → facts → steps, each undone by its machine → sockets → clocks → start → rows → counters → restored

The clocks of the machines are compared with ours before and after; a run starts at one time of ours, which each machine
is told in its own. So the tables of all of them have one time axis, as sure as `clock_uncertainty_us` says.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailback.backends import RunCancelled, RunFailed, RunResult, Scenario
from tailback.backends.linux import tables
from tailback.backends.linux.job import first_hops
from tailback.backends.linux.process import Progress
from tailback.backends.ssh import facts as facts_of_machines
from tailback.backends.ssh.connection import Agent, HostFailed
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout, taking_part
from tailback.backends.ssh.plan import Plan, Step, plan_of
from tailback.backends.ssh.session import LOST, Offset, Session, at_once
from tailback.testbed import Machine, Testbed

LEAD_S = 0.5
"""From the order to start until the start."""
OVERTIME_S = 15.0
LOOK_S = 0.1
AFTERMATH_S = 1.0
TOKEN_BYTES = 16
SECOND_NS = 1_000_000_000


class TestbedProgress(Progress):
    """How far a run is, and what is going on."""

    __test__ = False

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        """Throughput and round-trip times of the last second."""


@dataclass
class Measured:
    """What came back while a run was on."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    """Rows by table, with their heading in front, a text per machine and table."""
    bytes: dict[str, int] = field(default_factory=dict)

    def add(self, host: str, table: str, text: str) -> None:
        """Rows of a machine."""
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
    """A session with each machine, for the length of the block; each is restored at its end."""
    opened: dict[str, Session] = {}

    def connect(host: str) -> None:
        opened[host] = Session(host, machines[host], agent, testbed.keys.silence)

    try:
        at_once(connect, list(machines))
        yield {host: opened[host] for host in machines}
    finally:
        # The last words of an agent are its guard's: the machine is as it was when the connection has ended.
        at_once(lambda session: session.close(), list(opened.values()))


def facts_of(opened: Mapping[str, Session]) -> dict[str, Facts]:
    """The machines as they are now."""
    found: Sequence[Facts] = at_once(facts_of_machines.gather, list(opened.values()))
    return {facts.host: facts for facts in found}


def carry_out(scenario: Scenario, testbed: Testbed, agent: Agent, progress: TestbedProgress) -> RunResult:
    """Runs `scenario`; raises `RunFailed` or `RunCancelled`, with all machines restored."""
    started = time.monotonic()
    try:
        with sessions(taking_part(scenario, testbed), testbed, agent) as opened:
            layout = Layout(scenario, testbed, facts_of(opened))
            plan = plan_of(layout, secrets.token_hex(TOKEN_BYTES))
            result = _measured(layout, plan, opened, progress)
    except HostFailed as failure:
        raise RunFailed(str(failure)) from failure
    cost = {"wall_s": time.monotonic() - started, "sim_s": scenario["duration_ns"] / 1e9}
    return RunResult(result.tables, {**cost, **result.cost}, result.captures, result.notes)


def _measured(layout: Layout, plan: Plan, opened: Mapping[str, Session], progress: TestbedProgress) -> RunResult:
    for step in plan.steps:
        _cancelled(progress)
        take(opened[step.host], step)
    _try_paths(layout, opened)
    machines = list(opened.values())
    names = [host["name"] for host in layout.scenario["hosts"]]
    at_once(lambda each: each.ask("opening sockets", "prepare", job=plan.job, me=names.index(each.host)), machines)
    before = dict(zip(opened, at_once(Session.offset, machines), strict=True))
    counters = dict(zip(opened, at_once(facts_of_machines.qdiscs, machines), strict=True))
    measured = Measured()
    _start(opened, before)
    _follow(layout, opened, measured, progress)
    after = dict(zip(opened, at_once(Session.offset, machines), strict=True))
    counted = dict(zip(opened, at_once(facts_of_machines.qdiscs, machines), strict=True))
    not_restored = {each.host: failed for each in machines if (failed := each.restore())}
    notes = {
        "testbed": {
            "file": layout.testbed.path,
            "says": layout.testbed.document(),
            "machines": {
                name: {
                    **layout.facts[name].document(),
                    "clock": _clock(before[name], after[name]),
                    "commands": [step.words for step in plan.steps if step.host == name],
                    "qdiscs_at_start": list(counters[name]),
                    "qdiscs_at_end": list(counted[name]),
                    **({"not_restored": not_restored[name]} if name in not_restored else {}),
                }
                for name in opened
            },
        }
    }
    with tempfile.TemporaryDirectory(prefix="tailback-ssh-") as folder:
        found, segments = _tables(Path(folder), measured)
    unsure = max(offset.uncertainty_ns for offset in before.values()) / 1e3
    return RunResult(found, {"segments": segments, "clock_uncertainty_us": unsure}, {}, notes)


def take(session: Session, step: Step) -> None:
    """Has a machine take one step."""
    if step.path:
        session.ask(step.what, "set", path=step.path, value=step.value)
    else:
        session.ask(step.what, "change", argv=list(step.argv), undo=None if step.undo is None else list(step.undo))


def _try_paths(layout: Layout, opened: Mapping[str, Session]) -> None:
    """Each way is the experiment's, and somebody answers at its end."""
    asked: dict[str, list[tuple[str, str, str]]] = {}
    for source, target in layout.pairs():
        name = layout.name(source)
        port = layout.port(first_hops(layout.hops, source)[target])
        if port is not None:
            there = str(layout.target(source, target))
            asked.setdefault(name, []).append((layout.name(target), there, port.name))

    def try_those_of(session: Session) -> None:
        for target, address, device in dict.fromkeys(asked.get(session.host, [])):
            step = f"the way to `{target}`"
            taken = session.run(step, "ip", "route", "get", address).split()
            if "dev" not in taken or taken[taken.index("dev") + 1] != device:
                hint = f"add a route to it by {device}, or name the device of the way it takes"
                raise HostFailed(session.host, step, f"{address} goes by `{' '.join(taken[:5])}`, not {device}", hint)
            done = session.ask(step, "run", argv=["ping", "-n", "-c", "1", "-W", "5", address])
            if done["status"] != 0:
                hint = "is it cabled so, does the router forward (net.ipv4.ip_forward, its firewall)?"
                raise HostFailed(session.host, step, f"{address} does not answer a ping", hint)

    at_once(try_those_of, list(opened.values()))


def _start(opened: Mapping[str, Session], offsets: Mapping[str, Offset]) -> None:
    zero_ns = time.monotonic_ns() + int(LEAD_S * SECOND_NS)

    def start(session: Session) -> None:
        session.ask("starting", "start", zero_ns=zero_ns + offsets[session.host].ns)

    at_once(start, list(opened.values()))


def _follow(layout: Layout, opened: Mapping[str, Session], measured: Measured, progress: TestbedProgress) -> None:
    """Until every machine has measured to the end."""
    duration_ns = layout.scenario["duration_ns"]
    patience = time.monotonic() + LEAD_S + duration_ns / 1e9 + OVERTIME_S
    running = dict(opened)
    live = _Live(duration_ns, progress)
    while running:
        _cancelled(progress)
        if time.monotonic() > patience:
            names = ", ".join(running)
            raise HostFailed(next(iter(running)), "measuring", f"no end is heard of {names}", "is it overloaded?")
        for host, session in list(running.items()):
            try:
                if _heard(session, measured, live):
                    del running[host]
            except HostFailed as failure:
                raise _cause(failure, running) from failure
        time.sleep(LOOK_S)


def _heard(session: Session, measured: Measured, live: _Live) -> bool:
    """Takes what a machine has said; whether it has come to its end."""
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
    """A connection is reset because a machine is gone that we may hear of a little later."""
    end = time.monotonic() + AFTERMATH_S
    while time.monotonic() < end:
        gone = next((session for session in running.values() if session.gone), None)
        if gone is not None:
            return _lost(gone)
        time.sleep(LOOK_S)
    return failure


class _Live:
    """The last second in words."""

    def __init__(self, duration_ns: int, progress: TestbedProgress) -> None:
        self._duration_ns = duration_ns
        self._progress = progress
        self._bytes: dict[str, tuple[int, int]] = {}
        self._rates: dict[str, float] = {}
        self._rtts: dict[str, float] = {}

    def note(self, event: Mapping[str, Any]) -> None:
        """Bytes so far and newest round-trip times of a machine."""
        t_ns = int(event["t_ns"])
        for flow, count in event["bytes"].items():
            last_ns, last = self._bytes.get(flow, (0, 0))
            self._rates[flow] = (count - last) * 8e3 / max(t_ns - last_ns, 1)
            self._bytes[flow] = (t_ns, count)
        self._rtts |= {name: rtt_ns / 1e6 for name, rtt_ns in event["rtt_ns"].items()}
        self._progress.fraction = max(self._progress.fraction, min(t_ns / self._duration_ns, 1.0))
        rates = [f"{flow} {rate:.2f} Mbit/s" for flow, rate in self._rates.items()]
        rtts = [f"{name} {rtt:.2f} ms" for name, rtt in self._rtts.items()]
        self._progress.words = f"{t_ns / 1e9:.0f} s: " + ", ".join([*rates, *rtts])


def _cancelled(progress: Progress) -> None:
    if progress.cancelled:
        raise RunCancelled("cancelled")


def _clock(before: Offset, after: Offset) -> dict[str, float]:
    return {
        "offset_us": before.ns / 1e3,
        "uncertainty_us": before.uncertainty_ns / 1e3,
        "drift_us": (after.ns - before.ns) / 1e3,
    }


RECEIVER = {
    "t": (tables.NUMBER, "s"),
    "flow": (tables.TEXT, ""),
    "rcv_mss": (tables.COUNT, "B"),
    "rcv_rtt": (tables.COUNT, "µs"),
    "rcv_space": (tables.COUNT, "B"),
    "rcv_ssthresh": (tables.COUNT, "B"),
    "rcv_wnd": (tables.COUNT, "B"),
    "bytes_received": (tables.COUNT, "B"),
    "data_segs_in": (tables.COUNT, "segments"),
    "rcv_ooopack": (tables.COUNT, "segments"),
}
"""What a receiving socket shows; only here, for the other kernels are asked at the sender."""


def _tables(folder: Path, measured: Measured) -> tuple[dict[str, Any], int]:
    """The rows of all machines as one table each, in the order of time."""
    for name, texts in measured.texts.items():
        (folder / f"{name}.csv").write_text("".join(texts), encoding="utf-8")
    found = {
        **tables.read_tables(folder),
        "tcp_info_receiver": tables.read_table(folder, "tcp_info_receiver", RECEIVER),
    }
    return {name: table.sort_by("t") for name, table in found.items()}, tables.read_segments(folder)
