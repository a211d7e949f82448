"""Short forms of networks and of many hosts: what they become, and what is refused."""

from typing import Any

import pytest

from command import in_process
from tailback.scenario import ScenarioError, expanded, json_schema, loads
from tailback.scenario.shapes import SHAPES, arrows_of, hosts_of
from tailback.tc.errors import WordError

FILE = """\
links:
  - %s
traffic:
  - %s
duration: 10s
"""

DUMBBELL = "{dumbbell: 2, rate: 10mbit, delay: 20ms, access: {rate: 1gbit, delay: 1ms}}"


def links(entry: str, traffic: str) -> list[tuple[str, str, object, object]]:
    """The links that a file has: both ends, rate and delay."""
    (run,) = loads(FILE % (entry, traffic)).runs()
    hosts = [host.name for host in run.scenario.hosts]
    return [
        (hosts[link.ends[0]], hosts[link.ends[1]], link.rate_bps[0], link.delay_ns[0] // 10**6)
        for link in run.scenario.links
    ]


def test_a_dumbbell_is_pairs_of_hosts_on_both_sides_of_one_link() -> None:
    assert links(DUMBBELL, "{tcp: sender1 -> receiver1}") == [
        ("sender1", "left", 10**9, 1),
        ("sender2", "left", 10**9, 1),
        ("left", "right", 10**7, 20),
        ("right", "receiver1", 10**9, 1),
        ("right", "receiver2", 10**9, 1),
    ]


def test_a_parking_lot_has_a_cross_flow_at_each_link() -> None:
    found = {(a, b) for a, b, _, _ in links("{parking_lot: 2, rate: 20mbit}", "{tcp: sender -> receiver}")}
    assert found == {
        ("sender", "router1"), ("router1", "router2"), ("router2", "router3"), ("router3", "receiver"),
        ("cross1", "router1"), ("router2", "sink1"), ("cross2", "router2"), ("router3", "sink2"),
    }  # fmt: skip


def test_a_star_has_a_link_for_each_host() -> None:
    assert links("{star: 3, rate: 1gbit}", "{tcp: host1 -> host2}") == [
        ("host1", "hub", 10**9, 0), ("host2", "hub", 10**9, 0), ("host3", "hub", 10**9, 0),
    ]  # fmt: skip


def test_without_access_the_links_of_the_hosts_have_neither_rate_nor_delay() -> None:
    assert links("{dumbbell: 1, rate: 10mbit}", "{tcp: sender1 -> receiver1}")[0] == ("sender1", "left", None, 0)


def flows(traffic: str, entry: str = DUMBBELL) -> list[tuple[str, str, str]]:
    (run,) = loads(FILE % (entry, traffic)).runs()
    hosts = [host.name for host in run.scenario.hosts]
    return [(flow.name, hosts[flow.source], hosts[flow.target]) for flow in run.scenario.tcp]


@pytest.mark.parametrize("ranges", ["sender1..2 -> receiver1..2", '"sender[1..2] -> receiver[1..2]"'])
def test_two_ranges_go_in_pairs_with_numbered_names(ranges: str) -> None:
    assert flows(f"{{tcp: {ranges}, name: bulk}}") == [
        ("bulk.1", "sender1", "receiver1"), ("bulk.2", "sender2", "receiver2"),
    ]  # fmt: skip


def test_a_range_beside_one_host_gives_an_entry_for_each() -> None:
    assert flows("{tcp: sender1..2 -> receiver1, name: in}") == [
        ("in.1", "sender1", "receiver1"), ("in.2", "sender2", "receiver1"),
    ]  # fmt: skip


def test_entries_without_a_name_get_different_ones() -> None:
    assert len({name for name, _, _ in flows("{tcp: sender1..2 -> receiver1..2}")}) == 2


def test_ranges_work_in_ends_hosts_and_devices() -> None:
    text = """\
links:
  - {ends: [client1..3, router], rate: 100mbit}
hosts:
  client1..3: {tsq: off}
  router:
qdiscs:
  router -> client1..3: fq_codel
traffic:
  - {tcp: client1..2 -> client3}
duration: 10s
"""
    experiment = loads(text)
    (run,) = experiment.runs()
    assert [host.name for host in run.scenario.hosts] == ["client1", "client2", "client3", "router"]
    keys = experiment.configurations[0].keys
    assert list(keys.qdiscs) == [f"router -> client{number}" for number in (1, 2, 3)]
    assert "1..3" not in expanded(experiment.configurations[0])


def test_an_expanded_file_has_the_same_runs() -> None:
    experiment = loads(FILE % (DUMBBELL, "{tcp: sender1..2 -> receiver1..2, name: bulk}"))
    again = loads(expanded(experiment.configurations[0]))
    assert again.runs()[0].scenario == experiment.runs()[0].scenario


@pytest.mark.parametrize(
    ("entry", "traffic", "message"),
    [
        ("{dumbbell: 0}", "{tcp: a -> b}", "`dumbbell: 0` is not a number of pairs of hosts"),
        ("{dumbbell: many}", "{tcp: a -> b}", "`dumbbell: many` is not a number of pairs of hosts"),
        ("{dumbbell: yes}", "{tcp: a -> b}", "is not a number of pairs"),
        ("{star: 2, access: {rate: 1gbit}}", "{tcp: host1 -> host2}", "a `star` has one kind of link"),
        ("{dumbbell: 2, access: 1gbit}", "{tcp: sender1 -> left}", "`access` is not a mapping"),
        (DUMBBELL, "{tcp: sender1..2 -> receiver1..3}", "pairs 2 hosts with 3"),
        (DUMBBELL, "{tcp: sender2..1 -> left}", "is not a range of hosts"),
        (DUMBBELL, "{tcp: sender1..9999 -> left}", "is not a range of hosts"),
        ("{dumbbell: 2, rat: 10mbit}", "{tcp: sender1 -> left}", "rate"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(entry: str, traffic: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(FILE % (entry, traffic), file="x.yaml")
    said = str(refused.value)
    assert message in said
    assert "x.yaml:2:" in said or "x.yaml:4:" in said
    assert "hint:" in said


def test_words_without_a_range_stay_as_they_are() -> None:
    assert hosts_of("h1") == ["h1"]
    assert hosts_of("a.1") == ["a.1"]
    assert arrows_of("a -> b") == ["a -> b"]
    assert hosts_of("h7..9") == ["h7", "h8", "h9"]
    with pytest.raises(WordError):
        hosts_of("h9..7")


def test_the_schema_knows_the_short_forms() -> None:
    schema: dict[str, Any] = json_schema()
    for shape in SHAPES:
        assert any(shape in model["properties"] for model in schema["$defs"].values())


def test_check_prints_the_expanded_file(tmp_path: Any) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(FILE % (DUMBBELL, "{tcp: sender1..2 -> receiver1..2}"))
    said = in_process("check", file, "--expand").stdout
    assert "sender2" in said
    assert "dumbbell" not in said
    assert loads(said).runs()


def test_ranges_name_the_hosts_of_a_segment_and_the_stations_of_a_cell() -> None:
    short = """
duration: 1s
links:
  - {wifi: {ap: ap, stations: "sta[1..3]"}, standard: 802.11n, width: 20MHz, mcs: {sta1..2: 7, sta3: 0},
     hidden: [[sta1, sta3]]}
  - {lan: [ap, h1..2], rate: 1gbit}
traffic: [{tcp: sta1..2 -> h1}]
"""
    long = """
duration: 1s
links:
  - {wifi: {ap: ap, stations: [sta1, sta2, sta3]}, standard: 802.11n, width: 20MHz, mcs: {sta1: 7, sta2: 7, sta3: 0},
     hidden: [[sta1, sta3]]}
  - {lan: [ap, h1, h2], rate: 1gbit}
traffic: [{tcp: sta1 -> h1}, {tcp: sta2 -> h1}]
"""
    first, second = (loads(text).runs()[0].scenario for text in (short, long))
    assert first == second
    listed = short.replace('stations: "sta[1..3]"', "stations: [sta1..2, sta3]").replace(
        "[ap, h1..2]", "[ap, h1, h2..2]"
    )
    assert loads(listed).runs()[0].scenario == second
