"""Runs of the kernel in virtual time: their results, that they repeat, and that they leave nothing behind."""

import csv
import ctypes
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from msgspec import structs

from backends.conftest import SECOND, agent_in, flow, kernel_in, left_running
from conformance.wired.experiment import Experiment, twin
from fake_backend import Nobody, experiment, planned
from tailback import _core
from tailback.analysis import browsing, media
from tailback.analysis.media import Stream
from tailback.analysis.sharing import completion_times, flow_events
from tailback.analysis.window import Window
from tailback.backends import RunCancelled, RunFailed, RunResult
from tailback.backends.linux import process, tables
from tailback.backends.sim import Sim
from tailback.backends.uml import Uml, instance
from tailback.backends.uml.settings import job_of
from tailback.resolved import of_json
from tailback.resolved.pages import SHAPES
from tailback.results import claim
from tailback.sweep import Sweep, run_all
from waiting import alive, joined, until

Make = Callable[..., dict[str, Any]]
GOLDEN = Path(__file__).parents[3] / "data" / "wired" / "runs.csv"
UnderWay: TypeAlias = tuple[threading.Thread, process.Progress, list[BaseException]]
NOBODY = 65534
PR_SET_NO_NEW_PRIVS = 38


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs create their folders here, so that the test finds what they leave behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run(uml: Uml, scenario: dict[str, Any]) -> RunResult:
    return uml.run(of_json(scenario), uml.new_progress())


def rows(table: _core.Table, since: float, until: float) -> dict[str, list[Any]]:
    frame = table.to_arrow().to_pandas()
    return {name: list(values) for name, values in frame[(frame.t >= since) & (frame.t < until)].items()}


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def bits(result: RunResult) -> dict[str, bytes]:
    return {name: table.stream for name, table in result.tables.items()}


def with_init(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A process 1 other than the agent."""
    furnish = instance.write_inputs

    def changed(folder: Path, machine: instance.Machine, order: instance.Order) -> None:
        furnish(folder, machine, order)
        (folder / "agent").rename(folder / "launcher")
        # On the host it behaves as the agent.
        (folder / "agent").write_text(f'#!/bin/sh\n[ $$ = 1 ] || exec ./launcher "$@"\n{script}')
        (folder / "agent").chmod(0o755)

    monkeypatch.setattr(instance, "write_inputs", changed)


@pytest.fixture(scope="module")
def known() -> dict[str, RunResult]:
    return {}


@pytest.fixture
def plain(uml: Uml, scenario: Make, known: dict[str, RunResult]) -> RunResult:
    """The run of the plain scenario, which several tests compare with others."""
    return known["plain"] if "plain" in known else known.setdefault("plain", run(uml, scenario()))


def test_the_tables_are_those_of_the_contract(plain: RunResult) -> None:
    result = plain
    assert {name: table.names for name, table in result.tables.items()} == {
        name: list(columns) for name, columns in tables.COLUMNS.items()
    }
    assert {"wall_s", "cpu_s", "sim_s", "segments"} == set(result.cost)
    busy = rows(result.tables["flows"], 1.5, 3.0)
    assert sum(busy["bytes"]) * 8 / 1.5 == pytest.approx(10e6 * 1448 / 1514, rel=0.02)
    assert {"htb", "pfifo"} == set(result.tables["qdisc"].to_arrow()["kind"].to_pylist())
    assert set(result.tables["qdisc"].to_arrow()["device"].to_pylist()) == {"client -> router"}


def test_datagrams_pings_over_udp_and_code_points_are_as_in_the_simulator(uml: Uml, scenario: Make) -> None:
    """The classes select packets by code point, by UDP and by ICMP."""
    ends = {"from": 0, "to": 2, "start_ns": 0, "stop_ns": 3 * SECOND}
    udp = {"kind": "udp", "name": "udp", "rate_bps": 4_000_000, "size": 1000, "sndbuf": None, "dscp": 10, **ends}
    echo = {"kind": "ping", "name": "echo", "interval_ns": SECOND // 10, "size": 64, "protocol": "udp", "dscp": 46}
    rate = {"rate": 5_000_000, "burst": 1600, "cburst": 1600, "quantum": 1514}
    fits = ({"traffic": "udp"}, {"traffic": "ping"}, {"dscp": 46})
    root = {
        "kind": "htb",
        "options": {},
        "classes": [
            {"minor": 1, "parent": 0, "options": rate, "child": {"kind": "bfifo", "options": {"limit": 30_000}}},
            {"minor": 2, "parent": 0, "options": rate, "child": {"kind": "pfifo", "options": {"limit": 20}}},
        ],
        "filters": [*({"fits": each, "class": 1} for each in fits), {"fits": "all", "class": 2}],
    }
    given = scenario(qdiscs=[{"host": 0, "link": 0, "root": root}], duration_ns=3 * SECOND)
    tcp, _, ping = given["traffic"]
    given["traffic"] = [tcp | {"dscp": 8}, udp, ping | {"stop_ns": 3 * SECOND}, echo | ends]
    on_kernel, simulated = run(uml, given), Sim().run(of_json(given), Sim().new_progress())

    def sums(result: RunResult) -> dict[str, Any]:
        datagrams = result.tables["udp"].to_arrow().to_pandas()
        queues = result.tables["qdisc"].to_arrow().to_pandas().groupby("kind")["sent_packets"].max()
        flows = result.tables["flows"].to_arrow().to_pandas().groupby("flow")["bytes"].sum()
        answered = result.tables["ping"].to_arrow().to_pandas().groupby("ping")["rtt_ms"].count()
        return {
            "sent": int(datagrams["sent"].sum()), "received": int(datagrams["received"].sum()),
            "udp": int(flows["udp"]), "by the filters": int(queues["bfifo"]), "answered": dict(answered),
        }  # fmt: skip

    assert sums(on_kernel) == sums(simulated)
    assert sums(on_kernel)["sent"] == 1500
    assert on_kernel.tables["udp"].to_arrow().column_names == simulated.tables["udp"].to_arrow().column_names
    delays = [result.tables["udp"].to_arrow().to_pandas()["delay_ms"].median() for result in (on_kernel, simulated)]
    assert delays[0] == pytest.approx(delays[1], abs=0.05)


def test_media_that_adapt_their_rate_send_as_much_as_in_the_simulator(uml: Uml, scenario: Make) -> None:
    """The bottleneck is half of what they begin with: without reports they would go on and lose half."""
    given = scenario(duration_ns=12 * SECOND)
    voice = {
        "kind": "udp", "name": "media", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 12 * SECOND,
        "rate_bps": 20_000_000, "size": 1200, "sndbuf": None, "adapt": {"min_bps": 1_000_000, "max_bps": 20_000_000},
    }  # fmt: skip
    given["traffic"] = [voice]
    rates, losses = [], []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        datagrams = result.tables["udp"].to_arrow().to_pandas()
        late = datagrams[datagrams.t > 5]
        rates.append(float(late.received.sum()) * 1200 * 8 / 7)
        losses.append(1 - late.received.sum() / late.sent.sum())
    assert rates[0] == pytest.approx(rates[1], rel=0.1)
    assert 5e6 < rates[1] < 10e6
    assert max(losses) < 0.1


def test_a_call_beside_a_flow_sounds_as_in_the_simulator(uml: Uml, scenario: Make) -> None:
    """Each datagram arrives with its delay, so loss, delay and MOS of the two backends agree."""
    given = scenario(duration_ns=3 * SECOND)
    tcp, _, ping = given["traffic"]
    voice = {
        "kind": "udp", "rate_bps": 68_800, "size": 172, "sndbuf": None, "start_ns": 0, "stop_ns": 3 * SECOND,
        "media": {"codec": "g711"},
    }  # fmt: skip
    directions = [voice | {"name": "there", "from": 0, "to": 2}, voice | {"name": "back", "from": 2, "to": 0}]
    given["traffic"] = [tcp, *directions, ping]
    stream = Stream("g711", None, 20_000_000, 0, 3 * SECOND)
    found = []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        table = result.tables["datagrams"].to_arrow().to_pandas()
        heard = media.heard(table, {"there": stream, "back": stream}, Window(SECOND, 3 * SECOND))
        assert media.losses(heard) == {"there": 0, "back": 0}
        found.append((media.delays(heard), media.opinions(media.ratings(heard))))
    (delays, opinions), (simulated, expected) = found
    assert opinions == {name: pytest.approx(each, rel=0.03) for name, each in expected.items()}
    # The upload fills the queue on the way there; nothing waits on the way back.
    assert float(np.median(simulated["there"])) > 3 * float(np.median(simulated["back"]))
    for name, each in delays.items():
        assert float(np.median(each)) == pytest.approx(float(np.median(simulated[name])), rel=0.05, abs=0.5)


def test_requests_are_answered_as_fast_as_in_the_simulator(uml: Uml, scenario: Make) -> None:
    """Two connections beside a flow; each request is in the table of both backends with its size."""
    given = scenario(duration_ns=4 * SECOND)
    tcp, _, ping = given["traffic"]
    asking = {
        "kind": "request", "start_ns": 0, "stop_ns": 4 * SECOND, "size": 300, "answers": [20_000, 3_000, 60_000],
        "pauses_ns": [10_000_000, 30_000_000], "cc": tcp["cc"], "tsq": tcp["tsq"], "socket": tcp["socket"],
        "from": 0, "to": 2,
    }  # fmt: skip
    given["traffic"] = [tcp, ping, asking | {"name": "page.1"}, asking | {"name": "page.2"}]
    found = []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        table = result.tables["requests"].to_arrow().to_pandas()
        for _, each in table.groupby("flow"):
            assert list(each["seq"]) == list(range(len(each)))
            assert list(each["bytes"][:4]) == [20_000, 3_000, 60_000, 20_000]
        answered = table[table["t"] >= 0.5]["latency_ms"].dropna()
        found.append([float(np.percentile(answered, share)) for share in (50, 95)])
    assert found[0] == pytest.approx(found[1], rel=0.05, abs=0.5)


@pytest.mark.parametrize(("connections", "multiplexing"), [(6, "one"), (1, "all")])
def test_a_page_loads_as_fast_as_in_the_simulator(
    uml: Uml, scenario: Make, connections: int, multiplexing: str
) -> None:
    """Beside a flow; over six connections, and over one."""
    given = scenario(duration_ns=6 * SECOND)
    tcp, _, ping = given["traffic"]
    objects = [{"bytes": each.bytes // 4, "after": each.after} for each in SHAPES["inner"].objects]
    page = {
        "kind": "page", "size": 300, "objects": objects, "connections": connections, "multiplexing": multiplexing,
        "from": 0, "to": 2, "cc": tcp["cc"], "tsq": tcp["tsq"], "socket": tcp["socket"],
    }  # fmt: skip
    loads = [page | {"name": f"page.{number}", "start_ns": (number + 5) * SECOND // 5} for number in range(20)]
    given["traffic"] = [tcp | {"start_ns": 0, "stop_ns": 6 * SECOND}, ping, *loads]
    found = []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        table = result.tables["objects"].to_arrow().to_pandas()
        assert table["loaded_ms"].notna().all()
        assert list(table["object"]) == list(range(len(objects))) * 20
        times = browsing.load_times(table, Window(0, 6 * SECOND))
        found.append([float(np.percentile(times, share)) for share in (50, 95)])
    assert found[0] == pytest.approx(found[1], rel=0.05, abs=0.0005)


@pytest.mark.parametrize("rule", ["rate", "bola", "hybrid"])
def test_a_video_gets_the_segments_that_it_gets_in_the_simulator(uml: Uml, scenario: Make, rule: str) -> None:
    """Over 10 Mbit/s beside a flow: as many segments, of the same bitrates, as fast."""
    given = scenario(duration_ns=20 * SECOND)
    tcp, _, ping = given["traffic"]
    video = {
        "kind": "video", "name": "video", "from": 2, "to": 0, "start_ns": 0, "stop_ns": 20 * SECOND, "size": 300,
        "ladder_bps": [500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000], "segment_ns": SECOND,
        "buffer_ns": 15 * SECOND, "startup_ns": SECOND, "rule": rule,
        "cc": tcp["cc"], "tsq": tcp["tsq"], "socket": tcp["socket"],
    }  # fmt: skip
    given["traffic"] = [tcp | {"start_ns": 0, "stop_ns": 10 * SECOND}, ping, video]
    found = []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        table = result.tables["video"].to_arrow().to_pandas()
        assert list(table["segment"]) == list(range(len(table)))
        fetched = table["fetch_ms"].dropna()
        assert len(table) - len(fetched) <= 1
        found.append((list(table["bitrate"]), list(table["bytes"]), [float(np.percentile(fetched, 50))]))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], rel=0.05, abs=0.5)


def test_flows_that_arrive_complete_as_fast_as_in_the_simulator(uml: Uml, scenario: Make) -> None:
    """The kernel's sender knows the end of a flow by the receiver's FIN, the simulator by the last acknowledgement."""
    given = scenario(duration_ns=4 * SECOND)
    sizes = [3_000 + 7_919 * number % 60_000 for number in range(60)]
    base = given["traffic"][0] | {"stop_ns": None}
    given["traffic"] = [
        base | {"name": f"short.{number}", "start_ns": number * SECOND // 20, "bytes": size}
        for number, size in enumerate(sizes)
    ]
    given["record"] = given["record"] | {"events": True}
    found = []
    for result in (run(uml, given), Sim().run(of_json(given), Sim().new_progress())):
        events = flow_events({name: table.to_arrow().to_pandas() for name, table in result.tables.items()})
        assert events is not None
        times = completion_times(events, [flow["name"] for flow in given["traffic"]], Window(0, 4 * SECOND))
        assert len(times) == len(sizes)
        found.append([float(np.percentile(list(times.values()), share)) for share in (50, 95)])
    assert found[0] == pytest.approx(found[1], rel=0.05, abs=0.0005)


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(uml: Uml, scenario: Make) -> None:
    def drawn(seed: int) -> dict[str, bytes]:
        # BBR draws the first phase of its gain cycle; CUBIC draws nothing that is visible.
        given = scenario(seed=seed)
        given["qdiscs"][0] |= {"host": 1, "link": 1}
        for entry in given["traffic"][:2]:
            entry["cc"] = {"name": "bbr", "options": {}}
        return bits(run(uml, given))

    first, again, other = drawn(7), drawn(7), drawn(8)
    assert first == again
    assert first != other


def test_runs_side_by_side_give_the_same_as_runs_alone(uml: Uml, scenario: Make, plain: RunResult) -> None:
    found: list[dict[str, bytes]] = []
    threads = [threading.Thread(target=lambda: found.append(bits(run(uml, scenario())))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        joined(thread)
    assert found == [bits(plain)] * 2


def test_a_local_bottleneck_is_as_in_the_kernel_campaign(uml: Uml) -> None:
    name = "cubic-L10M-pfifo-std-n4"
    experiment = Experiment("wired_hzburst", name, 1, "cubic", "L10M", "pfifo", "std", 4, 30, 200, 0, ())
    with GOLDEN.open() as file:
        golden = next(row for row in csv.DictReader(file) if (row["family"], row["name"]) == (experiment.family, name))
    result = run(uml, twin(experiment))
    goodput = sum(rows(result.tables["flows"], 10.05, 35.05)["bytes"]) * 8e-6 / 25
    assert goodput == pytest.approx(float(golden["goodput_mbps"]), rel=0.005)
    ping = median(rows(result.tables["ping"], 10, 35)["rtt_ms"])
    assert ping == pytest.approx(float(golden["ping_p50"]), rel=0.05)
    rtt = median(rows(result.tables["tcp_info"], 10, 35)["rtt"]) / 1000
    assert rtt == pytest.approx(float(golden["rtt_p50"]), rel=0.1)


def test_tsq_off_lets_the_local_queue_grow(uml: Uml, scenario: Make, plain: RunResult) -> None:
    off = scenario()
    for entry in off["traffic"][:2]:
        entry["tsq"] = {"kind": "off"}
    pings = [median(rows(each.tables["ping"], 2, 3)["rtt_ms"]) for each in (plain, run(uml, off))]
    assert pings[1] > 3 * pings[0]


@pytest.mark.parametrize("tsq", [{"kind": "bytes", "bytes": 65_536}, {"kind": "packets", "packets": 20}])
def test_a_cap_of_bytes_or_packets_bounds_the_memory_below_tcp(uml: Uml, scenario: Make, tsq: dict[str, Any]) -> None:
    capped = scenario()
    for entry in capped["traffic"][:2]:
        entry["tsq"] = tsq
    held = rows(run(uml, capped).tables["tcp_info"], 2, 3)["wmem_alloc"]
    # The limit is checked before a segment is added.
    assert 20_000 < max(held) < 65_536 + 2 * 2_560


@pytest.mark.parametrize(("offloads", "at_least"), [("off", 1), ("gso", 4), ("on", 4)])
def test_with_offloads_skbs_of_several_segments_wait_below_tcp(
    uml: Uml, scenario: Make, offloads: str, at_least: int
) -> None:
    plain = scenario()
    hosts = [{**host, "offloads": offloads} for host in plain["hosts"]]
    shaped = {**plain["qdiscs"][0]["root"], "options": {"rate": 200_000_000, "burst": 3000, "cburst": 3000}}
    result = run(uml, {**plain, "hosts": hosts, "qdiscs": [{"host": 0, "link": 0, "root": shaped}]})
    queue = result.tables["qdisc"].to_arrow().to_pandas()
    waiting = queue[(queue.kind == "pfifo") & (queue.backlog_packets > 1) & (queue.t > 1)]
    assert (waiting.backlog_bytes / waiting.backlog_packets / 1514).median() >= 0.9 * at_least
    arrived = result.tables["flows"].to_arrow().to_pandas().bytes.sum() * 8 / 2e6
    assert arrived == pytest.approx(191, rel=0.06)


def test_a_link_has_its_delay_and_its_rate(uml: Uml, scenario: Make) -> None:
    plain = {"mtu": 1500, "ring": 256, "bql": True, "rate_bps": 10_000_000}
    links = [{"ends": [0, 1], "delay_ns": [5_000_000, 2_000_000], **plain}]
    links += [{"ends": [1, 2], "delay_ns": [0, 0], **plain}]
    found = run(uml, scenario(links=links, qdiscs=[]))
    idle = rows(found.tables["ping"], 0, 0.9)["rtt_ms"]
    # 7 ms, and four times 98 B at 10 Mbit/s.
    assert idle == pytest.approx([7.0 + 4 * 98 * 8 / 10_000] * len(idle), rel=0.02)
    busy = rows(found.tables["flows"], 1.6, 3.0)
    assert sum(busy["bytes"]) * 8 / 1.4 == pytest.approx(10e6 * 1448 / 1514, rel=0.02)


def test_a_link_changes_by_its_schedule(uml: Uml, scenario: Make) -> None:
    plain = {"mtu": 1500, "ring": 256, "bql": True, "delay_ns": [5_000_000, 5_000_000]}
    schedule = [
        {"at_ns": 500_000_000, "end": 0, "delay_ns": 20_000_000},
        {"at_ns": 2_000_000_000, "end": 0, "rate_bps": 5_000_000},
        {"at_ns": 3_100_000_000, "end": 1, "up": False},
    ]
    links = [{"ends": [0, 1], "rate_bps": None, **plain, "schedule": schedule[:1]}]
    links += [{"ends": [1, 2], "rate_bps": [10_000_000, None], **plain, "schedule": schedule[1:]}]
    found = run(uml, scenario(links=links, qdiscs=[]))
    assert rows(found.tables["ping"], 0, 0.45)["rtt_ms"] == pytest.approx([20.0] * 3, abs=0.5)
    assert rows(found.tables["ping"], 0.55, 0.9)["rtt_ms"] == pytest.approx([35.0] * 2, abs=0.5)
    fast, slow = (sum(rows(found.tables["flows"], *when)["bytes"]) * 8 for when in ((1.4, 2.0), (2.3, 3.0)))
    assert fast / 0.6 == pytest.approx(10e6 * 1448 / 1514, rel=0.05)
    assert slow / 0.7 == pytest.approx(5e6 * 1448 / 1514, rel=0.05)
    lost = rows(found.tables["ping"], 3.15, 4.0)["rtt_ms"]
    assert len(lost) == 4 and all(math.isnan(each) for each in lost)


def test_an_ordinary_user_without_any_capability_gets_the_same_bytes(
    uml: Uml, scenario: Make, plain: RunResult
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this machine runs all tests as an ordinary user already")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as shared:
        machine = instance.Machine(Path(shared) / "linux", Path(shared) / "agent")
        shutil.copy2(uml.machine.kernel, machine.kernel)
        shutil.copy2(uml.machine.agent, machine.agent)
        Path(shared).chmod(0o755)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _as_nobody(machine, scenario(), write)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        os.waitpid(child, 0)
    assert said == b"".join(bits(plain).values())


def _as_nobody(machine: instance.Machine, scenario: dict[str, Any], answer: int) -> None:
    """In a child process: writes the tables or the error, and exits."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        tempfile.tempdir = "/var/tmp"
        order = instance.Order(json.dumps(job_of(of_json(scenario))), scenario["seed"], scenario["duration_ns"])
        with instance.finished(machine, order, process.Progress()) as (folder, _):
            said = b"".join(bits(RunResult(tables.recorded(tables.read_tables(folder)), {})).values())
    except BaseException as error:
        said = repr(error).encode()
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(said)
    os._exit(0)


def test_a_step_that_the_guest_cannot_do_is_reported(uml: Uml, scenario: Make, room: Path) -> None:
    refused = scenario()
    refused["hosts"][0]["sysctl"] = {"net.ipv4.tcp_no_such_thing": 1}
    with pytest.raises(RunFailed, match=r"in the guest: writing .1. to /proc/sys/net/ipv4/tcp_no_such_thing of h0"):
        run(uml, refused)
    assert list(room.iterdir()) == []


def test_a_kernel_that_panics_is_an_error_with_its_words(
    uml: Uml, scenario: Make, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_init(monkeypatch, "exit 3\n")
    with pytest.raises(RunFailed, match=r"the kernel panicked: .*Attempted to kill init"):
        run(uml, scenario())
    until(lambda: left_running(room) == [])


def test_virtual_time_that_does_not_advance_is_an_error(
    uml: Uml, scenario: Make, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_init(monkeypatch, "while :; do :; done\n")
    stuck = Uml(uml.kernel, replace(uml.machine, stall_s=1.0), chosen=False)
    with pytest.raises(RunFailed, match="virtual time has not moved for 1 s"):
        run(stuck, scenario())
    until(lambda: left_running(room) == [])


def endless(make: Make) -> dict[str, Any]:
    """A run that takes minutes of a processor: a thousand seconds in which little happens take one."""
    given = make(duration_ns=4000 * SECOND)
    return given | {"traffic": [flow(1, stop_ns=4000 * SECOND), flow(2, stop_ns=4000 * SECOND), given["traffic"][2]]}


@pytest.fixture
def under_way(uml: Uml, scenario: Make) -> Iterator[UnderWay]:
    """An endless run in a thread, which has made some progress."""
    progress = process.Progress()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            uml.run(of_json(endless(scenario)), progress)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: progress.fraction > 0, while_=thread.is_alive)
    yield thread, progress, raised
    progress.cancel()
    joined(thread)


def test_a_run_is_cancelled(under_way: UnderWay, room: Path) -> None:
    thread, progress, raised = under_way
    progress.cancel()
    joined(thread)
    assert [type(error) for error in raised] == [RunCancelled]
    until(lambda: left_running(room) == [])
    assert list(room.iterdir()) == []


def test_a_killed_instance_is_an_error(under_way: UnderWay, room: Path) -> None:
    thread, _, raised = under_way
    os.kill(kernel_in(room), signal.SIGKILL)
    joined(thread)
    assert "the kernel was killed by SIGKILL" in str(raised)
    until(lambda: left_running(room) == [])


def test_a_killed_agent_is_an_error(under_way: UnderWay, room: Path) -> None:
    thread, _, raised = under_way
    # A process of the guest is a process of the host, traced by the kernel; the agent is process 1 of the guest.
    os.kill(agent_in(room), signal.SIGKILL)
    joined(thread)
    assert "the kernel panicked: Kernel panic - not syncing: Attempted to kill init!" in str(raised)
    until(lambda: left_running(room) == [])


def test_a_killed_instance_fails_only_its_own_run(uml: Uml, scenario: Make, room: Path, tmp_path: Path) -> None:
    short = structs.replace(planned({"run": "short"}, of_json(scenario())), window_ns=(1_000_000_000, 3_000_000_000))
    lasting = planned({"run": "endless"}, of_json(endless(scenario) | {"title": "endless"}))
    out = tmp_path / "out"

    def kill_the_endless() -> None:
        until(lambda: (out / "runs" / short.name / "manifest.json").exists() and len(left_running(room)) >= 2)
        os.kill(kernel_in(room), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_endless)
    killer.start()
    with claim(out, experiment([lasting, short])) as store:
        outcomes = run_all(Sweep(store, uml, 2), Nobody())
    joined(killer)
    assert [outcome.status for outcome in outcomes] == ["failed", "ok"]
    assert "the kernel was killed by SIGKILL" in str(outcomes[0].error)
    until(lambda: left_running(room) == [])
    with claim(out, experiment([short])) as store:
        assert [outcome.reused for outcome in run_all(Sweep(store, uml, 1), Nobody())] == [True]


def test_a_killed_controller_leaves_nothing_running(uml: Uml, scenario: Make, room: Path) -> None:
    script = (
        "import json, sys, tempfile; from pathlib import Path; from tailback.backends.uml import instance\n"
        "from tailback.backends.linux import process\n"
        "from tailback.backends.uml.settings import job_of; from tailback.resolved import of_json\n"
        "scenario = json.load(sys.stdin); machine = instance.Machine(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "order = instance.Order(json.dumps(job_of(of_json(scenario))), 1, scenario['duration_ns'])\n"
        "with instance.finished(machine, order, process.Progress()): pass\n"
    )
    command = [sys.executable, "-c", script, str(uml.machine.kernel), str(uml.machine.agent)]
    environment = {**os.environ, "TMPDIR": str(room), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as controller:
        assert controller.stdin is not None
        controller.stdin.write(json.dumps(endless(scenario)).encode())
        controller.stdin.close()
        until(lambda: list(room.glob("*/progress")), while_=alive(controller))
        assert left_running(room) != []
        controller.kill()
    until(lambda: left_running(room) == [])


def test_a_folder_that_cannot_be_written_is_named(uml: Uml, scenario: Make, room: Path) -> None:
    tempfile.tempdir = str(room / "gone")
    with pytest.raises(RunFailed, match=r"point TMPDIR to a folder other than .*gone"):
        run(uml, scenario())


def test_a_full_disk_is_named(uml: Uml, scenario: Make, room: Path) -> None:
    # Beside the agent there is room for the tables of some minutes.
    size = uml.machine.agent.stat().st_size + 150_000
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", room], check=False).returncode
    ):
        # Filling a disk safely needs the right to mount; the agent's message is tested wherever that is allowed.
        return
    try:
        with pytest.raises(RunFailed, match=r"[Nn]o space left|ENOSPC"):
            run(uml, scenario(duration_ns=1_000_000_000_000, traffic=scenario()["traffic"][2:]))
    finally:
        subprocess.run(["umount", room], check=True)
