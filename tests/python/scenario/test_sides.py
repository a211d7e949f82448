"""Up and down: which flows are uploads."""

import pytest

from tailback.scenario import resolve
from tailback.scenario.experiment import loads

LINK = "rate: 10mbit, delay: 5ms"


def directions(links: str, traffic: str, more: str = "") -> dict[str, str]:
    text = f"duration: 5s\nlinks: [{links}]\ntraffic: [{traffic}]\n{more}"
    keys = loads(text).configurations[0].keys
    return resolve.directions(keys, keys.seed)


@pytest.mark.parametrize("ends", ["client, server", "server, client"])
def test_what_the_client_sends_is_an_upload_whatever_the_order_of_the_link(ends: str) -> None:
    found = directions(f"{{ends: [{ends}], {LINK}}}", "{tcp: client -> server}, {tcp: server -> client}")
    assert found == {"upload": "up", "download": "down"}


def test_every_client_sends_uploads() -> None:
    links = (
        f"{{ends: [server, router], {LINK}}}, {{ends: [router, client1], {LINK}}}, {{ends: [router, client2], {LINK}}}"
    )
    found = directions(links, "{tcp: client1 -> server}, {tcp: client2 -> server}, {tcp: server -> client2, name: get}")
    assert found == {"upload": "up", "client2-server": "up", "get": "down"}


def test_what_a_server_sends_is_a_download_whoever_receives_it() -> None:
    assert directions(f"{{ends: [server, laptop], {LINK}}}", "{tcp: server -> laptop}") == {"download": "down"}


def test_without_known_names_the_first_host_sends_uploads() -> None:
    links = f"{{ends: [a, b], {LINK}}}, {{ends: [b, c], {LINK}}}"
    assert directions(links, "{tcp: a -> c}, {tcp: c -> a}") == {"upload": "up", "download": "down"}


ROUTERS = f"{{ends: [alice, r1], {LINK}}}, {{ends: [client, r1], {LINK}}}, {{ends: [r1, r2], {LINK}}}"
BESIDE = f"{ROUTERS}, {{ends: [r2, server], {LINK}}}, {{ends: [r2, bob], {LINK}}}"


def test_a_flow_beside_the_users_goes_where_the_flows_that_it_meets_go() -> None:
    ends = "{tcp: client -> server, name: get}, {tcp: alice -> server, name: a}, {tcp: bob -> alice, name: b}"
    assert directions(BESIDE, ends) == {"get": "up", "a": "up"}
    down = "{tcp: server -> client, name: put}, {tcp: bob -> alice, name: b}"
    assert directions(BESIDE, down) == {"put": "down", "b": "down"}


def test_a_flow_that_meets_both_directions_or_none_is_across() -> None:
    hub = f"{{ends: [client, hub], {LINK}}}, {{ends: [hub, server], {LINK}}}, {{ends: [hub, a], {LINK}}}"
    both = "{tcp: client -> a, name: up}, {tcp: server -> client, name: down}, {tcp: server -> a, name: across}"
    assert directions(hub, both) == {"up": "up", "down": "down"}
    assert directions(hub, "{tcp: client -> server, name: up}, {tcp: a -> hub, name: across}") == {"up": "up"}


def test_stations_send_uploads() -> None:
    cell = "{wifi: {ap: ap, stations: [one, two]}, standard: 802.11n, width: 40MHz, mcs: 15}"
    links = f"{{ends: [server, ap], {LINK}}}, {cell}"
    found = directions(links, "{tcp: one -> server, name: first}, {tcp: two -> server, name: second}, {tcp: ap -> two}")
    assert found == {"first": "up", "second": "up", "ap-two": "down"}


def test_a_flow_that_is_called_a_download_is_one() -> None:
    found = directions(f"{{ends: [client, server], {LINK}}}", "{tcp: client -> server, name: download}")
    assert found == {"download": "down"}
