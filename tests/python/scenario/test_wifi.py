"""Wi-Fi cells in the experiment file: what they become, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tailback.scenario import Registry, lint, loads

CELL = """\
links:
  - wifi: {ap: router, stations: [client, phone]}
    standard: 802.11n
    width: 40MHz
    mcs: {client: 15, phone: 0}
    guard: 400ns
    driver: {ap: {name: ath9k, slots: 1}, phone: ath9k_htc}
    loss: 1%
    encryption: ccmp
  - {ends: [router, server], rate: 1gbit, delay: 100us}
qdiscs:
  phone -> router: pfifo limit 10
traffic:
  - {tcp: client -> server, name: upload}
  - {tcp: server -> client, name: download}
duration: 20s
measure: {warmup: 5s}
"""


def mode(streams: int, mcs: int) -> dict[str, Any]:
    return {"format": "ht", "width": 40, "streams": streams, "mcs": mcs, "guard_ns": 400}


def test_a_cell_becomes_that_of_the_contract(scenario: Any) -> None:
    found = scenario(CELL)
    assert [host["name"] for host in found["hosts"]] == ["client", "phone", "router", "server"]
    assert [link["ends"] for link in found["links"]] == [[2, 3]]
    generic: dict[str, Any] = {"name": "generic", "options": {}}
    htc: dict[str, Any] = {"name": "ath9k_htc", "options": {}}
    assert found["cells"] == [
        {
            "access_point": 2,
            "stations": [
                {"host": 0, "mode": mode(2, 7), "loss_ppm": 10_000, "driver": generic},
                {"host": 1, "mode": mode(1, 0), "loss_ppm": 10_000, "driver": htc},
            ],
            "band": "5GHz",
            "rts": False,
            "mpdu_overhead": 54,
            "driver": {"name": "ath9k", "options": {"slots": 1}},
        }
    ]


def test_the_links_of_stations_are_numbered_after_all_others(scenario: Any) -> None:
    (attached,) = scenario(CELL)["qdiscs"]
    assert (attached["host"], attached["link"]) == (1, 2)


def test_a_file_without_a_cell_has_no_cells(scenario: Any) -> None:
    wired = "links: [{ends: [a, b]}]\ntraffic: [{tcp: a -> b}]\nduration: 2s\n"
    assert "cells" not in scenario(wired)


def test_a_flow_that_begins_on_air_has_the_small_queue_of_mac80211(scenario: Any) -> None:
    upload, download = scenario(CELL)["traffic"]
    assert upload["tsq"] == {"kind": "time", "shift": 7}
    assert download["tsq"] == {"kind": "time", "shift": 10}


@pytest.mark.parametrize("override", ["tsq=1ms", "hosts.client.tsq=1ms", "traffic[0].tsq=1ms"])
def test_a_small_queue_that_is_given_goes_before_that_of_the_radio(override: str, scenario: Any) -> None:
    hosts = "hosts: {client: {}, phone: {}, router: {}, server: {}}\n"
    assert scenario(hosts + CELL, override)["traffic"][0]["tsq"] == {"kind": "time", "shift": 10}


@pytest.mark.parametrize(
    ("standard", "expected"),
    [
        ("{standard: 802.11ac, width: 80MHz, streams: 2, mcs: 9, guard: 400ns}", ("vht", 80, 2, 9, 400)),
        ("{standard: 802.11ax, width: 160MHz, streams: 1, mcs: 11}", ("he", 160, 1, 11, 800)),
        ("{standard: 802.11n, band: 2.4GHz, width: 20MHz, streams: 3, mcs: 23}", ("ht", 20, 3, 7, 800)),
    ],
)
def test_every_standard_has_its_format(standard: str, expected: tuple[Any, ...], scenario: Any) -> None:
    cell = standard.replace("{", "{wifi: {ap: ap, stations: [client]}, ")
    found = scenario(f"links: [{cell}]\ntraffic: [{{tcp: client -> ap}}]\nduration: 2s\n")
    assert tuple(found["cells"][0]["stations"][0]["mode"].values()) == expected


def test_an_experiment_with_a_cell_has_no_warnings(registry: Registry) -> None:
    assert lint(loads(CELL, registry=registry)) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("802.11n", "802.11b", "links[0].standard: `802.11b` is not one of the choices"),
        ("width: 40MHz", "width: 80MHz", "links[0].width: `80MHz` is no width of 802.11n at 5GHz"),
        ("width: 40MHz", "width: wide", "links[0].width: `wide` is not the width of a channel"),
        ("guard: 400ns", "guard: 1600ns", "links[0].guard: `1600ns` is no guard interval of 802.11n"),
        ("client: 15", "client: 32", "links[0].mcs: `32` is not an MCS index"),
        ("client: 15, phone: 0", "client: 15", "links[0].mcs: `phone` has no MCS index"),
        ("client: 15", "laptop: 15", "links[0].mcs.laptop: `laptop` is not in this cell"),
        ("802.11n", "802.11ac", "links[0].mcs.client: `15` is not an MCS index of 802.11ac"),
        ("802.11n", "802.11ac", "links[0].streams: is missing: the MCS of 802.11ac does not tell it"),
        ("guard: 400ns", "streams: 3", "links[0].mcs.client: `15` is an index of 2 streams"),
        ("phone: ath9k_htc", "phone: ath9", "links[0].driver: `ath9` is not a driver"),
        ("slots: 1", "slot: 1", "links[0].driver: `slot` is not an option of `ath9k`"),
        ("slots: 1", "slots: 0", "links[0].driver: `slots` of `ath9k`: `0` is out of range"),
        ("phone: ath9k_htc", "server: ath9k_htc", "links[0].driver.server: `server` is not in this cell"),
        ("loss: 1%", "loss: 0.01", "links[0].loss: `0.01` is not a share of MPDUs"),
        ("loss: 1%", "loss: 101%", "links[0].loss: `101%` is not a share of MPDUs"),
        ("encryption: ccmp", "rate: 1gbit", "links[0].rate: there is no key `rate` here"),
        ("stations: [client, phone]", "stations: []", "links[0].wifi.stations: is empty"),
        ("stations: [client, phone]", "station: client", "links[0].wifi.station: there is no key `station` here"),
        ("[client, phone]", "[client, phone, server]", "links[0].wifi: joins `router` and `server`, as links[1] does"),
        ("[client, phone]", "[client, phone, router]", "links[0].wifi.stations[2]: joins `router` with itself"),
    ],
)
def test_a_wrong_cell_is_named_with_its_key(old: str, new: str, said: str, refusal: Callable[..., str]) -> None:
    assert CELL.count(old) >= 1
    assert f": {said}" in refusal(CELL.replace(old, new, 1))
