"""Settings of flows that depend on the stack of their host, and the version of IP."""

from typing import Any

import pytest

from tailback.resolved import to_json
from tailback.scenario import Registry, loads

FILE = """\
hosts: {client: {stack: freebsd-9}, server: {}}
links: [{ends: [client, server], rate: 10mbit}]
traffic: [{tcp: client -> server, name: up}, {tcp: server -> client, name: down}]
duration: 10s
"""


def traffic(registry: Registry, text: str, *overrides: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = to_json(loads(text, overrides, registry).runs()[0].scenario)["traffic"]
    return found


@pytest.mark.parametrize(
    ("override", "controls"),
    [("seed=1", ["newreno", "cubic"]), ("cc=reno", ["reno", "reno"]), ("traffic[0].cc=bbr", ["bbr", "cubic"])],
)
def test_a_sender_on_freebsd_has_newreno_unless_a_control_is_named(
    registry: Registry, override: str, controls: list[str]
) -> None:
    assert [flow["cc"]["name"] for flow in traffic(registry, FILE, override)] == controls


def test_ipv6_is_said_in_the_resolved_scenario_and_ipv4_is_not(registry: Registry) -> None:
    flows = traffic(registry, FILE, "traffic[0].ip=6", "traffic[1].ip=4")
    assert [flow.get("ip") for flow in flows] == [6, None]


def test_packets_of_ipv6_are_not_captured(refusal: Any) -> None:
    text = FILE.replace("name: up", "name: up, ip: 6") + "measure: {pcap: [client]}\n"
    assert refusal(text) == (
        "access21.yaml:3: traffic[0].ip: packets of IPv6 cannot be captured\n"
        "  hint: remove `measure.pcap` or `ip`: captures contain IPv4 only"
    )
