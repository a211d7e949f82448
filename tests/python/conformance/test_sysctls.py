"""The sysctls of the simulator: those of experiment files, and those that a conformance run compares with a kernel."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from conformance.kinds.kinds import FOLDER
from tailback import _core, scenario
from tailback.resolved import to_json
from tailback.scenario.sysctl import SYSCTLS, Sysctl

UNCOMPARED = {
    "net.ipv4.tcp_rmem": "the receive buffers of `rcvbuf` are compared",
    "net.ipv4.tcp_wmem": "the send buffers of `sndbuf` are compared",
    "net.ipv4.tcp_slow_start_after_idle": "scripts compare it: idle-restart.pkt, idle-without-restart.pkt",
    "net.ipv4.tcp_retries2": "a connection that is aborted ends a run of a kernel",
    "net.ipv4.tcp_syn_retries": "scripts compare it: syn-retries.pkt",
    "net.ipv4.tcp_synack_retries": "scripts compare it: syn-ack-retries.pkt",
    "net.ipv4.tcp_invalid_ratelimit": "scripts compare it: ack-too-old.pkt",
    "net.ipv4.tcp_shrink_window": "scripts of packetdrill compare it",
    "net.ipv4.tcp_autocorking": "scripts compare it: short-segments-join.pkt",
    "net.ipv4.tcp_pacing_ca_ratio": "the campaign over Wi-Fi compares it",
    "net.ipv4.tcp_pacing_ss_ratio": "the campaign over Wi-Fi compares it",
    "net.ipv4.tcp_syn_linear_timeouts": "scripts compare it: stacks/syn-timeouts-*.pkt",
    "net.ipv4.tcp_pingpong_thresh": "no kernel run sets it yet",
    "net.ipv4.tcp_rto_max_ms": "newer than the kernel of the runs",
    "net.ipv4.tcp_comp_sack_rtt_percent": "newer than the kernel of the runs",
    "net.ipv4.tcp_rcvbuf_low_rtt": "newer than the kernel of the runs",
    "net.ipv4.tcp_ecn_fallback": "the runs lose no SYN",
    "net.ipv4.tcp_ecn_option": "newer than the kernel of the runs",
    "net.ipv4.tcp_ecn_option_beacon": "newer than the kernel of the runs",
    "net.ipv4.tcp_limit_output_bytes": "the campaign over Wi-Fi compares it",
}
"""Sysctls that no conformance run sets, and why."""

DEMO = """\
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: client -> server}]
duration: 1s
hosts: {client: {stack: linux-7.3, sysctl: {net.ipv4.tcp_sack: 0}}, server: }
"""


def set_by_runs() -> Iterator[str]:
    for file in FOLDER.glob("*.yaml"):
        yield from re.findall(r"net\.[a-z0-9_.]+", file.read_text(encoding="utf-8"))


def test_each_sysctl_is_compared_with_a_kernel_or_says_why_not() -> None:
    assert {row.name for row in SYSCTLS} - set(set_by_runs()) == set(UNCOMPARED)


def test_experiments_and_the_simulator_have_the_same_sysctls() -> None:
    (run,) = scenario.loads(DEMO).runs()
    document = to_json(run.scenario)
    document["hosts"][0]["sysctl"] = {"net.ipv4.made_up": 1}
    with pytest.raises(ValueError, match="not a sysctl the simulator has") as caught:
        _core.check(json.dumps(document))
    assert set(re.findall(r"net\.[a-z0-9_.]+", str(caught.value))) - {"net.ipv4.made_up"} == {
        row.name for row in SYSCTLS
    }


@pytest.mark.parametrize("row", SYSCTLS, ids=lambda row: row.name)
def test_the_simulator_takes_the_least_the_largest_and_the_usual_value(row: Sysctl) -> None:
    least, largest = [row.least] * row.count, [row.most] * row.count
    for values in (least, largest, [int(word) for word in row.default.split()]):
        # Only RACK detects losses in the simulator.
        numbers = [number | 1 for number in values] if row.name == "net.ipv4.tcp_recovery" else values
        value = numbers[0] if row.count == 1 else numbers
        file = yaml.safe_load(DEMO)
        file["hosts"]["client"]["sysctl"] = {row.name: value}
        (run,) = scenario.loads(yaml.safe_dump(file)).runs()
        _core.check(json.dumps(to_json(run.scenario)))
