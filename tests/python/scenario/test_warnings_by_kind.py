"""Each warning beside each kind of traffic: given where it holds, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback.scenario import CoreRegistry, lint, loads
from tailback.scenario.flows import flows
from tailback.scenario.lint import WARNINGS
from tailback.scenario.meanings import KINDS, MEANINGS
from tailback.scenario.packets import is_over_tcp
from tailback.scenario.traffic.registry import KINDS as TRAFFIC

ENDPOINT = Path(__file__).parents[3] / "examples" / "transports" / "python" / "aimd.py"

ENTRIES = {
    # Data goes from a to s.
    "tcp": "{tcp: a -> s, KEYS}",
    "udp": "{udp: a -> s, rate: 60mbit, KEYS}",
    "ping": "{ping: a -> s, interval: 200ms, KEYS}",
    "call": "{call: a -> s, KEYS}",
    "game": "{game: a -> s, KEYS}",
    "request": "{request: s -> a, answer: 1mb, KEYS}",
    "page": "{page: s -> a, KEYS}",
    "video": "{video: s -> a, KEYS}",
    "endpoint": f"{{endpoint: {ENDPOINT}, from: a, to: s, KEYS}}",
}

FILE = """\
title: TITLE
links:
  - {ends: [a, r], rate: 100mbit, delay: 20ms, NEAR}
  - {ends: [r, s], rate: 50mbit, delay: 20ms, FAR}
qdiscs:
  r -> s: BEHIND
  a -> r: BEFORE
traffic: [ENTRY]
duration: 20s
measure: {warmup: 5s}
REST
"""

PLAIN = {
    "TITLE": "plain", "NEAR": "mtu: 1500", "FAR": "mtu: 1500", "BEHIND": "pfifo limit 999",
    "BEFORE": "pfifo limit 1000",
    "KEYS": "jitter: 10ms", "REST": "",
}  # fmt: skip

PROVOKED: dict[str, dict[str, str]] = {
    "bytes-per-second": {"NEAR": "mtu: 1500, schedule: [{at: 1s, rate: 12mbps}]"},
    "bare-number": {"BEHIND": "codel target 5"},
    "queue-below-bdp": {"BEHIND": "pfifo limit 20"},
    "nothing-passes": {"BEHIND": "bfifo limit 100b"},
    "no-marks": {"REST": "cc: dctcp"},
    "ecn-not-requested": {"BEHIND": "codel ecn"},
    "scalable-in-classic-queue": {"BEHIND": "codel ecn", "REST": "cc: prague"},
    "scalable-unpaced": {"BEFORE": "fq nopacing", "REST": "cc: prague"},
    "accecn-at-one-end": {"REST": "hosts: {a: {stack: linux-7.3, sysctl: {net.ipv4.tcp_ecn: 3}}, r: , s: }"},
    "burst-above-queue": {"BEHIND": "htb rate 20mbit burst 200kb | pfifo limit 20"},
    "netem-at-sender": {"BEFORE": "netem delay 5ms limit 100000"},
    "netem-limit": {"BEHIND": "netem delay 100ms limit 20"},
    "netem-reorders": {"BEHIND": "netem delay 20ms 5ms limit 10000"},
    "bottleneck-elsewhere": {"TITLE": "a local bottleneck"},
    "bbr-internal-pacing": {"REST": "cc: bbr"},
    "skbs-lost-whole": {"NEAR": "loss: 1%", "REST": "offloads: on"},
    "jitter-above-delay": {"NEAR": "jitter: 30ms"},
    "change-unmeasured": {
        "NEAR": "schedule: [{at: 18s, rate: 20mbit}]",
        "measure: {warmup: 5s}": "measure: {window: [6s, 15s]}",
    },
    "few-pings": {},
    "without-effect": {"REST": "let: {buffer: 20}"},
    "slow-start-measured": {"REST": "#"},
    "silence-measured": {"KEYS": "stop: 15s}, {page: s -> a, name: other"},
    "repetitions-alike": {"KEYS": "start: 0s", "REST": "repeat: 3"},
    "large-skbs": {"NEAR": "rate: 10mbit", "REST": "offloads: on"},
    "adaptive-without-effect": {"BEHIND": "red limit 400k avpkt 1000 adaptive"},
    "htb-unshaped": {"BEHIND": '"htb; class 10 rate 10mbit"'},
    "htb-quantum": {"BEHIND": '"htb default 1; class 1 rate 30mbit ceil 90mbit; class 2 rate 10mbit ceil 90mbit"'},
    "unclassified": {"BEHIND": '"drr; class 1; filter dscp CS5 flowid 1"'},
}
"""The changes of the file that provoke a warning."""

ELSEWHERE = {
    "queue-bounded-by-tsq": "a path of one link: test_lint.py",
    "trace-repeats": "a file of a trace: test_links.py",
    "completion-unmeasured": "flows that end: test_lint.py",
    "no-shell": "programs: test_programs.py",
    "out-of-reach": "a cell of Wi-Fi: test_reach.py",
}


def provoked(code: str, kind: str) -> str:
    changes = {**PLAIN, **PROVOKED[code]}
    if kind == "endpoint" and "stop: 15s" in changes["KEYS"]:
        changes["KEYS"] = changes["KEYS"].replace("stop: 15s", "jitter: 10ms")
    text = FILE.replace("ENTRY", ENTRIES[kind])
    if code == "large-skbs":
        text = text.replace("rate: 100mbit, delay: 20ms, NEAR", "delay: 20ms, rate: 10mbit")
    if code == "slow-start-measured":
        text = text.replace("measure: {warmup: 5s}\n", "")
    for name, value in changes.items():
        text = text.replace(name, value)
    return text


def codes(text: str) -> set[str]:
    return {warning.code for warning in lint(loads(text))}


def test_every_kind_of_traffic_and_every_warning_is_in_the_table() -> None:
    assert set(ENTRIES) == set(TRAFFIC) == set(KINDS["all"])
    assert set(WARNINGS) == set(MEANINGS) == {*PROVOKED, *ELSEWHERE}


@pytest.mark.parametrize("kind", ENTRIES)
@pytest.mark.parametrize("code", PROVOKED)
def test_a_warning_is_given_for_the_traffic_that_it_is_about_and_for_no_other(code: str, kind: str) -> None:
    said = codes(provoked(code, kind))
    assert (code in said) == (kind in KINDS[MEANINGS[code].concerns])


@pytest.mark.parametrize("kind", ENTRIES)
def test_traffic_over_tcp_is_what_has_a_congestion_control(kind: str) -> None:
    text = provoked("bare-number", kind)
    (flow,) = flows(loads(text, registry=CoreRegistry()).configurations[0].keys)
    assert is_over_tcp(flow) == hasattr(flow, "cc")


@pytest.mark.parametrize(
    ("before", "code"),
    [
        # What goes back, a child, a filter that takes everything, and one whose class is no leaf.
        ("s -> r: bfifo limit 30b", "nothing-passes"),
        ("r -> s: tbf rate 9mbit burst 100b latency 50ms", "nothing-passes"),
        ('r -> s: "prio; class 1 | tbf rate 9mbit burst 100b latency 50ms"', "nothing-passes"),
        ('s -> r: "htb; class 10 rate 10mbit"', "htb-unshaped"),
        ('r -> s: "htb; class 10 rate 10mbit; filter from s flowid 10"', "htb-unshaped"),
        ('r -> s: "htb; class 1 rate 9mbit; class 10 parent 1 rate 1mbit; filter all flowid 1"', "htb-unshaped"),
        ('r -> s: "htb default 9; class 9 rate 9mbit | drr; class 8 rate 1mbit"', "unclassified"),
        ('r -> s: "prio; class 1 | netem loss 100%"', "nothing-passes"),
        ('r -> s: "htb default 9; class 9 rate 9mbit burst 90kb | pfifo limit 9"', "burst-above-queue"),
    ],
)
def test_a_warning_holds_for_what_goes_back_and_for_children(before: str, code: str) -> None:
    text = FILE.replace("ENTRY", ENTRIES["tcp"]).replace("r -> s: BEHIND", before)
    for name, value in PLAIN.items():
        text = text.replace(name, value)
    assert code in codes(text)


def test_classes_that_take_all_packets_have_no_warning() -> None:
    for shaper in ('"htb default 10; class 10 rate 10mbit"', '"htb; class 10 rate 10mbit; filter from a flowid 10"'):
        text = FILE.replace("ENTRY", ENTRIES["udp"]).replace("BEHIND", shaper)
        for name, value in PLAIN.items():
            text = text.replace(name, value)
        assert "htb-unshaped" not in codes(text)


@pytest.mark.parametrize("key", ["cc: bbr", "tsq: off"])
@pytest.mark.parametrize("kind", ENTRIES)
def test_what_only_tcp_has_is_without_effect_where_nothing_is_over_tcp(key: str, kind: str) -> None:
    text = FILE.replace("ENTRY", ENTRIES[kind])
    for name, value in {**PLAIN, "REST": key}.items():
        text = text.replace(name, value)
    assert ("without-effect" in codes(text)) == (kind not in KINDS["over tcp"])


def test_a_variable_that_is_used_is_no_warning_however_it_is_used() -> None:
    plain = FILE.replace("ENTRY", ENTRIES["tcp"])
    for changes in (
        {"BEHIND": "'${buffer}'", "REST": "let: {buffer: pfifo limit 300}"},
        {"BEHIND": "'${inner}'", "REST": "let: {buffer: 300, inner: 'pfifo limit ${buffer}'}"},
        {"BEHIND": "'${q}'", "REST": "let: {q: x, n: 300}\nvary: {q: ['pfifo limit ${n}', fq_codel]}"},
        {"BEHIND": "'pfifo limit ${buffer}'", "REST": "let: {buffer: 300}\nvary: {buffer: [300, 400]}"},
    ):
        text = plain
        for name, value in {**PLAIN, **changes}.items():
            text = text.replace(name, value)
        assert "without-effect" not in codes(text)
