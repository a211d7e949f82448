"""Wi-Fi on a real kernel: mac80211 above the simulator's air."""

import os
import signal
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.conftest import SECOND, flow, left_running, link
from tailback.backends import RunFailed, RunResult
from tailback.backends.sim import Sim
from tailback.backends.uml import Uml
from tailback.kernel import WIFI, KernelMissing, Recipe, build, package
from tailback.resolved import of_json
from waiting import joined, until

Make = Callable[..., dict[str, Any]]
HT = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}


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
        "kind": "udp", "name": "udp", "from": 0, "to": 1, "start_ns": 0, "stop_ns": 2 * SECOND, "rate_bps": rate_bps,
        "size": 1472, "sndbuf": 4_000_000,
    }  # fmt: skip


def cell(**options: int) -> dict[str, Any]:
    """The client, a station of the router at 300 Mbit/s."""
    driver = {"name": "ath9k", "options": options}
    station = {"host": 0, "mode": HT, "rate": "fixed", "loss_ppm": 0, "driver": driver}
    return {
        "access_point": 1, "stations": [station], "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": driver,
    }  # fmt: skip


def with_cell(make: Make, traffic: list[dict[str, Any]], **options: int) -> dict[str, Any]:
    """The client has a radio, the server a wire to the router."""
    wires = {"links": [link(1, 2, rate_bps=1_000_000_000)], "cells": [cell(**options)], "qdiscs": []}
    return make(**wires, traffic=traffic, duration_ns=2 * SECOND)


def run(uml: Uml, scenario: dict[str, Any]) -> RunResult:
    return uml.run(of_json(scenario), uml.new_progress())


def received_mbit(result: RunResult) -> float:
    counted = result.tables["udp"].to_pandas()
    return float(counted[counted.t > 0.5].received.mean() * 10 * 1472 * 8 / 1e6)


@pytest.mark.parametrize(("options", "rate_mbit", "expected"), [({}, 400, 248.2), ({"subframes": 1}, 100, 49.4)])
def test_udp_saturates_a_radio_as_in_the_simulator(
    options: dict[str, int], rate_mbit: int, expected: float, uml: Uml, scenario: Make
) -> None:
    given = with_cell(scenario, [udp(rate_mbit * 1_000_000)], **options)
    simulated = Sim().run(of_json(given), Sim().new_progress())
    result = run(uml, given)
    assert received_mbit(result) == pytest.approx(expected, rel=0.01)
    assert received_mbit(result) == pytest.approx(received_mbit(simulated), rel=0.01)
    ppdus = result.tables["wifi"].to_pandas()
    assert ppdus[ppdus.t > 0.5].mpdus.mode()[0] == options.get("subframes", 32)


def test_the_same_seed_gives_the_same_tables(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [flow(1, start_ns=0, stop_ns=SECOND)])
    first, second = run(uml, given), run(uml, given)
    assert first.tables["wifi"].num_rows > 100
    assert all(table.equals(second.tables[name]) for name, table in first.tables.items())


def test_an_upload_goes_through_the_radio_and_the_wire(uml: Uml, scenario: Make) -> None:
    given = with_cell(scenario, [flow(1, start_ns=0, stop_ns=2 * SECOND)])
    result, simulated = run(uml, given), Sim().run(of_json(given), Sim().new_progress())
    received = [sum(each.tables["flows"]["bytes"].to_pylist()) for each in (result, simulated)]
    # The slow start of two seconds differs most.
    assert received[0] == pytest.approx(received[1], rel=0.15)
    assert set(result.tables["wifi"]["from"].to_pylist()) == {"client", "router"}


def test_an_air_that_is_killed_ends_the_run_with_its_reason(uml: Uml, scenario: Make, room: Path) -> None:
    given = with_cell(scenario, [flow(1, start_ns=0, stop_ns=1000 * SECOND)])
    given["duration_ns"] = 1000 * SECOND
    raised: list[BaseException] = []

    def record() -> None:
        try:
            run(uml, given)
        except RunFailed as error:
            raised.append(error)

    thread = threading.Thread(target=record)
    thread.start()
    until(lambda: list(room.glob("*/progress")))
    for entry in left_running(room):
        if b"backends.uml.air" in (Path("/proc") / entry / "cmdline").read_bytes():
            os.kill(int(entry), signal.SIGKILL)
    joined(thread)
    assert "the process with the air of the cells ended" in str(raised)
    until(lambda: left_running(room) == [])
