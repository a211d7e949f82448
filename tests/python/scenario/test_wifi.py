"""Wi-Fi cells in the experiment file: how they are resolved, and refused values."""

from collections.abc import Callable
from typing import Any

import pytest

from tailback.scenario import CoreRegistry, Registry, ScenarioError, lint, loads

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


AS_EVER = {"rate": "fixed", "loss_ppm": 10_000, "snr_cdb": None}
STATION_EDCA = [
    {"aifsn": 2, "cw_min": 3, "cw_max": 7, "txop_ns": 1_504_000},
    {"aifsn": 2, "cw_min": 7, "cw_max": 15, "txop_ns": 3_008_000},
    {"aifsn": 3, "cw_min": 15, "cw_max": 1023, "txop_ns": 0},
    {"aifsn": 7, "cw_min": 15, "cw_max": 1023, "txop_ns": 0},
]


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
                {"host": 0, "mode": mode(2, 7), **AS_EVER, "driver": generic},
                {"host": 1, "mode": mode(1, 0), **AS_EVER, "driver": htc},
            ],
            "band": "5GHz",
            "channel": None,
            "hidden": [],
            "rts": False,
            "beacon_bps": None,
            "access_point_edca": STATION_EDCA,
            "station_edca": STATION_EDCA,
            "mpdu_overhead": 54,
            "driver": {"name": "ath9k", "options": {"slots": 1}},
        }
    ]


def test_the_links_of_stations_are_numbered_after_all_others(scenario: Any) -> None:
    (attached,) = scenario(CELL)["qdiscs"]
    assert (attached["host"], attached["link"]) == (1, 2)


@pytest.mark.parametrize("written", ["phone -> air", "phone -> router", "phone->router"])
def test_a_radio_with_one_neighbour_may_be_named_by_its_cell_or_by_it(scenario: Any, written: str) -> None:
    (attached,) = scenario(CELL.replace("phone -> router", written))["qdiscs"]
    assert (attached["host"], attached["link"]) == (1, 2)


def test_the_radio_of_an_access_point_is_one_device_whose_first_link_stands_for_it(scenario: Any) -> None:
    (attached,) = scenario(CELL.replace("phone -> router", "router -> air"))["qdiscs"]
    assert (attached["host"], attached["link"]) == (2, 1)


def test_the_radio_of_an_access_point_with_one_station_may_be_named_by_it(scenario: Any) -> None:
    alone = CELL.replace("[client, phone]", "[phone]").replace("{client: 15, phone: 0}", "0")
    alone = alone.replace("client ->", "phone ->").replace("-> client", "-> phone")
    found = [
        scenario(alone.replace("phone -> router:", f"{name}:"))["qdiscs"]
        for name in ("router -> phone", "router -> air")
    ]
    assert found[0] == found[1]


def test_a_cell_has_the_name_that_it_is_given(scenario: Any) -> None:
    named = CELL.replace("    loss: 1%", "    name: wlan0").replace("phone -> router", "phone -> wlan0")
    found = scenario(named)
    assert found["cells"][0]["name"] == "wlan0"
    assert found["qdiscs"][0]["host"] == 1


def test_with_several_cells_each_name_has_a_number(scenario: Any) -> None:
    second = "  - {wifi: {ap: server, stations: [tablet]}, standard: 802.11n, width: 20MHz, mcs: 0}\n"
    text = CELL.replace("qdiscs:\n", f"{second}qdiscs:\n").replace("phone -> router", "tablet -> air2")
    found = scenario(text)
    assert [cell["name"] for cell in found["cells"]] == ["air1", "air2"]
    assert found["qdiscs"][0]["link"] == 3


def test_a_file_without_a_cell_has_no_cells(scenario: Any) -> None:
    wired = "links: [{ends: [a, b]}]\ntraffic: [{tcp: a -> b}]\nduration: 2s\n"
    assert "cells" not in scenario(wired)


def test_a_flow_that_begins_on_air_has_the_small_queue_of_mac80211(scenario: Any) -> None:
    upload, download = scenario(CELL)["traffic"]
    assert upload["tsq"] == {"kind": "time", "shift": 7}
    assert download["tsq"] == {"kind": "time", "shift": 10}


@pytest.mark.parametrize(("stack", "shift"), [("linux-4.14", 10), ("linux-5.4", 7), ("linux-6.12", 7)])
def test_the_small_queue_of_the_radio_is_that_of_the_kernel(stack: str, shift: int, scenario: Any) -> None:
    hosts = f"hosts: {{client: {{stack: {stack}}}, phone: , router: , server: {{stack: {stack}}}}}\n"
    upload, download = scenario(hosts + CELL)["traffic"]
    assert (upload["tsq"]["shift"], download["tsq"]["shift"]) == (shift, 10)


@pytest.mark.parametrize("override", ["tsq=1ms", "hosts.client.tsq=1ms", "traffic[0].tsq=1ms"])
def test_a_small_queue_that_is_given_takes_precedence_over_that_of_the_radio(override: str, scenario: Any) -> None:
    hosts = "hosts: {client: {}, phone: {}, router: {}, server: {}}\n"
    assert scenario(hosts + CELL, override)["traffic"][0]["tsq"] == {"kind": "time", "shift": 10}


@pytest.mark.parametrize(
    ("standard", "expected"),
    [
        ("{standard: 802.11ac, width: 80MHz, streams: 2, mcs: 9, guard: 400ns}", ("vht", 80, 2, 9, 400)),
        ("{standard: 802.11ax, width: 160MHz, streams: 1, mcs: 11}", ("he", 160, 1, 11, 800)),
        ("{standard: ax, width: 160MHz, streams: 1, mcs: 11}", ("he", 160, 1, 11, 800)),
        ("{standard: 802.11n, band: 2.4GHz, width: 20MHz, streams: 3, mcs: 23}", ("ht", 20, 3, 7, 800)),
    ],
)
def test_every_standard_has_its_format(standard: str, expected: tuple[Any, ...], scenario: Any) -> None:
    cell = standard.replace("{", "{wifi: {ap: ap, stations: [client]}, ")
    found = scenario(f"links: [{cell}]\ntraffic: [{{tcp: client -> ap}}]\nduration: 2s\n")
    assert tuple(found["cells"][0]["stations"][0]["mode"].values()) == expected


def cell_with(scenario: Any, *lines: str) -> Any:
    return scenario(CELL.replace("    loss: 1%\n", "".join(f"    {line}\n" for line in lines)))["cells"][0]


def test_a_setting_of_stations_is_one_value_or_one_for_each(scenario: Any) -> None:
    near, far = cell_with(scenario, "loss: {client: 5%}", "rate: {phone: minstrel}", "snr: {client: 20.5dB}")[
        "stations"
    ]
    assert (near["loss_ppm"], near["rate"], near["snr_cdb"]) == (50_000, "fixed", 2050)
    assert (far["loss_ppm"], far["rate"], far["snr_cdb"]) == (0, "minstrel", None)


def test_the_signal_falls_with_the_distance_by_30_db_per_decade(scenario: Any) -> None:
    near, far = (
        station["snr_cdb"] for station in cell_with(scenario, "distance: {client: 3m, phone: 30m}")["stations"]
    )
    assert near - far == 3000
    # 20 dBm - 46.8 dB at 1 m - 14.3 dB; noise -174 + 76 + 7 dBm.
    assert near == pytest.approx(4980, abs=30)


def test_a_schedule_changes_the_signal_of_the_stations_that_it_names(scenario: Any) -> None:
    changes = "[{at: 1s, snr: {phone: 3dB}}, {at: 2s, loss: 5%}, {at: 3s, distance: {phone: 3m}, loss: {phone: 0%}}]"
    client, phone = cell_with(scenario, "snr: 30dB", f"schedule: {changes}")["stations"]
    assert client["schedule"] == [{"at_ns": 2_000_000_000, "loss_ppm": 50_000}]
    at_3m = cell_with(scenario, "distance: {phone: 3m}")["stations"][1]["snr_cdb"]
    assert phone["schedule"] == [
        {"at_ns": 1_000_000_000, "snr_cdb": 300},
        {"at_ns": 2_000_000_000, "loss_ppm": 50_000},
        {"at_ns": 3_000_000_000, "loss_ppm": 0, "snr_cdb": at_3m},
    ]


def test_fades_may_repeat(scenario: Any) -> None:
    fades = "{every: 8s, changes: [{at: 1s, snr: 3dB}, {at: 2s, snr: 30dB}]}"
    stations = cell_with(scenario, f"schedule: {fades}")["stations"]
    times = [change["at_ns"] // 10**9 for change in stations[0]["schedule"]]
    assert times == [1, 2, 9, 10, 17, 18]
    assert stations[0]["schedule"] == stations[1]["schedule"]


@pytest.mark.parametrize(
    ("schedule", "path", "message"),
    [
        ("[{at: 1s, snr: {pone: 3dB}}]", "links[0].schedule[0].snr.pone", "`pone` is not in this cell"),
        ("[{at: 20s, snr: 3dB}]", "links[0].schedule[0].at", "`20s` is not within the run"),
        ("[{at: 2s, snr: 3dB}, {at: 1s, snr: 9dB}]", "links[0].schedule[1].at", "before the change above it, at 2s"),
        ("[{at: 1s}]", "links[0].schedule[0]", "changes nothing"),
        ("[{at: 1s, snr: 3dB, distance: 9m}]", "links[0].schedule[0].distance", "`client` also has an `snr`"),
        ("[{at: 1s, rate: 5mbit}]", "links[0].schedule[0].rate", "there is no key `rate` here"),
        ("[{at: 1s, snr: 3}]", "links[0].schedule[0].snr", "not a signal-to-noise ratio"),
        ("fade.csv", "links[0].schedule", "the schedule of a cell is a list of changes"),
        ("{every: 1s}", "links[0].schedule", "is not enough of a schedule"),
    ],
)
def test_a_change_of_a_signal_that_is_wrong_is_refused_at_its_key(schedule: str, path: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(CELL.replace("    loss: 1%", f"    schedule: {schedule}"))
    finding = refused.value.findings[0]
    assert (finding.path, message in finding.message) == (path, True), finding


def test_edca_parameters_are_those_of_a_station_unless_they_are_given(scenario: Any) -> None:
    hostapd = cell_with(scenario, "edca: {ap: hostapd}")
    assert hostapd["station_edca"] == STATION_EDCA
    assert hostapd["access_point_edca"][2] == {"aifsn": 3, "cw_min": 15, "cw_max": 63, "txop_ns": 0}
    both = cell_with(scenario, "edca: {be: {txop: 2528us}}")
    assert both["access_point_edca"] == both["station_edca"]
    assert both["station_edca"][2] == {"aifsn": 3, "cw_min": 15, "cw_max": 1023, "txop_ns": 2_528_000}


def test_an_experiment_with_a_cell_has_no_warnings(registry: Registry) -> None:
    assert lint(loads(CELL, registry=registry)) == []


def test_a_chip_leads_to_the_driver_whose_summary_names_it() -> None:
    with pytest.raises(ScenarioError, match=r"`mt7915` is not a driver\n  hint: did you mean `mt76`\? MediaTek"):
        loads(CELL.replace("phone: ath9k_htc", "phone: mt7915"), registry=CoreRegistry())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "802.11n",
            "802.11be",
            "links[0].standard: `802.11be` is not one of the choices\n  hint: use one of: 802.11n, 802.11ac, 802.11ax",
        ),
        ("width: 40MHz", "width: 80MHz", "links[0].width: `80MHz` is not a width of 802.11n at 5GHz"),
        ("width: 40MHz", "width: wide", "links[0].width: `wide` is not the width of a channel"),
        ("guard: 400ns", "guard: 1600ns", "links[0].guard: `1600ns` is not a guard interval of 802.11n"),
        ("client: 15", "client: 32", "links[0].mcs: `32` is not an MCS index"),
        ("client: 15, phone: 0", "client: 15", "links[0].mcs: `phone` has no MCS index"),
        ("client: 15", "laptop: 15", "links[0].mcs.laptop: `laptop` is not in this cell"),
        ("802.11n", "802.11ac", "links[0].mcs.client: `15` is not an MCS index of 802.11ac"),
        ("802.11n", "802.11ac", "links[0].streams: is missing: the MCS of 802.11ac does not determine it"),
        ("guard: 400ns", "streams: 3", "links[0].mcs.client: `15` is an index of 2 streams"),
        ("phone: ath9k_htc", "phone: ath9", "links[0].driver: `ath9` is not a driver"),
        ("slots: 1", "slot: 1", "links[0].driver: `slot` is not an option of `ath9k`"),
        ("slots: 1", "slots: 0", "links[0].driver: `slots` of `ath9k`: `0` is out of range"),
        ("phone: ath9k_htc", "server: ath9k_htc", "links[0].driver.server: `server` is not in this cell"),
        (
            "phone -> router",
            "router -> phone",
            "qdiscs.router -> phone: `router` sends to all stations of this cell through one device with one root "
            "discipline\n  hint: name the device by its cell: router -> air",
        ),
        (
            "phone -> router: pfifo limit 10",
            "phone -> router: pfifo limit 10\n  phone -> air: pfifo limit 20",
            "qdiscs.phone -> air: names the same device as `phone -> router`",
        ),
        ("phone -> router", "server -> air", "qdiscs.server -> air: no link joins `server` and `air`"),
        (
            "phone -> router",
            "phone -> aire",
            "qdiscs.phone -> aire: there is no host `aire`\n  hint: did you mean `air`?",
        ),
        ("loss: 1%", "name: server", "links[0].name: `server` is the name of a Wi-Fi cell and of something else"),
        ("loss: 1%", "loss: 0.01", "links[0].loss: `0.01` is not a loss rate"),
        ("loss: 1%", "loss: 101%", "links[0].loss: `101%` is not a loss rate"),
        ("encryption: ccmp", "mtu: 1500", "links[0].mtu: there is no key `mtu` here"),
        ("encryption: ccmp", "rate: 1gbit", "links[0].rate: `1gbit` is not a rate control"),
        ("loss: 1%", "loss: {laptop: 1%}", "links[0].loss.laptop: `laptop` is not in this cell"),
        ("loss: 1%", "snr: 25", "links[0].snr: `25` is not a signal-to-noise ratio"),
        ("loss: 1%", "distance: 0m", "links[0].distance: `0m` is not a distance"),
        ("loss: 1%", "snr: 25dB\n    distance: 5m", "links[0].distance: `client` also has an `snr`"),
        ("loss: 1%", "streams: 9", "links[0].streams: `9` is not a number of streams"),
        ("loss: 1%", "beacons: 1mbit", "links[0].beacons: no legacy rate of 1 Mbit/s at 5GHz"),
        ("loss: 1%", "hidden: [[client, server]]", "links[0].hidden[0]: `server` has no radio on this channel"),
        ("loss: 1%", "edca: {ap: fast}", "links[0].edca: `fast` is not a setting of contention (EDCA)"),
        ("loss: 1%", "edca: {be: {cwmin: 14}}", "links[0].edca: `14` is not a contention window"),
        ("loss: 1%", "edca: {xx: {}}", "links[0].edca: `xx` is not an access category"),
        ("stations: [client, phone]", "stations: []", "links[0].wifi.stations: is empty"),
        ("stations: [client, phone]", "station: client", "links[0].wifi.station: there is no key `station` here"),
        (
            "[client, phone]",
            "[client, phone, server]",
            "links[0].wifi: connects `router` and `server`, which links[1] already connects",
        ),
        ("[client, phone]", "[client, phone, router]", "links[0].wifi.stations[2]: connects `router` to itself"),
    ],
)
def test_a_wrong_cell_is_named_with_its_key(old: str, new: str, said: str, refusal: Callable[..., str]) -> None:
    assert CELL.count(old) >= 1
    assert f": {said}" in refusal(CELL.replace(old, new, 1))
