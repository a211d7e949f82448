"""A backend for tests, which computes plausible tables quickly and fails on request.

Its flows share `RATE_MBPS` evenly; RTT and cwnd follow a saw-tooth whose height depends on the small-queue setting. The
title of a scenario requests failures: `fails`, `overloaded`, `waits` (until it is cancelled).
"""

import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tailback import _core
from tailback.backends import Clock, RunCancelled, RunFailed, RunInvalid, RunResult, Unsuitable
from tailback.resolved import Cell, Control, Driver, Host, Mode, Ping, Record, Scenario, SmallQueue, Station, Tcp
from tailback.results import ExperimentPlan, RunPlan, run_name
from waiting import happened

RATE_MBPS = 96.0
SECOND = 1_000_000_000


class FakeProgress:
    """Records the progress of a run; can be cancelled."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()


class FakeBackend:
    """Records the scenarios that it was given."""

    name = "fake"
    clock = Clock.VIRTUAL
    fingerprint = "arithmetic"

    def __init__(self) -> None:
        self.given: list[Scenario] = []

    def new_progress(self) -> FakeProgress:
        return FakeProgress()

    def check(self, scenario: Scenario) -> None:
        if "unsuitable" in scenario.title:
            raise Unsuitable("too many rings")

    def check_without_code(self, scenario: Scenario) -> None:
        self.check(scenario)

    def run(self, scenario: Scenario, progress: Any) -> RunResult:
        self.given.append(scenario)
        if "fails" in scenario.title:
            raise RunFailed("the ring of client -> router is on fire")
        if "overloaded" in scenario.title:
            raise RunInvalid("the emulation was CPU-bound")
        if "waits" in scenario.title:
            happened(progress.cancelled)
            raise RunCancelled("cancelled")
        progress.fraction = 1.0
        cost = {"wall_s": time.monotonic(), "cpu_s": 0.1, "sim_s": 40.0, "events": 10, "packets": 5, "segments": 3}
        return RunResult(tables(scenario), cost)


def tables(scenario: Scenario) -> dict[str, _core.Table]:
    """The tables of `scenario`, which depend on nothing else."""
    tcp = scenario.tcp
    times = np.arange(1, scenario.duration_ns // 100_000_000 + 1) / 10
    draws = np.random.default_rng(scenario.seed)
    height = 100.0 if tcp[0].tsq.kind == "off" else 1.0
    saw = (times % 5.0) / 5.0 * height + 1.0
    bytes_per_bin = RATE_MBPS * 1e6 / 8 / 10 / len(tcp)
    flows = [(t, flow.name, int(bytes_per_bin * draws.uniform(0.9, 1.1))) for t in times for flow in tcp]
    info = [
        (t, flow.name, int(10 * rtt), int(1000 * rtt), 0) for t, rtt in zip(times, saw, strict=True) for flow in tcp
    ]
    pings = [(t, "ping", seq, float(rtt)) for seq, (t, rtt) in enumerate(zip(times, saw, strict=True))]
    return {
        "flows": table({"t": "s", "flow": "", "bytes": "B"}, flows),
        "tcp_info": table(
            {"t": "s", "flow": "", "snd_cwnd": "segments", "rtt": "µs", "total_retrans": "segments"}, info
        ),
        "ping": table({"t": "s", "ping": "", "seq": "", "rtt_ms": "ms"}, pings),
        "wifi": air(len(times), tsq=tcp[0].tsq.kind),
        "events": events([(6.0, "drop", "client -> router", "tail_full"), (7.0, "mark", "client -> router", "ecn")]),
    }


def air(ticks: int, tsq: str) -> _core.Table:
    """A station and its access point alternate, 20 PPDUs per 100 ms; the PPDUs are longer without small queues."""
    units = {"t": "s", "from": "", "to": "", "mpdus": "", "received": "", "duration_us": "µs", "tries": "",
             "colliders": "", "access_us": "µs", "closed_by": ""}  # fmt: skip
    rows = []
    for number in range(20 * ticks):
        up, again = number % 2 == 0, number % 7 == 0
        ends = ("client", "router") if up else ("router", "client")
        mpdus = (30 if tsq == "off" else 6) + number % 3 if up else 2
        shape = (mpdus, mpdus - int(number % 5 == 0), 40.0 * mpdus, int(again), 2 * int(again), 100.0, "frame_limit")
        rows.append((number / 200, *ends, *shape))
    return table(units, rows)


def events(rows: list[tuple[float, str, str, str]]) -> _core.Table:
    """The table `events` with these rows, which are of no flow."""
    units = {"t": "s", "what": "", "where": "", "reason": "", "flow": ""}
    return table(units, [(*row, "") for row in rows])


def table(units: Mapping[str, str], rows: list[Any]) -> _core.Table:
    """A table with units in the metadata of its columns, as the simulator writes it."""
    arrays = [pa.array([row[place] for row in rows]) for place in range(len(units))]
    fields = [
        pa.field(name, array.type, metadata={"unit": unit} if unit else None)
        for (name, unit), array in zip(units.items(), arrays, strict=True)
    ]
    return _core.Table.of_arrow(pa.table(arrays, schema=pa.schema(fields)))


def scenario(title: str = "test", *, seed: int = 1, flows: int = 2, tsq: str = "time", cc: str = "cubic") -> Scenario:
    """A resolved scenario with the parts that these packages read."""
    small_queue = SmallQueue(kind="off") if tsq == "off" else SmallQueue(kind="time", shift=10)
    tcp = [
        Tcp(
            name=f"upload.{number}", source=0, target=1, start_ns=0, stop_ns=20 * SECOND, bytes=None,
            cc=Control(name=cc), tsq=small_queue,
        )
        for number in range(1, flows + 1)
    ]  # fmt: skip
    ping = Ping(name="ping", source=0, target=1, start_ns=0, stop_ns=20 * SECOND, interval_ns=SECOND, size=64)
    radio = Driver(name="ath9k")
    mode = Mode(format="ht", width=20, streams=1, mcs=7, guard_ns=800)
    station = Station(host=0, mode=mode, loss_ppm=0, driver=radio)
    return Scenario(
        title=title,
        seed=seed,
        duration_ns=20 * SECOND,
        hosts=(Host(name="client", stack="linux-6.12"), Host(name="router", stack="linux-6.12")),
        cells=(Cell(access_point=1, stations=(station,), band="5GHz", rts=False, mpdu_overhead=38, driver=radio),),
        traffic=(*tcp, ping),
        record=Record(interval_ns=SECOND // 10, tcp_info="interval", events=True),
    )


def planned(axes: Mapping[str, str], resolved: Scenario, repetition: int = 1) -> RunPlan:
    """The plan of one run."""
    flows = [flow.name for flow in resolved.tcp]
    return RunPlan(
        name=run_name(axes, repetition, resolved),
        axes=axes,
        repetition=repetition,
        seed=resolved.seed,
        scenario=resolved,
        fingerprint=FakeBackend.fingerprint,
        window_ns=(5 * SECOND, 15 * SECOND),
        directions=dict.fromkeys(flows, "up"),
    )


def experiment(runs: list[RunPlan], title: str = "a test") -> ExperimentPlan:
    """The plan of an experiment of these runs."""
    return ExperimentPlan(title, "title: a test\n", (), FakeBackend.name, runs)


def grid(repetitions: int = 2) -> ExperimentPlan:
    """Two controls × two small-queue settings × repetitions."""
    return experiment(
        [
            planned({"cc": cc, "tsq": tsq}, scenario(f"{cc} {tsq}", seed=repetition, tsq=tsq, cc=cc), repetition)
            for cc in ("cubic", "bbr")
            for tsq in ("1ms", "off")
            for repetition in range(1, repetitions + 1)
        ]
    )


class Nobody:
    """A watch that ignores everything."""

    def update(self, done: int, total: int, fraction: float) -> None:
        pass
