"""Every packet is accounted for, however it ends, wherever it goes, in whatever trains, watched or not.

A run whose ledgers do not add up fails, in every build; so each run below need only reach its end, with the drops that
it is about.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailback import _core
from tailback.resolved import to_text
from tailback.scenario import loads

ENDS: dict[str, tuple[str, str]] = {
    "tail_full": ("qdisc", "pfifo limit 5"),
    "overlimit": ("qdisc", "htb rate 1mbit | fq_codel limit 8"),
    "overmemory": ("qdisc", "htb rate 1mbit | fq_codel memory_limit 12000"),
    "aqm": ("qdisc", "htb rate 1mbit | codel target 1ms interval 5ms"),
    "flow_full": ("qdisc", "htb rate 1mbit | fq flow_limit 4"),
    "horizon": ("qdisc", "fq horizon 1us horizon_drop"),
    "too_long": ("qdisc", "tbf rate 1mbit burst 1200b limit 60kb"),
    "ack_filtered": ("back", "cake bandwidth 150kbit ack-filter"),
    "unclassified": ("qdisc", "drr; class 1; filter to c flowid 1"),
    "random_loss": ("link", "loss: 5%"),
    "corrupted": ("link", "corrupt: 10%"),
    "link_down": ("link", "schedule: [{at: 60ms, state: down}, {at: 120ms, state: up}]"),
    "policed": ("link", "police: rate 2mbit burst 6kb"),
    "retry_limit": ("cell", "loss: 90%"),
    "none": ("link", "duplicate: 10%, jitter: 2ms, reorder: 10%"),
}
"""How packets end, by the reason in the table `events`: by a discipline, a link or a cell, with its words."""

NOT_HERE = {
    "no_socket": "hosts have sockets for all packets",
    "reorder_timeout": "it needs a minute of bad luck",
    "segmented": "no packet ends by it: its segments take its place",
}

NETWORKS = {
    "wires": "{ends: [a, r], rate: 20mbit}",
    "lan": "{lan: [a, c, r], rate: 20mbit}",
    "air": "{wifi: {ap: r, stations: [a]}, standard: 802.11n, width: 20MHz, mcs: 4, driver: ath9k CELL}",
}
"""What is between host `a` and router `r`."""

EXPERIMENT = """\
links: [NETWORK, {ends: [r, b], rate: 5mbit, delay: 3ms LINK}, {ends: [r, c2], rate: 5mbit}]
qdiscs: QDISCS
traffic:
  - {tcp: a -> b, name: up, max_pacing_rate: 40mbit}
  - {tcp: b -> a, name: down}
  - {udp: a -> b, rate: 1mbit, size: 1400b}
  - {ping: b -> a, interval: 10ms}
duration: 300ms
vary:
  offloads: ["off", gso, "on"]
  watched: {no: {measure: {pcap: []}}, yes: {measure: {pcap: [a, r, b], packets: [0s, 300ms]}}}
"""


def experiment(network: str, end: str) -> str:
    kind, words = ENDS[end]
    words = words.replace("to c ", "to c2 ")
    devices = {"qdisc": ["r -> b", "b -> r"], "back": ["b -> r"]}.get(kind, [])
    disciplines = ", ".join(f"{device}: '{words}'" for device in devices)
    text = EXPERIMENT.replace("NETWORK", NETWORKS[network]).replace("QDISCS", f"{{{disciplines}}}")
    text = text.replace("LINK", f", {words}" if kind == "link" else "")
    return text.replace(" CELL", f", {words}" if kind == "cell" else "")


WHERE = [(end, network) for end in ENDS for network in NETWORKS if ENDS[end][0] != "cell" or network == "air"]


@pytest.mark.parametrize(("end", "network"), WHERE)
def test_packets_are_accounted_for_whatever_ends_them(end: str, network: str) -> None:
    seen = 0
    for run in loads(experiment(network, end)).runs():
        outcome = _core.run(to_text(run.scenario).decode(), None)
        seen += drops(outcome, end)
        assert bool(outcome["captures"]) == (run.axes["watched"] == "yes")
    assert seen > 0 or end == "none", f"no packet ended by {end}: the case does not show what it is about"


def drops(outcome: Any, reason: str) -> int:
    table = outcome["tables"]["events"]
    places, words = table.words("reason")
    return int((np.frombuffer(places, np.int64) == words.index(reason)).sum()) if reason in words else 0


def test_each_reason_of_the_core_has_its_case() -> None:
    source = (Path(__file__).parents[3] / "crates/packet/src/lib.rs").read_text()
    reasons = set(re.findall(r'DropReason::\w+ => "(\w+)"', source))
    assert reasons == (set(ENDS) - {"none"}) | set(NOT_HERE)


def test_of_a_train_that_is_damaged_one_segment_is_lost() -> None:
    """As netem does on Linux: it cuts the train, damages one segment and lets the others draw again."""
    text = experiment("wires", "corrupted").replace("corrupt: 10%", "corrupt: 2%").replace("300ms", "1s")
    lost = {}
    for run in loads(text).runs():
        outcome = _core.run(to_text(run.scenario).decode(), None)
        lost[run.axes["offloads"]] = drops(outcome, "corrupted") / outcome["cost"]["segments"]
    # A train is one packet to netem: the longer the trains, the fewer draws, and of each hit one segment is lost.
    assert lost["on"] <= lost["off"] <= 0.06, lost
