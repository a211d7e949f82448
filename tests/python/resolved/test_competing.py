"""Which flows compete: those that share what may be their bottleneck, whatever their hosts are called."""

import pytest

from tailback.resolved import competing
from tailback.scenario.experiment import loads

SECOND = 10**9

PARKING_LOT = """
links:
  - {ends: [HOSTS[0], r1], rate: 1gbit, delay: 1ms}
  - {ends: [HOSTS[1], r1], rate: 1gbit, delay: 1ms}
  - {ends: [HOSTS[2], r2], rate: 1gbit, delay: 1ms}
  - {ends: [r1, r2], rate: 20mbit, delay: 1ms}
  - {ends: [r2, r3], rate: 20mbit, delay: 1ms}
  - {ends: [r2, HOSTS[3]], rate: 1gbit, delay: 1ms}
  - {ends: [r3, HOSTS[4]], rate: 1gbit, delay: 1ms}
  - {ends: [r3, HOSTS[5]], rate: 1gbit, delay: 1ms}
traffic:
  - {tcp: HOSTS[0] -> HOSTS[4], name: long}
  - {tcp: HOSTS[1] -> HOSTS[3], name: first}
  - {tcp: HOSTS[2] -> HOSTS[5], name: second}
"""

TWO_CLIENTS = """
links:
  - {ends: [client1, router], rate: 10mbit, delay: 1ms}
  - {ends: [client2, router], rate: 50mbit, delay: 1ms}
  - {ends: [router, server], rate: RATE, delay: 1ms}
traffic:
  - {tcp: client1 -> server, name: slow, flows: 9}
  - {tcp: client2 -> server, name: fast}
"""


def groups(text: str) -> tuple[tuple[str, ...], ...]:
    (run,) = loads(f"duration: 5s\n{text}").runs()
    return competing(run.scenario, (0, 5 * SECOND))


@pytest.mark.parametrize(
    "hosts",
    [("sender", "cross1", "cross2", "sink1", "receiver", "sink2"), ("a", "client", "server", "b", "c", "d")],
    ids=["a sender", "a client across"],
)
def test_in_a_parking_lot_all_flows_of_one_orientation_compete(hosts: tuple[str, ...]) -> None:
    text = PARKING_LOT
    for place, host in enumerate(hosts):
        text = text.replace(f"HOSTS[{place}]", host)
    assert groups(text) == (("long", "first", "second"),)
    # The reverse of one hop is another queue.
    back = f"  - {{tcp: {hosts[3]} -> {hosts[1]}, name: back}}\n"
    assert groups(text + back) == (("long", "first", "second"), ("back",))


def test_up_and_down_over_a_full_duplex_link_do_not_compete() -> None:
    link = "links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]\n"
    traffic = "traffic: [{tcp: client -> server, flows: 2}, {tcp: server -> client}]"
    assert groups(link + traffic) == (("upload.1", "upload.2"), ("download",))


def test_a_link_that_carries_all_that_its_flows_bring_is_no_bottleneck() -> None:
    slow = tuple(f"slow.{number}" for number in range(1, 10))
    # Nine flows through 10 Mbit/s bring these once.
    assert groups(TWO_CLIENTS.replace("RATE", "60mbit")) == (slow, ("fast",))
    assert groups(TWO_CLIENTS.replace("RATE", "59mbit")) == ((*slow, "fast"),)


def test_a_shaper_is_a_bottleneck_and_a_link_without_a_rate_is_none() -> None:
    unlimited = TWO_CLIENTS.replace("rate: RATE, ", "")
    assert len(groups(unlimited)) == 2
    assert len(groups(f"{unlimited}qdiscs: {{router -> server: tbf rate 30mbit burst 10kb limit 100kb}}")) == 1


def test_all_flows_over_one_channel_compete() -> None:
    cell = "{wifi: {ap: ap, stations: [one, two]}, standard: 802.11n, width: 40MHz, mcs: 15}"
    links = f"links: [{{ends: [server, ap], rate: 1gbit, delay: 1ms}}, {cell}]\n"
    traffic = "traffic: [{tcp: one -> server, name: up}, {tcp: server -> two, name: down}]"
    assert groups(links + traffic) == (("up", "down"),)
