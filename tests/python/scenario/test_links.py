"""Impairments and schedules of links, traces, shared segments, and routes."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback.resolved import to_json
from tailback.scenario import ScenarioError, load, loads, traces
from tailback.scenario.hops import network_of
from tailback.tc.errors import WordError

PERCENT = (2**32 - 1) / 100
MS = 10**6

FILE = """\
links:
  - {ends: [client, router], rate: 1gbit, delay: 5ms%s}
  - {ends: [router, server], rate: 10mbit}
traffic:
  - {tcp: client -> server}
duration: 40s
"""

DIAMOND = """\
links:
  - {ends: [client, near], delay: 1ms}
  - {ends: [client, far], delay: 5ms}
  - {ends: [near, server], delay: 1ms}
  - {ends: [far, server], delay: 5ms}
%s
traffic:
  - {tcp: client -> server}
duration: 40s
"""


def resolved(text: str, file: str = "x.yaml") -> dict[str, Any]:
    return to_json(loads(text, file=file).runs()[0].scenario)


def link(keys: str) -> dict[str, Any]:
    found: dict[str, Any] = resolved(FILE % keys)["links"][0]
    return found


def refused(text: str, file: str = "x.yaml") -> str:
    with pytest.raises(ScenarioError) as caught:
        loads(text, file=file)
    return str(caught.value)


def test_a_plain_link_has_none_of_the_keys() -> None:
    assert set(link("")) == {"ends", "rate_bps", "delay_ns", "mtu", "ring", "bql"}


def test_what_a_link_does_to_packets_is_in_netems_words() -> None:
    found = link(", loss: [1% 25%, null], jitter: 2ms 10% distribution normal, duplicate: 0.5%, reorder: 25% 50%")
    there, back = found["netem"]
    assert there["loss"] == round(PERCENT)
    assert there["loss_correlation"] == round(25 * PERCENT)
    assert (there["jitter"], there["distribution"]) == (2 * MS, 1)
    assert "loss" not in back
    assert back["duplicate"] == round(PERCENT / 2)
    assert "delay" not in there


def test_models_of_loss_are_those_of_netem() -> None:
    there, _ = link(", loss: gemodel 1% 10%")["netem"]
    assert (there["loss_model"], there["p"], there["r"]) == (2, round(PERCENT), round(10 * PERCENT))


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ("loss: 1", "`1` is not the loss of a link"),
        ("loss: 1% delay 5ms", "`1% delay 5ms` is not the loss of a link"),
        ("loss: 101%", "`101%` is not a percentage"),
        ("jitter: soon", "`soon` is not a time"),
        ("ring: 0", "`0` is not the size of a ring"),
        ("bql: [on, maybe]", "`maybe` is neither on nor off"),
        ("trace: up.trace", "links[0].trace: the trace `up.trace` cannot be read: No such file or directory"),
        ("schedule: [{at: 50s, rate: 1mbit}]", "links[0].schedule[0].at: `50s` is not within the run"),
        ("schedule: [{at: 5s, rate: 1mbit}, {at: 4s, state: down}]", "`4s` is before the change above it, at 5s"),
        ("schedule: [{at: 5s}]", "links[0].schedule[0]: changes nothing"),
        ("schedule: [{at: 5s, state: sideways}]", "`sideways` is not a state of a link"),
        ("schedule: [{at: 5s, colour: red}]", "links[0].schedule[0].colour: there is no key `colour` here"),
        (
            "schedule: [{rate: 1mbit}]",
            "links[0].schedule[0].at: is missing\n  hint: give the time of the change: at: 10s",
        ),
    ],
)
def test_a_wrong_link_is_reported_with_its_key(keys: str, what: str) -> None:
    assert what in refused(FILE % f", {keys}")


def test_reordering_needs_a_delay() -> None:
    assert "links[1].reorder: reordered packets skip the delay" in refused(
        (FILE % "").replace("10mbit", "10mbit, reorder: 1%")
    )


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("delay: 5ms, reorder: 1%, schedule: [{at: 5s, delay: 0ms}]", "schedule[0].delay"),
        ("delay: [5ms, 0ms], reorder: [1%, null], schedule: [{at: 5s, reorder: [null, 1%]}]", "schedule[0].reorder"),
        ("jitter: 2ms, reorder: 1%, schedule: [{at: 5s, rate: 1mbit}, {at: 6s, jitter: 0ms}]", "schedule[1].jitter"),
    ],
)
def test_reordering_needs_a_delay_after_each_change(keys: str, where: str) -> None:
    text = refused((FILE % "").replace("10mbit", f"10mbit, {keys}"))
    assert f"links[1].{where}: reordered packets skip the delay, but from this change on the link has no delay" in text


def test_a_change_may_take_the_delay_away_with_the_reordering() -> None:
    keys = "delay: 5ms, reorder: 1%, schedule: [{at: 5s, delay: 0ms, reorder: 0%}]"
    assert loads((FILE % "").replace("10mbit", f"10mbit, {keys}")).runs()


def test_a_rate_that_was_not_there_cannot_change() -> None:
    changed = FILE.replace("rate: 1gbit, ", "") % ", schedule: [{at: 5s, rate: [1mbit, null]}]"
    assert "links[0].schedule[0].rate: the link has no rate in the direction there" in refused(changed)


def test_each_direction_may_have_its_own_value_of_every_key() -> None:
    found = link("")
    assert (found["rate_bps"], found["ring"], found["bql"]) == (10**9, 256, True)
    text = FILE.replace("rate: 1gbit", "rate: [1gbit, 5mbit]") % ", ring: [64, 1024], bql: [off, on]"
    found = resolved(text)["links"][0]
    assert (found["rate_bps"], found["ring"], found["bql"]) == ([10**9, 5 * 10**6], [64, 1024], [False, True])


def test_network_cards_have_the_settings_of_the_host_unless_the_link_sets_them() -> None:
    hosts = "hosts:\n  client: {nic: {ring: 64, bql: off}}\n  router:\n  server:\n"
    near, far = resolved(hosts + FILE % ", bql: on")["links"]
    assert (near["ring"], near["bql"]) == ([64, 256], True)
    assert (far["ring"], far["bql"]) == (256, True)


def test_a_schedule_has_a_line_for_each_direction_that_changes_and_netem_whole() -> None:
    found = link(
        ", loss: 1%, jitter: [1ms, null], schedule: [{at: 10s, rate: [20mbit, null], delay: 9ms}, "
        "{at: 12s, loss: [0%, null]}, {at: 15s, state: down}]"
    )
    share = round(PERCENT)
    assert found["netem"] == [{"jitter": MS, "loss": share}, {"loss": share}]
    assert found["schedule"] == [
        {"at_ns": 10**10, "end": 0, "rate_bps": 20 * 10**6, "delay_ns": 9 * MS},
        {"at_ns": 10**10, "end": 1, "delay_ns": 9 * MS},
        {"at_ns": 12 * 10**9, "end": 0, "netem": {"jitter": MS, "loss": 0}},
        {"at_ns": 15 * 10**9, "end": 0, "up": False},
        {"at_ns": 15 * 10**9, "end": 1, "up": False},
    ]


# -- traces


def test_a_trace_lies_beside_the_experiment_and_goes_into_the_scenario_once(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "up.trace").write_text("1\n1\n3\n")
    (tmp_path / "same.trace").write_text("1\n1\n3\n")
    (tmp_path / "down.trace").write_text("2\n4\n")
    text = FILE.replace("rate: 1gbit", "trace: [traces/up.trace, down.trace]") % ""
    text = text.replace("rate: 10mbit", "rate: [null, 10mbit], trace: [same.trace, null]")
    file = tmp_path / "cellular.yaml"
    file.write_text(text)
    found = to_json(load(file).runs()[0].scenario)
    assert [each["stamps_ms"] for each in found["traces"]] == [[1, 1, 3], [2, 4]]
    assert [each["trace"] for each in found["links"]] == [[0, 1], [0, None]]
    assert [each["rate_bps"] for each in found["links"]] == [None, [None, 10**7]]


def test_a_trace_replaces_a_rate(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\n")
    text = FILE % ", trace: [up.trace, null]"
    assert "links[0].trace: the direction there has both a trace and a rate" in refused(text, str(tmp_path / "x.yaml"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the trace `t` is empty"),
        (b"0\n0\n", "the trace `t` has no duration"),
        (b"1\n5\n\n4\n", "line 4 of `t` is earlier than the line before"),
        (b"1\n2.5\n", "line 2 of `t` is not a time"),
        (b"-1\n", "line 1 of `t` is not a time"),
        (b"\xff\xfe1\n", "line 1 of `t` is not a time"),
        (b"4294967296\n", "line 1 of `t` is not a time"),
    ],
)
def test_a_wrong_trace_is_reported_with_its_line(content: bytes, what: str) -> None:
    with pytest.raises(WordError) as caught:
        traces.parse(content, "t")
    assert what in caught.value.message
    assert caught.value.hint


def test_a_trace_is_a_regular_file_of_bounded_size(tmp_path: Path) -> None:
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 10**12)
    os.mkfifo(tmp_path / "fifo")
    for name, why in (("huge", "1000000000000 bytes"), ("fifo", "not a regular"), ("/dev/zero", "not a regular")):
        with pytest.raises(WordError, match=why):
            traces.trace(name, tmp_path)


def test_the_number_of_lines_of_a_trace_is_limited() -> None:
    assert len(traces.parse(b"1\n" * traces.MAX_LINES, "t").stamps_ms) == traces.MAX_LINES
    with pytest.raises(WordError, match="more than 2000000 lines"):
        traces.parse(b"1\n" * (traces.MAX_LINES + 1), "t")


def test_errors_do_not_quote_the_content_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("-----BEGIN PRIVATE KEY-----\n5\n4\n")
    (tmp_path / "numbers").write_text("471108\n150915\n")
    for name, line in (("key", 1), ("numbers", 2)):
        with pytest.raises(WordError) as caught:
            traces.trace(name, tmp_path)
        assert f"line {line} of `{name}`" in caught.value.message
        assert not any(word in str(caught.value) for word in ("PRIVATE", "471108", "150915"))


@given(st.binary(max_size=200))
def test_no_content_of_a_file_breaks_the_reader(content: bytes) -> None:
    try:
        found = traces.parse(content, "t")
    except WordError:
        return
    assert list(found.stamps_ms) == sorted(found.stamps_ms)
    assert found.stamps_ms[-1] > 0


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1).map(sorted), st.sampled_from(["\n", "\r\n", " \n"]))
def test_every_list_of_instants_in_order_is_a_trace(stamps: list[int], end: str) -> None:
    stamps = [*stamps, 2**32 - 1]
    content = "".join(f"{stamp}{end}" for stamp in stamps).encode()
    assert list(traces.parse(content, "t").stamps_ms) == stamps


def test_the_mean_rate_of_a_trace_counts_1500_bytes_each() -> None:
    assert traces.parse(b"1\n2\n3\n4\n", "t").mean_rate_bps == 12_000_000


# -- shared segments

LANS = """\
links:
  - {lan: [h1, h2, h3, router], rate: 1gbit, delay: 10us}
  - {lan: [router, h4, h5, h6], name: far, rate: 100mbit}
qdiscs:
  router -> far: htb rate 10mbit | pfifo limit 180
  far -> h4: pfifo limit 50
traffic:
  - {tcp: h1 -> h4, name: first}
duration: 40s
"""


def test_a_shared_segment_is_a_switch_with_a_link_to_each_host() -> None:
    found = resolved(LANS)
    names = [host["name"] for host in found["hosts"]]
    assert names == ["h1", "h2", "h3", "router", "h4", "h5", "h6", "lan1", "far"]
    assert [each["ends"] for each in found["links"]] == [[0, 7], [1, 7], [2, 7], [3, 7], [3, 8], [4, 8], [5, 8], [6, 8]]
    assert found["links"][0]["delay_ns"] == [10_000, 10_000]
    assert [(each["host"], each["link"]) for each in found["qdiscs"]] == [(3, 4), (8, 5)]


def test_a_switch_sends_nothing_of_its_own() -> None:
    assert "`far` is a switch" in refused(LANS.replace("h1 -> h4", "far -> h1"))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("name: far", "name: h4", "links[1].name: the switch of a segment and something else are both named `h4`"),
        ("[router, h4, h5, h6]", "[router, h4, h4]", "links[1].lan[2]: `h4` is named twice"),
        ("[router, h4, h5, h6]", "[h4]", "links[1].lan"),
        ("name: far", "nam: far", "links[1].nam: there is no key `nam` here"),
    ],
)
def test_a_wrong_segment_is_reported_with_its_key(old: str, new: str, what: str) -> None:
    assert what in refused(LANS.replace(old, new))


# -- routes


def test_without_routes_the_first_path_with_the_fewest_links_is_taken() -> None:
    network = network_of(loads(DIAMOND % "").configurations[0].keys)
    assert network.path("client", "server") == ["client", "near", "server"]
    assert "routes" not in resolved(DIAMOND % "")


def test_a_route_holds_in_its_direction_at_every_host_on_the_way() -> None:
    text = DIAMOND % "routes:\n  client -> server: far"
    assert resolved(text)["routes"] == [{"host": 0, "to": 3, "link": 1}, {"host": 2, "to": 3, "link": 3}]
    network = network_of(loads(text).configurations[0].keys)
    assert network.path("client", "server") == ["client", "far", "server"]
    assert network.path("server", "client") == ["server", "near", "client"]


def test_a_route_through_a_segment_need_not_name_the_switch() -> None:
    text = LANS.replace("qdiscs:", "routes:\n  h1 -> h4: [router]\nqdiscs:")
    found = resolved(text)["routes"]
    assert found == [{"host": host, "to": 4, "link": line} for host, line in ((0, 0), (7, 3), (3, 4), (8, 5))]


@pytest.mark.parametrize(
    ("routes", "what"),
    [
        ("client -> server: nowhere", "there is no host `nowhere`"),
        ("client - server: far", "is not a direction"),
        ("client -> server: [near, far]", "no link joins `near` and `far`"),
        ("client -> server: [near, client]", "visits a host twice"),
        (
            "client -> server: far\n  near -> server: [client, far]\n  far -> server: [client, near]",
            "another route through",
        ),
    ],
)
def test_a_wrong_route_is_reported(routes: str, what: str) -> None:
    assert what in refused(DIAMOND % f"routes:\n  {routes}")


def test_settings_of_one_host_do_not_forget_those_that_links_name() -> None:
    sysctl = "hosts: {server: {sysctl: {net.ipv4.tcp_pacing_ca_ratio: 200}}}\n"
    found = network_of(loads(sysctl + FILE % "").configurations[0].keys)
    assert found.hosts == ("client", "router", "server")
    with pytest.raises(ScenarioError, match="there is no host `router`"):
        loads("hosts: {client: , server: {cc: reno}}\n" + FILE % "")
    with pytest.raises(ScenarioError, match="no path from `client` to `sever`"):
        loads(sysctl.replace("server", "sever") + FILE % "")
