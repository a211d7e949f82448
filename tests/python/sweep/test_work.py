"""The summary of a run."""

from collections.abc import Mapping

import pytest

from fake_backend import FakeBackend
from tailback.scenario import loads
from tailback.sweep.plan import plan_of
from tailback.sweep.work import measure_of

FILE = """\
links:
  - {{ends: [client, router], rate: 100mbit, schedule: [{change}]}}
  - {{ends: [router, server], delay: 1ms}}
qdiscs:
  client -> router: "{qdisc}"
traffic: [{{tcp: client -> server, name: upload, bytes: 1kB}}, {{udp: client -> server, rate: 1mbit}}]
duration: 10s
measure: {{window: [2s, 10s]}}
"""
TREE = "htb default 10; class 1 rate 40mbit; class parent 1 10 rate 10mbit ceil 40mbit; class parent 1 20 rate 30mbit"


def rates(qdisc: str, change: str = "{at: 9s, delay: 1ms}") -> Mapping[str, float]:
    (run,) = plan_of(loads(FILE.format(qdisc=qdisc, change=change)), FakeBackend()).runs
    return measure_of(run).rates_bps


@pytest.mark.parametrize(
    ("qdisc", "rate"),
    [
        ("fq_codel", 100e6),
        ("htb rate 20mbit | fq_codel", 20e6),
        ("tbf rate 20mbit burst 3000 limit 30000", 20e6),
        ("cake bandwidth 20mbit", 20e6),
        ("cake bandwidth 200mbit", 100e6),
        (TREE, 40e6),
    ],
)
def test_utilisation_is_relative_to_the_slower_of_link_and_shapers(qdisc: str, rate: float) -> None:
    assert rates(qdisc) == {"client -> router": rate, "router -> client": 100e6}


def test_utilisation_of_a_link_that_changes_is_relative_to_its_mean_rate() -> None:
    assert rates("fq_codel", "{at: 4s, rate: [20mbit, null]}")["client -> router"] == (2 * 100e6 + 6 * 20e6) / 8


def test_flows_are_distinguished_by_their_kind() -> None:
    (run,) = plan_of(loads(FILE.format(qdisc="fq_codel", change="{at: 9s, delay: 1ms}")), FakeBackend()).runs
    found = measure_of(run)
    assert (found.tcp_flows, found.other_flows, found.sized_flows) == (("upload",), ("udp",), ("upload",))
