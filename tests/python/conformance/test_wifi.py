"""Compares the simulator's Wi-Fi with a real kernel's TCP over a known cell, for a representative part of the golden
table.

Goodput within 5 %, mean A-MPDU within 10 % or 0.5 MPDUs, medians of ping and TCP RTT within 10 % or 0.5 ms. The whole
table: `python -m conformance wifi`; results: `conformance/results/wifi.md`.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from conformance.judge import Cell, cells, share_within
from conformance.wifi import golden
from conformance.wifi.criteria import CAMPAIGN
from conformance.wifi.experiment import Experiment, twin
from conformance.wifi.golden import as_words, from_words
from conformance.wifi.known import KNOWN_DIFFERENCES
from conformance.wifi.measures import Ppdus, share
from conformance.wifi.simulate import simulate

RUNS = {run.experiment.key: run for run in golden.read_runs()}

FLOOR = 0.92
"""Share of cells within tolerance; all but one were when it was set: a run is one draw, and chance moves some."""

REPRESENTATIVE = (
    # The cell alone: saturation, offered load, errors, collisions.
    "check/udp-216",
    "check/udp-867-n64-slots2",
    "check/udp-load150",
    "check/udp-per5",
    "check/udp-sat-n2",
    # One upload: small queues, controls, drivers.
    "wifi/ath9k-300-cubic-u1d0-tsq2-gso",
    "wifi/ath9k-300-bbr-u1d0-tsq8",
    "wifi/ath9k-300-nv-u1d0-tsq8",
    "wifi/ath9k-216-bbr-u4d0-tsq4",
    "wifi/ath10k-867-bbr-u1d0-tsq2",
    "wifi/htc-150-bbr-u1d0-tsqstd-fq",
    # Both ways, stations, errors, base RTT, stretch ACKs.
    "wifi/ath9k-300-nv-u1d1-tsqstd",
    "wifi/ath9k-300-bbr-u2d0-tsqstd-sta2",
    "wifi/ath9k-300-bbr-u4d0-tsq8-per5",
    "wifi/ath9k-300-bbr-u4d0-tsq8-rtt10ms",
    "wifi_inst/ath9k-300-bbr-u1d0-tsq8",
)


@pytest.fixture(scope="module")
def judged() -> list[Cell[Experiment]]:
    # Threads suffice: the simulator releases the interpreter's lock.
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda key: simulate(RUNS[key].experiment)[0], REPRESENTATIVE))
    pairs = zip(REPRESENTATIVE, results, strict=True)
    return [cell for key, ours in pairs for cell in cells(CAMPAIGN, RUNS[key], ours)]


def test_the_share_of_cells_within_tolerance_does_not_fall(judged: list[Cell[Experiment]]) -> None:
    off = [str(cell) for cell in judged if cell.outcome == "off"]
    within, counted = share_within(judged)
    assert counted > 60
    assert within / counted >= FLOOR, "\n".join(off)


def test_drivers_and_kinds_of_runs_are_all_represented() -> None:
    chosen = [RUNS[key].experiment for key in REPRESENTATIVE]
    assert {run.profile for run in chosen} == {"ath9k", "ath9k_htc", "ath10k"}
    kinds = {run.group.removeprefix(f"{run.profile} ") for run in chosen}
    assert kinds >= {
        "UDP",
        "uploads",
        "downloads and both ways",
        "stations",
        "errors",
        "base RTT",
        "stretch ACKs",
        "GSO",
    }


def test_every_run_of_the_campaign_has_a_twin() -> None:
    assert len(RUNS) == 572
    for run in RUNS.values():
        assert twin(run.experiment)["traffic"]


def test_the_small_queue_of_a_download_is_that_of_ethernet() -> None:
    run = RUNS["wifi/ath9k-300-cubic-u4d4-tsq32"].experiment
    shifts = {flow["name"][:2]: flow["tsq"] for flow in twin(run)["traffic"] if flow["kind"] == "tcp"}
    assert shifts == {"up": {"kind": "time", "shift": 5}, "do": {"kind": "time", "shift": 10}}


def test_the_access_point_of_a_usb_card_has_its_own_driver() -> None:
    cell = twin(RUNS["wifi/htc-150-bbr-u1d0-tsqstd-fq"].experiment)["cells"][0]
    assert (cell["driver"]["name"], cell["stations"][0]["driver"]["name"]) == ("ath9k", "ath9k_htc")


def test_settings_survive_the_table() -> None:
    words = {"CHILD": "pfifo limit 1000", "CC": "bbr"}
    assert from_words(as_words(words)) == words
    assert Experiment("wifi", "x", words, {}).group == "ath9k stretch ACKs"


def test_a_collided_ppdu_is_not_an_aggregate() -> None:
    counted = Ppdus(sent=2, collided=2, mpdus=40)
    assert share(counted.mpdus, counted.sent) == 20


def test_every_known_difference_is_of_runs_that_there_are() -> None:
    for known in KNOWN_DIFFERENCES:
        assert any(re.search(known.runs, key) for key in RUNS), known.runs
