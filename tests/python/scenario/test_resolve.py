"""The resolved scenario is as `docs/contracts.md` describes it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback.resolved import to_json
from tailback.scenario import Registry, loads
from tailback.scenario.resolve import start_offset

PLAIN_SOCKET = {
    "max_pacing_rate_bps": None, "sndbuf": None, "rcvbuf": None, "rcvlowat": 1, "notsent_lowat": None, "mss": None,
}  # fmt: skip
CONTRACT = """\
title: TSQ at a local bottleneck
hosts:
  client: {sysctl: {net.ipv4.tcp_pacing_ca_ratio: 120}}
  router:
  server:
links:
  - {ends: [client, router], rate: 1gbit, delay: 50us, mtu: 9000}
  - {ends: [router, server], delay: [50us, 1ms], mtu: 9000, ring: 64, bql: false}
qdiscs:
  client -> router: htb rate 100mbit burst 1600b | pfifo_fast
traffic:
  - {tcp: client -> server, name: upload, flows: 2, start: 5s, stop: 35s}
  - {tcp: server -> client, bytes: 10mb, cc: bbr, tsq: 64kB}
  - {ping: client -> server, interval: 200ms}
duration: 40s
measure: {window: [10s, 35s], tcp_info: ack}
"""


def test_a_file_becomes_the_scenario_of_the_contract(scenario: Any) -> None:
    found = scenario(CONTRACT)
    cubic = {"name": "cubic", "options": {}}
    off = {"offloads": "off"}
    upload = {"kind": "tcp", "from": 0, "to": 2, "start_ns": 5 * 10**9, "stop_ns": 35 * 10**9, "bytes": None}
    upload |= {"cc": cubic, "tsq": {"kind": "time", "shift": 10}, "socket": PLAIN_SOCKET}
    assert found == {
        "title": "TSQ at a local bottleneck",
        "seed": 1,
        "duration_ns": 40_000_000_000,
        "hosts": [
            {"name": "client", "stack": "linux-6.12", "sysctl": {"net.ipv4.tcp_pacing_ca_ratio": 120}, **off},
            {"name": "router", "stack": "linux-6.12", "sysctl": {}, **off},
            {"name": "server", "stack": "linux-6.12", "sysctl": {}, **off},
        ],
        "links": [
            {"ends": [0, 1], "rate_bps": 10**9, "delay_ns": [50_000, 50_000], "mtu": 9000, "ring": 256, "bql": True},
            {"ends": [1, 2], "rate_bps": None, "delay_ns": [50_000, 10**6], "mtu": 9000, "ring": 64, "bql": False},
        ],
        "qdiscs": [
            {
                "host": 0,
                "link": 0,
                "root": {
                    "kind": "htb",
                    "options": {"rate": 10**8, "burst": 1600},
                    "child": {"kind": "pfifo_fast", "options": {}},
                },
            }
        ],
        "traffic": [
            {"name": "upload.1", **upload},
            {"name": "upload.2", **upload},
            {
                "kind": "tcp",
                "name": "download",
                "from": 2,
                "to": 0,
                "start_ns": 0,
                "stop_ns": None,
                "bytes": 10 * 2**20,
                "cc": {"name": "bbr", "options": {}},
                "tsq": {"kind": "bytes", "bytes": 65_536},
                "socket": PLAIN_SOCKET,
            },
            {
                "kind": "ping",
                "name": "ping",
                "from": 0,
                "to": 2,
                "start_ns": 0,
                "stop_ns": 40_000_000_000,
                "interval_ns": 200_000_000,
                "size": 64,
            },
        ],
        "record": {"interval_ns": 100_000_000, "tcp_info": "ack", "events": True},
    }


def test_a_scenario_survives_json(scenario: Any) -> None:
    found = scenario(CONTRACT)
    assert json.loads(json.dumps(found)) == found


def test_a_run_knows_its_window_and_the_direction_of_its_flows(registry: Registry) -> None:
    (run,) = loads(CONTRACT, registry=registry).runs()
    assert run.window_ns == (10 * 10**9, 35 * 10**9)
    assert run.directions == {"upload.1": "up", "upload.2": "up", "download": "down"}


def test_without_a_window_the_traffic_after_the_warm_up_is_measured(registry: Registry) -> None:
    text = CONTRACT.replace("window: [10s, 35s]", "warmup: 2s").replace("  - {tcp: server -> client", "  # ")
    (run,) = loads(text, registry=registry).runs()
    assert run.window_ns == (7 * 10**9, 35 * 10**9)


def test_without_hosts_those_of_the_links_are_taken_in_their_order(scenario: Any) -> None:
    text = "links: [{ends: [b, a]}, {ends: [a, c]}]\ntraffic: [{tcp: c -> b}, {tcp: a -> c}]\nduration: 1s"
    found = scenario(text)
    assert [host["name"] for host in found["hosts"]] == ["b", "a", "c"]
    assert [flow["name"] for flow in found["traffic"]] == ["download", "a-c"]


def test_without_a_title_the_file_gives_it(registry: Registry) -> None:
    text = "links: [{ends: [a, b]}]\ntraffic: [{tcp: a -> b}]\nduration: 1s"
    assert loads(text, registry=registry, file="some/fig5.yaml").title == "fig5"


def test_a_setting_of_a_flow_takes_precedence_over_that_of_its_host_and_of_the_file(scenario: Any) -> None:
    text = """
hosts: {a: {tsq: 4ms}, b: {}}
links: [{ends: [a, b]}]
traffic: [{tcp: a -> b, name: x, tsq: off}, {tcp: a -> b, name: y}, {tcp: b -> a, name: z}]
duration: 1s
tsq: 100p
"""
    kinds = [flow["tsq"] for flow in scenario(text)["traffic"]]
    assert kinds == [{"kind": "off"}, {"kind": "time", "shift": 8}, {"kind": "packets", "packets": 100}]


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("tcp_upload", ["upload", "ping"]),
        ("tcp_nup, flows: 2", ["upload.1", "upload.2", "ping"]),
        ("tcp_download", ["download", "ping"]),
        ("tcp_ndown, flows: 2", ["download.1", "download.2", "ping"]),
        ("tcp_bidirectional", ["upload", "download", "ping"]),
        ("ping", ["ping"]),
    ],
)
def test_presets_have_flents_flows_and_a_ping(preset: str, names: list[str], scenario: Any) -> None:
    text = f"links: [{{ends: [a, b]}}]\ntraffic: [{{preset: {preset}, hosts: [a, b], start: 5s}}]\nduration: 40s"
    traffic = scenario(text)["traffic"]
    assert [flow["name"] for flow in traffic] == names
    ways = {flow["name"].split(".")[0]: (flow["from"], flow["to"]) for flow in traffic}
    assert ways == {name.split(".")[0]: (1, 0) if name.startswith("down") else (0, 1) for name in names}
    assert all(flow["start_ns"] == (0 if flow["kind"] == "ping" else 5 * 10**9) for flow in traffic)


def test_jitter_spreads_the_starts_by_seed_and_name_alone(registry: Registry) -> None:
    text = "links: [{ends: [a, b]}]\ntraffic: [{tcp: a -> b, flows: 2, jitter: 10ms}]\nduration: 1s\nrepeat: 2\n"
    runs = loads(text + "vary: {cc: [cubic, bbr]}", registry=registry).runs()
    starts = [[flow["start_ns"] for flow in to_json(run.scenario)["traffic"]] for run in runs]
    assert starts[:2] == starts[2:]
    assert len({start for pair in starts[:2] for start in pair}) == 4


def test_start_offsets_are_the_same_everywhere_and_for_ever() -> None:
    # Computed independently of the code: `sha256sum` of `1/upload.1/start` begins with the first 8 bytes.
    assert start_offset(1, "upload.1", 10_000_000) == 5_355_651
    assert start_offset(1, "upload.2", 10_000_000) == 7_783_732


def test_start_offsets_fill_the_range_evenly() -> None:
    draws = [start_offset(seed, "upload", 1000) for seed in range(10_000)]
    tenths = [sum(tenth <= draw // 100 < tenth + 1 for draw in draws) for tenth in range(10)]
    assert all(900 <= count <= 1100 for count in tenths)


@given(st.integers(min_value=0), st.text(), st.integers(min_value=1, max_value=2**62))
def test_a_start_offset_lies_below_the_jitter(seed: int, name: str, jitter: int) -> None:
    assert 0 <= start_offset(seed, name, jitter) < jitter


def test_socket_options_are_those_of_the_flow_and_presets_set_none(scenario: Any) -> None:
    asked = "max_pacing_rate: 100gbit, sndbuf: 64kb, rcvbuf: 600kb, rcvlowat: 32kb, notsent_lowat: 16kb, mss: 1000"
    text = f"""\
links: [{{ends: [a, b]}}]
traffic:
  - {{tcp: a -> b, {asked}}}
  - {{preset: tcp_download, hosts: [a, b]}}
duration: 1s
"""
    upload, download, _ = scenario(text)["traffic"]
    assert upload["socket"] == {
        "max_pacing_rate_bps": 100_000_000_000,
        "sndbuf": 65_536,
        "rcvbuf": 614_400,
        "rcvlowat": 32_768,
        "notsent_lowat": 16_384,
        "mss": 1000,
    }
    assert download["socket"] == PLAIN_SOCKET


def test_a_host_without_a_slow_start_threshold_has_no_key_for_it(scenario: Any) -> None:
    text = """
hosts: {a: {ssthresh: 40}, b: {}}
links: [{ends: [a, b]}]
traffic: [{tcp: a -> b}]
duration: 10s
"""
    assert [host.get("ssthresh") for host in scenario(text)["hosts"]] == [40, None]


def test_interrupts_are_those_of_the_link_or_of_the_hosts_cards(scenario: Any) -> None:
    text = """
hosts: {a: {nic: {interrupts: 50us}, gro: on}, b: {}, c: {}, d: {}}
links: [{ends: [a, b]}, {ends: [b, c], interrupts: [1us, 2us]}, {ends: [c, d]}]
traffic: [{tcp: a -> d}]
duration: 10s
"""
    found = scenario(text)
    assert [link.get("interrupt_ns") for link in found["links"]] == [[50_000, 0], [1_000, 2_000], None]
    assert [host.get("gro") for host in found["hosts"]] == [True, None, None, None]


def test_offloads_of_a_host_take_precedence_over_those_of_the_file(scenario: Any) -> None:
    text = """
hosts: {a: {offloads: gso}, b: {}}
links: [{ends: [a, b]}]
traffic: [{tcp: a -> b}]
duration: 10s
offloads: on
"""
    assert [host["offloads"] for host in scenario(text)["hosts"]] == ["gso", "on"]
