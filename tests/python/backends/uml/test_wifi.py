"""Wi-Fi on a real kernel: mac80211 above the simulator's air."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from backends.conftest import SECOND, flow, kernel_in, left_running, link
from tailback.algorithms import CoreRegistry
from tailback.backends import RunFailed, RunResult
from tailback.backends.sim import Sim
from tailback.backends.uml import Uml, air, instance
from tailback.backends.uml.lookout import Lookout
from tailback.kernel import WIFI, KernelMissing, Recipe, build, package
from tailback.resolved import of_json
from waiting import alive, joined, until

Make = Callable[..., dict[str, Any]]
HT = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}
ECHOES = {
    "kind": "ping", "name": "ping", "from": 2, "to": 0, "start_ns": 0, "stop_ns": SECOND,
    "interval_ns": SECOND // 50, "size": 64,
}  # fmt: skip
"""Fifty pings in a second, of the server to the client."""
NOT_HERE = {"ath9k": "of all other tests", "ath9k_htc": "it has a qdisc, which no driver of Linux 6.12 has"}
"""Drivers that the test of all drivers leaves out, and why."""


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def uml() -> Uml:
    if os.environ.get("CI") == "true":
        build(Recipe(package("6.12"), WIFI, (WIFI,)), print)
    try:
        return Uml.named(WIFI)
    except KernelMissing:
        pytest.skip("needs a kernel with radios: tailback kernel build --with wifi")


def udp(rate_bps: int) -> dict[str, Any]:
    return {
        "kind": "udp", "name": "udp", "from": 0, "to": 1, "start_ns": 0, "stop_ns": SECOND, "rate_bps": rate_bps,
        "size": 1472, "sndbuf": 4_000_000,
    }  # fmt: skip


def cell(*modes: dict[str, Any], driver: str = "ath9k", **options: int) -> dict[str, Any]:
    """The client, a station of the router at 300 Mbit/s, and more stations, which are the hosts from 3 on."""
    profile = {"name": driver, "options": options}
    stations = [
        {"host": host, "mode": mode, "rate": "fixed", "loss_ppm": 0, "driver": profile}
        for host, mode in zip([0, *range(3, 3 + len(modes))], [HT, *modes], strict=True)
    ]
    return {
        "access_point": 1, "stations": stations, "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": profile,
    }  # fmt: skip


def with_cell(make: Make, traffic: list[dict[str, Any]], **options: int) -> dict[str, Any]:
    """The client has a radio, the server a wire to the router."""
    wires = {"links": [link(1, 2, rate_bps=1_000_000_000)], "cells": [cell(driver="ath9k", **options)], "qdiscs": []}
    return make(**wires, traffic=traffic, duration_ns=SECOND)


def several(make: Make, traffic: list[dict[str, Any]], *modes: dict[str, Any], driver: str = "ath9k") -> dict[str, Any]:
    """As above, with more stations."""
    names = ["client", "router", "server", *(f"station{number}" for number in range(len(modes)))]
    hosts = [{"name": name, "stack": "linux-6.12", "sysctl": {}} for name in names]
    return with_cell(make, traffic) | {"hosts": hosts, "cells": [cell(*modes, driver=driver)]}


def lasting(given: dict[str, Any], duration_ns: int) -> dict[str, Any]:
    """The same, until then."""
    return given | {
        "duration_ns": duration_ns,
        "traffic": [each | {"stop_ns": duration_ns} for each in given["traffic"]],
    }


def between(source: int, target: int, rate_bps: int) -> dict[str, Any]:
    return udp(rate_bps) | {"name": f"udp{source}to{target}", "from": source, "to": target}


def ppdus(result: RunResult) -> pd.DataFrame:
    table: pd.DataFrame = result.tables["wifi"].to_arrow().to_pandas()
    return table[table.t > 0.1].astype({"from": str, "to": str})


def run(uml: Uml, scenario: dict[str, Any]) -> RunResult:
    return uml.run(of_json(scenario), uml.new_progress())


def simulated(scenario: dict[str, Any]) -> RunResult:
    return Sim().run(of_json(scenario), Sim().new_progress())


def received_mbit(result: RunResult) -> float:
    counted = result.tables["udp"].to_arrow().to_pandas()
    return float(counted[counted.t > 0.5].received.mean() * 10 * 1472 * 8 / 1e6)


@pytest.mark.parametrize(("options", "rate_mbit", "expected"), [({}, 400, 248.2), ({"subframes": 1}, 100, 49.4)])
def test_udp_saturates_a_radio_as_in_the_simulator(
    options: dict[str, int], rate_mbit: int, expected: float, uml: Uml, scenario: Make
) -> None:
    given = with_cell(scenario, [udp(rate_mbit * 1_000_000)], **options)
    result = run(uml, given)
    assert received_mbit(result) == pytest.approx(expected, rel=0.01)
    assert received_mbit(result) == pytest.approx(received_mbit(simulated(given)), rel=0.01)
    ppdus = result.tables["wifi"].to_arrow().to_pandas()
    assert ppdus[ppdus.t > 0.5].mpdus.mode()[0] == options.get("subframes", 32)


def test_a_fade_is_that_of_the_simulator(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [udp(50_000_000)])
    (station,) = given["cells"][0]["stations"]
    fade = [{"at_ns": 4 * SECOND // 10, "snr_cdb": -2000}, {"at_ns": 7 * SECOND // 10, "snr_cdb": 4000}]
    station |= {"snr_cdb": 4000, "schedule": fade}
    for result in (run(uml, given), simulated(given)):
        air = result.tables["wifi"].to_arrow().to_pandas()
        faded = air[(air.t > 0.4) & (air.t < 0.7)]
        assert faded.received.sum() == 0 and len(faded) > 5
        before, after = (air[(air.t > start) & (air.t < start + 0.3)].received.sum() for start in (0.1, 0.7))
        assert min(before, after) > 900, (before, after)


def test_a_file_that_names_its_kernel_runs(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [udp(1_000_000)]) | {"kernel": uml.kernel.manifest.name, "duration_ns": SECOND // 10}
    given["traffic"][0]["stop_ns"] = SECOND // 10
    assert run(uml, given).tables["wifi"].to_arrow().num_rows > 0


def test_the_same_seed_gives_the_same_tables(uml: Uml, scenario: Make) -> None:
    given = lasting(with_cell(scenario, [flow(1, start_ns=0)]), SECOND // 2)
    first, second = run(uml, given), run(uml, given)
    assert first.tables["wifi"].to_arrow().num_rows > 100
    assert all(table.stream == second.tables[name].stream for name, table in first.tables.items())


def test_an_upload_goes_through_the_radio_and_the_wire(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [flow(1, start_ns=0, stop_ns=2 * SECOND)]) | {"duration_ns": 2 * SECOND}
    result = run(uml, given)
    received = [sum(each.tables["flows"].to_arrow()["bytes"].to_pylist()) for each in (result, simulated(given))]
    # The slow start of two seconds differs most.
    assert received[0] == pytest.approx(received[1], rel=0.15)
    assert set(result.tables["wifi"].to_arrow()["from"].to_pylist()) == {"client", "router"}


@pytest.mark.parametrize(("count", "expected"), [(2, 0.11), (5, 0.26)])
def test_saturated_stations_collide_as_often_as_in_the_simulator(
    count: int, expected: float, uml: Uml, scenario: Make
) -> None:
    uploads = [between(host, 1, 300_000_000 // count) for host in [0, *range(3, 2 + count)]]
    given = several(scenario, uploads, *[HT] * (count - 1))
    shares = [(ppdus(each).colliders > 0).mean() for each in (run(uml, given), simulated(given))]
    # Of some 700 accesses of the medium.
    assert shares == [pytest.approx(expected, abs=0.035)] * 2


def test_a_slow_station_gets_as_much_air_as_a_fast_one(uml: Uml, scenario: Make) -> None:
    slow = {"format": "ht", "width": 20, "streams": 1, "mcs": 0, "guard_ns": 800}
    downloads = [between(2, 0, 250_000_000), between(2, 3, 50_000_000)]
    air_of = ppdus(run(uml, several(scenario, downloads, slow))).groupby("to").duration_us.sum()
    assert air_of["station0"] / air_of.sum() == pytest.approx(0.5, abs=0.05)


def test_a_ping_does_not_wait_behind_the_flow_that_fills_the_queue_of_its_station(uml: Uml, scenario: Make) -> None:
    given = several(scenario, [between(2, 0, 400_000_000), ECHOES])
    medians = [
        result.tables["ping"].to_arrow().to_pandas().rtt_ms.median() for result in (run(uml, given), simulated(given))
    ]
    # Two aggregates are before it, and one may be on the air; the queue itself holds a tenth of a second.
    assert medians[0] < 6
    assert medians[0] == pytest.approx(medians[1], abs=0.5)


@pytest.mark.parametrize(("standard", "memory"), [("ht", 4 << 20), ("vht", 16 << 20)])
def test_mac80211_gives_more_memory_to_the_queues_of_a_radio_of_802_11ac(
    standard: str, memory: int, uml: Uml, scenario: Make
) -> None:
    given = several(scenario, [between(2, 0, 100_000_000)], driver="generic")
    slow = {"format": standard, "width": 20, "streams": 1, "mcs": 0, "guard_ns": 800}
    given["cells"][0]["stations"][0]["mode"] = slow
    result = run(uml, given)
    sent = 100e6 / 8 / 1472
    on_air = result.tables["wifi"].to_arrow().to_pandas().received.sum()
    held = sent - on_air - sum(dropped(result, "router").values())
    # Linux copies each datagram into a buffer of 4 KiB, which has room for the header of 802.11.
    assert held == pytest.approx(memory / 4352, rel=0.05)


def test_a_segment_that_came_over_a_wire_takes_as_much_of_that_memory_as_in_the_simulator(
    uml: Uml, scenario: Make
) -> None:
    given = several(scenario, [downloading(number, 0) for number in range(10)])
    given["record"] = {**given["record"], "events": True}
    # The flows have up to 1380 segments, of which 4 MiB hold 1740; if each came in two pieces, they would hold 720.
    for each in given["traffic"]:
        each["socket"]["sndbuf"] = 325_000
    for each in (run(uml, given), simulated(given)):
        assert "overlimit" not in dropped(each, "router")
        assert each.tables["tcp_info"].to_arrow().to_pandas().groupby("t").unacked.sum().max() > 800


def downloading(number: int, station: int) -> dict[str, Any]:
    """A TCP flow of the server to a host for the whole run."""
    return flow(number, start_ns=0, stop_ns=SECOND) | {"from": 2, "to": station}


@pytest.mark.parametrize("driver", [row.name for row in CoreRegistry().drivers if row.name not in NOT_HERE])
def test_every_driver_carries_what_it_does_in_the_simulator(driver: str, uml: Uml, scenario: Make) -> None:
    given = several(scenario, [between(0, 1, 300_000_000)], driver=driver)
    expected, result = simulated(given), run(uml, given)
    assert received_mbit(result) == pytest.approx(received_mbit(expected), rel=0.02)
    assert ppdus(result).mpdus.mean() == pytest.approx(ppdus(expected).mpdus.mean(), rel=0.03)


def of(standard: str, mcs: int, guard_ns: int) -> dict[str, Any]:
    """Two streams in 80 MHz."""
    return {"format": standard, "width": 80, "streams": 2, "mcs": mcs, "guard_ns": guard_ns}


@pytest.mark.parametrize("driver", ["generic", "ath10k", "mt76"])
@pytest.mark.parametrize("mode", [of("vht", 9, 400), of("he", 11, 800)], ids=["802.11ac", "802.11ax"])
def test_later_standards_carry_what_they_do_in_the_simulator(
    mode: dict[str, Any], driver: str, uml: Uml, scenario: Make
) -> None:
    given = several(scenario, [between(0, 1, 900_000_000)], driver=driver)
    given["cells"][0]["stations"][0]["mode"] = mode
    given = lasting(given, SECOND // 3)
    expected, result = simulated(given), run(uml, given)
    totals = [sum(each.tables["udp"].to_arrow()["received"].to_pylist()) for each in (result, expected)]
    assert totals[0] == pytest.approx(totals[1], rel=0.03)
    assert ppdus(result).mpdus.mean() == pytest.approx(ppdus(expected).mpdus.mean(), rel=0.05)


def test_airtime_queue_limits_count_the_rates_of_later_standards(uml: Uml, scenario: Make) -> None:
    given = several(scenario, [between(2, 0, 300_000_000), ECHOES], driver="mt76")
    # 17 Mbit/s: 2048 frames of firmware would be 1.4 s.
    given["cells"][0]["stations"][0]["mode"] = {"format": "he", "width": 20, "streams": 1, "mcs": 1, "guard_ns": 800}
    medians = [
        each.tables["ping"].to_arrow().to_pandas().rtt_ms.median() for each in (run(uml, given), simulated(given))
    ]
    assert medians[0] == pytest.approx(medians[1], rel=0.25)
    assert medians[0] < 60


def test_airtime_queue_limits_bound_what_waits_in_firmware(uml: Uml, scenario: Make) -> None:
    given = several(scenario, [between(2, 0, 300_000_000), ECHOES], driver="ath10k")
    # 12 ms of airtime; 1424 frames would be 70 ms.
    for each in (run(uml, given), simulated(given)):
        assert each.tables["ping"].to_arrow().to_pandas().rtt_ms.median() == pytest.approx(16, abs=5)


def noisy(make: Make, snr_cdb: int, driver: str = "ath9k", **station: Any) -> dict[str, Any]:
    """The client sends all it can; rate control chooses its modes."""
    given = several(make, [between(0, 1, 300_000_000)], driver=driver)
    given["cells"][0]["stations"][0].update({"rate": "minstrel", "snr_cdb": snr_cdb} | station)
    return given


def bit_rates(result: RunResult) -> "pd.Series[float]":
    """In Mbit/s, of the PPDUs with many MPDUs of the client in the second half, without their preamble of 40 µs."""
    table = result.tables["wifi"].to_arrow().to_pandas().astype({"from": str})
    long = table[(table["from"] == "client") & (table.t > 0.5) & (table.mpdus > 1)]
    rates: pd.Series[float] = long.psdu_bytes * 8 / (long.duration_us - 40)
    return rates


@pytest.mark.parametrize(("snr_cdb", "expected_mbit"), [(1200, 90), (1800, 120), (4000, 300)])
def test_minstrel_of_mac80211_finds_the_mode_for_the_signal_as_the_simulators_does(
    snr_cdb: int, expected_mbit: float, uml: Uml, scenario: Make
) -> None:
    given = noisy(scenario, snr_cdb)
    expected, result = simulated(given), run(uml, given)
    medians = [bit_rates(each).median() for each in (result, expected)]
    assert medians == [pytest.approx(expected_mbit, rel=0.05)] * 2
    assert received_mbit(result) == pytest.approx(received_mbit(expected), rel=0.1)


def test_minstrel_of_mac80211_has_the_modes_of_802_11ac(uml: Uml, scenario: Make) -> None:
    given = noisy(scenario, 4500, mode=of("vht", 9, 400))
    medians = [bit_rates(each).median() for each in (run(uml, given), simulated(given))]
    assert medians[0] > 800
    assert medians[0] == pytest.approx(medians[1], rel=0.02)


def test_rate_control_of_mac80211_loses_no_frames_of_one_station_to_another(uml: Uml, scenario: Make) -> None:
    downloads = [downloading(number, station) | {"stop_ns": 8 * SECOND} for number, station in enumerate((0, 3))]
    given = several(scenario, downloads, HT) | {"duration_ns": 8 * SECOND}
    for station, snr_cdb in zip(given["cells"][0]["stations"], (3500, 1500), strict=True):
        station.update(rate="minstrel", snr_cdb=snr_cdb)
    result = run(uml, given)
    retransmits = result.tables["tcp_info"].to_arrow().to_pandas().groupby("flow").total_retrans.max().sum()
    # Frames that were asked for one station were sent to the other, a dozen at once.
    assert retransmits < sum(dropped(result, "router").values()) + 10


def test_minstrel_of_mac80211_chooses_within_the_streams_and_the_guard_interval_of_a_station(
    uml: Uml, scenario: Make
) -> None:
    mode = {"format": "ht", "width": 20, "streams": 1, "mcs": 7, "guard_ns": 800}
    rates = bit_rates(run(uml, noisy(scenario, 4000, mode=mode)))
    assert rates.max() == pytest.approx(65, rel=0.03)


def test_rate_control_of_mac80211_repeats_with_its_seed(uml: Uml, scenario: Make) -> None:
    given = lasting(noisy(scenario, 1800), SECOND // 2)
    first, second = run(uml, given), run(uml, given)
    assert all(table.stream == second.tables[name].stream for name, table in first.tables.items())
    other = run(uml, given | {"seed": given["seed"] + 1})
    assert not other.tables["wifi"].to_arrow().equals(first.tables["wifi"].to_arrow())


def test_a_station_with_rate_control_leaves_the_mode_of_another_alone(uml: Uml, scenario: Make) -> None:
    downloads = [between(2, 0, 100_000_000), between(2, 3, 100_000_000)]
    given = several(scenario, downloads, HT)
    given["cells"][0]["stations"][0].update(rate="minstrel", snr_cdb=1800)
    table = ppdus(run(uml, given))
    rate = table.psdu_bytes * 8 / (table.duration_us - 40)
    assert (rate[(table.to == "station0") & (table.mpdus > 4)] > 280).all()
    assert (rate[table.to == "client"] < 200).mean() > 0.9


@pytest.mark.parametrize("mode", [HT, {"format": "he", "width": 80, "streams": 2, "mcs": 11, "guard_ns": 800}])
def test_firmware_chooses_modes_in_the_air(mode: dict[str, Any], uml: Uml, scenario: Make) -> None:
    # Firmware learns for longer than mac80211.
    given = lasting(noisy(scenario, 1800, driver="ath10k", mode=mode), 2 * SECOND)
    assert received_mbit(run(uml, given)) == pytest.approx(received_mbit(simulated(given)), rel=0.1)


def test_received_frames_leave_as_large_a_receive_window_as_over_wires(uml: Uml, scenario: Make) -> None:
    download = flow(1, start_ns=0, stop_ns=2 * SECOND) | {"from": 2, "to": 0}
    given = with_cell(scenario, [download]) | {"duration_ns": 2 * SECOND}
    windows = [
        each.tables["tcp_info"].to_arrow()["snd_wnd"].to_pylist()[-3] for each in (run(uml, given), simulated(given))
    ]
    # mac80211 enlarges the head of a forwarded skb, which then counts for more.
    assert windows[0] == pytest.approx(windows[1], rel=0.2)


def endless(make: Make) -> dict[str, Any]:
    """A run that takes minutes of a processor, and a second or two until it tells its progress."""
    return with_cell(make, [flow(1, start_ns=0, stop_ns=200 * SECOND)]) | {"duration_ns": 200 * SECOND}


@pytest.fixture
def under_way(uml: Uml, scenario: Make, room: Path) -> Iterator[tuple[threading.Thread, list[BaseException]]]:
    """An endless run in a thread, which has begun."""
    given = endless(scenario)
    raised: list[BaseException] = []

    def record() -> None:
        try:
            run(uml, given)
        except RunFailed as error:
            raised.append(error)

    thread = threading.Thread(target=record)
    thread.start()
    until(lambda: list(room.glob("*/progress")), while_=thread.is_alive)
    yield thread, raised
    joined(thread)
    until(lambda: left_running(room) == [])


def air_in(room: Path) -> int:
    """The process with the air."""
    commands = {int(entry): (Path("/proc") / entry / "cmdline").read_bytes() for entry in left_running(room)}
    [found] = [number for number, command in commands.items() if b"air_process.py" in command]
    return found


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        pytest.param(air_in, "the process with the air of the cells ended", id="air"),
        pytest.param(kernel_in, "the kernel was killed by SIGKILL", id="guest"),
    ],
)
def test_an_air_or_a_guest_that_is_killed_ends_the_run_with_its_reason(
    under_way: tuple[threading.Thread, list[BaseException]], room: Path, place: Callable[[Path], int], reason: str
) -> None:
    thread, raised = under_way
    os.kill(place(room), signal.SIGKILL)
    joined(thread)
    assert reason in str(raised)


def test_a_controller_that_is_killed_leaves_neither_guest_nor_air(uml: Uml, scenario: Make, room: Path) -> None:
    given = endless(scenario)
    script = (
        "import json, sys; from tailback.backends.uml import Uml; from tailback.resolved import of_json\n"
        "uml = Uml.named(sys.argv[1]); uml.run(of_json(json.load(sys.stdin)), uml.new_progress())\n"
    )
    environment = {**os.environ, "TMPDIR": str(room), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, uml.kernel.manifest.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as controller:
        assert controller.stdin is not None
        controller.stdin.write(json.dumps(given).encode())
        controller.stdin.close()
        until(lambda: list(room.glob("*/progress")), while_=alive(controller))
        assert left_running(room) != []
        controller.kill()
    until(lambda: left_running(room) == [])


OF_ITS_OWN = """
import socket, struct
listener = socket.socket(socket.AF_UNIX); listener.bind("air"); listener.listen()
driver, _ = listener.accept()
# kind, radio, peer, category, token, bytes, number
said = [struct.pack("=HHHHIIQ", *message) for message in {messages}]
calls = 0
while driver.recv(24):
    calls += 1
    driver.sendall(said[calls - 1] if calls <= len(said) else struct.pack("=HHHHIIQ", 24, 0, 0, 0, 0, 0, 2**64 - 1))
"""
"""An air that answers the first calls with these messages, and the others with `done`."""

DONE = (24, 0, 0, 0, 0, 0, 2**64 - 1)


def runs_instead(room: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """This is the process with the air."""
    (room / "air_process.py").write_text(text)
    monkeypatch.setattr(air, "PROGRAM", room / "air_process.py")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ((21, 1, 0, 0, 77, 1, 0), "the air speaks of a frame 77 that it does not have"),
        ((22, 9, 0, 0, 77, 0, 0), "the air speaks of radio 9, peer 0, category 0"),
        ((25, 1, 0, 2, 77, 0, 0), "the air speaks of a frame 77 that it does not have"),
        ((99, 0, 0, 0, 0, 0, 0), "the air says something unknown (99)"),
    ],
)
def test_an_air_that_breaks_the_protocol_ends_the_run_with_what_it_said(
    said: tuple[int, ...], reason: str, uml: Uml, scenario: Make, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_instead(room, monkeypatch, OF_ITS_OWN.format(messages=[DONE, said]))
    with pytest.raises(RunFailed, match=re.escape(reason)):
        run(uml, with_cell(scenario, [flow(1, start_ns=0, stop_ns=SECOND)]))
    until(lambda: left_running(room) == [])


LISTENS = """
import pathlib, socket, struct
from waiting import until
listener = socket.socket(socket.AF_UNIX); listener.bind("air"); listener.listen()
driver, _ = listener.accept()
"""
GIVES_UP = """
driver.close()
until(pathlib.Path("judged").exists)
raise SystemExit("the air gave up")
"""
"""An air that closes its socket, and ends after the guest has been waited for."""

BREAKS_AND_FAILS = """
driver.recv(24)
driver.sendall(struct.pack("=HHHHIIQ", 99, 0, 0, 0, 0, 0, 0))
until(lambda: b"Kernel panic" in pathlib.Path("console").read_bytes())
raise SystemExit("its driver is gone")
"""
"""An air that says something unknown, and fails because the kernel ended then."""


def before_judging(monkeypatch: pytest.MonkeyPatch, do: Callable[[Path], object]) -> None:
    """Calls `do` with the folder of the run when the guest has ended, and before anybody has said why."""
    judge = instance._judge

    def judge_later(folder: Path, status: int, lookout: Lookout) -> None:
        do(folder)
        judge(folder, status, lookout)

    monkeypatch.setattr(instance, "_judge", judge_later)


def test_an_air_that_fails_is_the_cause_though_it_ends_after_the_kernel(
    uml: Uml, scenario: Make, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_instead(room, monkeypatch, LISTENS + GIVES_UP)
    before_judging(monkeypatch, lambda folder: (folder / "judged").touch())
    with pytest.raises(RunFailed, match="the process with the air of the cells ended: the air gave up"):
        run(uml, with_cell(scenario, [flow(1, start_ns=0, stop_ns=SECOND)]))
    until(lambda: left_running(room) == [])


def test_an_air_that_fails_because_the_kernel_ended_is_not_the_cause(
    uml: Uml, scenario: Make, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_instead(room, monkeypatch, LISTENS + BREAKS_AND_FAILS)
    before_judging(monkeypatch, lambda _folder: until(lambda: left_running(room) == []))
    with pytest.raises(RunFailed, match=re.escape("the air says something unknown (99)")):
        run(uml, with_cell(scenario, [flow(1, start_ns=0, stop_ns=SECOND)]))


def test_what_mac80211_and_the_air_drop_is_counted_by_reason(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [udp(400_000_000)], retries=2)
    given["cells"][0]["stations"][0]["loss_ppm"] = 200_000
    given["record"] = {**given["record"], "events": True}
    counted = [dropped(run(uml, given)), dropped(simulated(given))]
    assert set(counted[0]) == set(counted[1]) >= {"retry_limit"}
    # Of some 15,000 frames and more packets.
    assert counted[0] == pytest.approx(counted[1], rel=0.15)


def dropped(result: RunResult, host: str = "client") -> dict[str, int]:
    """Packets dropped at the radio of a host, by reason."""
    if "radios" in result.tables:
        counts = result.tables["radios"].to_arrow().to_pandas()
        mine = counts[(counts.device == f"{host} -> air") & (counts.what == "drop")]
        return {str(reason): int(most) for reason, most in mine.groupby("reason")["count"].max().items()}
    events = result.tables["events"].to_arrow().to_pandas()
    mine = events[(events["where"] == f"{host} -> air") & (events.what == "drop")]
    # mac80211 has one counter for both limits of its queues.
    reasons = mine["reason"].replace("overmemory", "overlimit")
    return {str(reason): int(count) for reason, count in reasons.value_counts().items()}


def test_both_sides_count_the_marks_of_codel_above_a_radio(uml: Uml, scenario: Make) -> None:
    downloads = [flow(number, start_ns=SECOND // 10, stop_ns=2 * SECOND) | {"from": 2, "to": 0} for number in range(8)]
    given = with_cell(scenario, downloads) | {"duration_ns": 2 * SECOND}
    given["hosts"] = [host | {"sysctl": {"net.ipv4.tcp_ecn": 1}} for host in given["hosts"]]
    given["record"] = {**given["record"], "events": True}
    ours = simulated(given).tables["events"].to_arrow().to_pandas()
    theirs = run(uml, given).tables["radios"].to_arrow().to_pandas()
    marks = [int((ours["what"] == "mark").sum()), int(theirs[theirs["what"] == "mark"]["count"].max())]
    assert set(ours[ours["what"] == "mark"]["where"]) == {"router -> air"} == set(theirs["device"])
    # Some 20 on each side; seeds differ by 5.
    assert min(marks) > 10
    assert marks[0] == pytest.approx(marks[1], rel=0.5)


def test_a_capture_at_a_station_has_its_radio(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [flow(1, start_ns=0, stop_ns=SECOND)])
    given["record"] = {**given["record"], "pcap": [0]}
    capture = run(uml, given).captures["client"]
    assert b"client -> air" in capture
    assert len(capture) > 100_000
