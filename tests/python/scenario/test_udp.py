"""UDP, code points and RRUL in the experiment file."""

from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.scenario import ScenarioError

FILE = """\
links:
  - {ends: [client, server], rate: 1gbit, delay: 1ms}
traffic:
%s
duration: 20s
"""


def traffic(scenario: Any, *entries: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scenario(FILE % "\n".join(f"  - {entry}" for entry in entries))["traffic"]
    return found


def test_a_flood_becomes_that_of_the_contract(scenario: Any) -> None:
    (flood,) = traffic(scenario, "{udp: client -> server, rate: 300mbit, start: 1s}")
    assert flood == {
        "kind": "udp",
        "name": "udp",
        "from": 0,
        "to": 1,
        "start_ns": 10**9,
        "stop_ns": 20 * 10**9,
        "rate_bps": 300_000_000,
        "size": 1472,
        "sndbuf": None,
    }


def test_code_points_are_named_or_numbered_and_absent_where_they_are_zero(scenario: Any) -> None:
    entries = [f"{{tcp: client -> server, name: f{word}, dscp: {word}}}" for word in ("EF", "CS1", "40", "BE")]
    assert [flow.get("dscp") for flow in traffic(scenario, *entries)] == [46, 8, 40, None]


def test_rrul_is_four_marked_flows_each_way_with_three_pings_over_udp_and_one_over_icmp(scenario: Any) -> None:
    found = traffic(scenario, "{preset: rrul, hosts: [client, server], start: 5s, stop: 15s}")
    marks = {flow["name"]: flow.get("dscp", 0) for flow in found}
    flows = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
    assert marks == {
        **{f"upload.{mark}": dscp for mark, dscp in flows.items()},
        **{f"download.{mark}": dscp for mark, dscp in flows.items()},
        "ping": 0,
        **{f"udp-ping.{mark}": flows[mark] for mark in ("EF", "BK", "BE")},
    }
    assert {flow["name"]: flow.get("protocol") for flow in found if flow["kind"] == "ping"} == {
        "ping": None,
        **dict.fromkeys(("udp-ping.EF", "udp-ping.BK", "udp-ping.BE"), "udp"),
    }


def test_rrul_be_has_no_marks(scenario: Any) -> None:
    found = traffic(scenario, "{preset: rrul_be, hosts: [client, server]}")
    assert len(found) == 12
    assert not any("dscp" in flow for flow in found)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{udp: client -> server, rate: 1mbit, size: 1473b}", "`1473b` does not fit into a datagram"),
        ("{udp: client -> server, rate: 1mbit, dscp: XX}", "`XX` is not a code point"),
        ("{udp: client -> server}", "rate"),
        ("{preset: rrul, hosts: [client, server], rate: 1mbit}", "`rrul` does not take a rate"),
    ],
)
def test_every_error_names_its_place(scenario: Any, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError, match="traffic") as refused:
        traffic(scenario, entry)
    assert message in str(refused.value)


def test_a_rate_that_adapts_has_the_bounds_of_a_video_unless_they_are_given(scenario: Any) -> None:
    words = ("gcc", "gcc max 3mbit", "gcc min 1mbit", "gcc min 100kbit max 2mbit")
    entries = [f"{{udp: client -> server, name: m{i}, rate: 1mbit, adapt: {each}}}" for i, each in enumerate(words)]
    assert [flow["adapt"] for flow in traffic(scenario, *entries)] == [
        {"min_bps": 150_000, "max_bps": 1_500_000},
        {"min_bps": 150_000, "max_bps": 3_000_000},
        {"min_bps": 1_000_000, "max_bps": 1_500_000},
        {"min_bps": 100_000, "max_bps": 2_000_000},
    ]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("rate: 1mbit, adapt: nada", "adapt: `nada` is not a rule by which a rate adapts"),
        (
            "rate: 1mbit, adapt: gcc min 2mbit max 1mbit",
            "the bounds of `gcc min 2mbit max 1mbit` are in the wrong order",
        ),
        ("rate: 1mbit, adapt: gcc max 2 parsecs", "is not a rule by which a rate adapts"),
        ("rate: 5mbit, adapt: gcc", "rate: `5mbit` is not within the bounds of `adapt`"),
        ("rate: 1mbit, size: 19b, adapt: gcc", "size: `19b` is too short for the number of a datagram"),
    ],
)
def test_a_rate_that_cannot_adapt_so_is_refused(scenario: Any, keys: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        traffic(scenario, f"{{udp: client -> server, {keys}}}")
    assert said in str(error.value)


ADAPTING = """\
links:
  - {ends: [server, router]}
  - {ends: [router, client], rate: 2mbit, delay: 50ms, schedule: [{at: 40s, rate: 1mbit}]}
qdiscs: {router -> client: pfifo limit 50p}
traffic: [{udp: server -> client, name: media, rate: 300kbit, size: 1200b, adapt: gcc max 3mbit}]
measure: {window: [50s, 80s]}
duration: 80s
"""


def test_media_follow_a_falling_rate_and_keep_the_queue_short(tmp_path: Path) -> None:
    """A constant rate of what it sent before would fill the queue of 50 datagrams, 490 ms at 1 Mbit/s."""
    (tmp_path / "media.yaml").write_text(ADAPTING)
    (run,) = tailback.simulate(tmp_path / "media.yaml").runs
    summary = run.summary
    assert 0.75 < summary["goodput_mbps"]["flows"]["media"] < 1
    assert summary["udp_delay_ms"]["media"]["p50"] < 100
    assert summary["udp_loss"]["media"] == 0
