"""Names of flows that nobody has named."""

from collections.abc import Sequence

import pytest

from tailback.scenario import ScenarioError, loads
from tailback.scenario.flows import flows

UP, DOWN = "{tcp: client -> server}", "{tcp: server -> client}"


def text(*entries: str) -> str:
    return (
        "links: [{ends: [client, r], rate: 100mbit, delay: 1ms}, {ends: [r, server], rate: 20mbit, delay: 9ms}]\n"
        f"traffic: [{', '.join(entries)}]\nduration: 20s\n"
    )


def names(*entries: str) -> list[str]:
    return [name for flow in flows(loads(text(*entries)).configurations[0].keys) for name in flow.names]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([UP, DOWN], ["upload", "download"]),
        ([UP, "{tcp: client -> server, cc: bbr}"], ["upload.1", "upload.2"]),
        ([UP, DOWN, UP], ["upload.1", "download", "upload.2"]),
        (["{ping: client -> server}", "{ping: client -> r}"], ["ping.1", "ping.2"]),
        (["{udp: client -> server, rate: 1mbit}"] * 2, ["udp.1", "udp.2"]),
        (["{call: client -> server}"] * 2, ["call.1.there", "call.1.back", "call.2.there", "call.2.back"]),
        (["{tcp: client -> server, flows: 2}"] * 2, ["upload.1.1", "upload.1.2", "upload.2.1", "upload.2.2"]),
    ],
)
def test_entries_without_a_name_are_numbered_in_the_order_of_the_file(
    entries: Sequence[str], expected: Sequence[str]
) -> None:
    assert names(*entries) == expected


def test_a_given_name_is_kept_and_never_given_to_another_entry() -> None:
    assert names("{tcp: client -> server, name: upload}", UP) == ["upload", "upload.1"]
    assert names(UP, "{tcp: client -> server, name: upload.1}", UP) == ["upload.2", "upload.1", "upload.3"]


def test_two_entries_of_one_given_name_are_refused() -> None:
    with pytest.raises(ScenarioError, match="the name `a` is already used"):
        loads(text(*["{tcp: client -> server, name: a}"] * 2))


def test_the_flows_of_a_preset_have_its_name() -> None:
    assert names("{preset: tcp_2up, hosts: [client, server], name: home}") == [
        "home.upload.1",
        "home.upload.2",
        "home.ping",
    ]


def test_a_preset_that_shares_a_name_is_named_after_its_test() -> None:
    one, other = "{preset: tcp_1up, hosts: [client, server]}", "{preset: tcp_1down, hosts: [client, server]}"
    assert names(one) == ["upload", "ping"]
    assert names(one, other) == ["tcp_1up.upload", "tcp_1up.ping", "tcp_1down.download", "tcp_1down.ping"]
    assert names(one, one) == ["tcp_1up.1.upload", "tcp_1up.1.ping", "tcp_1up.2.upload", "tcp_1up.2.ping"]
    assert names(one, UP) == ["tcp_1up.upload", "tcp_1up.ping", "upload"]


def test_the_directions_of_a_named_preset_are_those_of_its_flows() -> None:
    preset = "{preset: tcp_bidirectional, hosts: [server, client]}"
    plain, called = (loads(text(entry)).runs()[0] for entry in (preset, preset.replace("}", ", name: home}")))
    assert plain.directions == {"upload": "up", "download": "down"}
    assert called.directions == {"home.upload": "up", "home.download": "down"}
