"""A scenario becomes words of Linux's own tools."""

from collections.abc import Callable
from typing import Any

import pytest

from tailback.backends.uml.settings import job_of, small_queue

Make = Callable[..., dict[str, Any]]


def commands(job: dict[str, Any], host: int | None) -> list[str]:
    return [" ".join(step["argv"][0:]) for step in job["setup"] if step["kind"] == "run" and step["host"] == host]


def links(rate_bps: int | None, delay_ns: list[int]) -> list[dict[str, Any]]:
    plain = {"rate_bps": rate_bps, "delay_ns": delay_ns, "mtu": 1500, "ring": 256, "bql": False}
    return [{"ends": [0, 1], **plain}, {"ends": [1, 2], **plain}]


def test_a_delay_lies_on_the_host_that_receives(scenario: Make) -> None:
    job = job_of(scenario(qdiscs=[], links=links(None, [5_000_001, 0])))
    assert [line for line in commands(job, 0) if "netem" in line] == []
    delays = [line for line in commands(job, 1) if "netem" in line]
    assert delays == ["/sbin/tc qdisc add dev i0 root netem limit 1000000 delay 5000.001us"]


def test_a_link_without_rate_and_delay_is_a_bare_veth(scenario: Make) -> None:
    job = job_of(scenario(qdiscs=[], links=links(None, [0, 0])))
    assert [line for host in range(3) for line in commands(job, host) if line.startswith("/sbin/tc")] == []


def test_the_rate_of_a_link_is_a_hidden_shaper_above_the_discipline(scenario: Make) -> None:
    job = job_of(scenario(qdiscs=[], links=links(100_000_000, [0, 0])))
    lines = [line for line in commands(job, 0) if line.startswith("/sbin/tc") and "dev l0" in line]
    assert lines[:3] == [
        "/sbin/tc qdisc add dev l0 root handle 1: htb default 1",
        "/sbin/tc class add dev l0 parent 1: classid 1:1 htb rate 100000000bit burst 1725 cburst 1725 quantum 1514",
        "/sbin/tc qdisc add dev l0 parent 1:1 handle 2: pfifo_fast",
    ]
    assert {device["hidden"] for device in job["devices"]} == {1}


def test_a_shaper_of_the_scenario_is_the_root_itself(scenario: Make) -> None:
    job = job_of(scenario(links=links(1_000_000_000, [0, 0])))
    client = [line for line in commands(job, 0) if line.startswith("/sbin/tc") and "dev l0" in line]
    assert client[0] == "/sbin/tc qdisc add dev l0 root handle 1: htb default 1"
    assert "rate 10000000bit" in client[1]
    assert job["devices"][0]["hidden"] == 0
    assert any("netem" in line and "rate 1000000000bit" in line for line in commands(job, 1))


def test_hosts_that_are_not_neighbours_have_routes_both_ways(scenario: Make) -> None:
    job = job_of(scenario())
    assert "/sbin/ip route add 10.0.1.0/24 via 10.0.0.2" in commands(job, 0)
    assert "/sbin/ip route add 10.0.0.0/24 via 10.0.1.1" in commands(job, 2)
    assert [flow["address"] for flow in job["flows"]] == ["10.0.1.2", "10.0.1.2"]


def test_every_flow_has_a_port_of_its_own(scenario: Make) -> None:
    assert [flow["port"] for flow in job_of(scenario())["flows"]] == [5001, 5002]


def test_a_flag_is_a_word_or_its_opposite(scenario: Make) -> None:
    root = {"kind": "fq_codel", "options": {"ecn": 0, "target": 4_999_000, "limit": 100}, "child": None}
    job = job_of(scenario(qdiscs=[{"host": 0, "link": 0, "root": root}]))
    assert "/sbin/tc qdisc add dev l0 root handle 1: fq_codel noecn target 4999.000us limit 100" in commands(job, 0)


@pytest.mark.parametrize(
    ("tsq", "written"),
    [
        ({"kind": "time", "shift": 8}, {}),
        ({"kind": "off"}, {"shift": 0, "bytes": 1 << 40}),
        ({"kind": "bytes", "bytes": 65_536}, {"shift": 0, "bytes": 65_536}),
        ({"kind": "packets", "packets": 100}, {"packets": 100}),
    ],
)
def test_a_small_queue_is_the_shift_of_the_socket_or_the_check_of_the_kernel(
    tsq: dict[str, Any], written: dict[str, int]
) -> None:
    assert small_queue(tsq) == written


def test_three_numbers_of_a_sysctl_are_written_as_one_line(scenario: Make) -> None:
    hosts = scenario()["hosts"]
    hosts[0]["sysctl"] = {"net.ipv4.tcp_wmem": [4096, 16384, 4194304]}
    steps = job_of(scenario(hosts=hosts))["setup"]
    path = "/proc/sys/net/ipv4/tcp_wmem"
    assert [step["value"] for step in steps if step.get("path") == path] == ["4096 16384 4194304"]
