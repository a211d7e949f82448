"""What `tc` shows at the end of a run on a kernel, and what it does not know."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailback.backends.linux.disciplines import hidden_of
from tailback.backends.linux.hops import hops_of
from tailback.backends.linux.qdisc_stats import of_kernel, parsed
from tailback.resolved import of_json

PRINTED = (
    '[{"kind":"htb","handle":"1:","dev":"d0","root":true,"options":{"r2q":10},"bytes":1},'
    '{"kind":"dualpi2","handle":"2:","dev":"d0","parent":"1:1","options":{[Unknown qdisc, optlen=112] },"bytes":2}]'
)
"""iproute2 6.1 above Linux 7.3."""


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


OPTIONS = b"".join(
    (
        attribute(1, struct.pack("=I", 10000)), attribute(3, struct.pack("=I", 15000)),
        attribute(5, struct.pack("=I", 41)), attribute(8, struct.pack("=I", 1000)), attribute(10, b"\2"),
        attribute(11, b"\1"), attribute(12, b"\0"), attribute(13, b"\12"),
    )
)  # fmt: skip
STATISTICS = struct.pack("=8Ii3I", 0xFFFFFFFF // 2, 0, 0, 10, 20, 7, 30, 5, -3000, 99, 999, 9999)


def test_what_tc_prints_of_a_discipline_that_it_does_not_know_is_read_without_its_options() -> None:
    rows = parsed(PRINTED)
    assert [(row["kind"], row["bytes"], row["options"]) for row in rows] == [
        ("htb", 1, {"r2q": 10}),
        ("dualpi2", 2, {}),
    ]


def test_its_options_and_counters_come_over_netlink(tmp_path: Path, scenario: Callable[..., Any]) -> None:
    found = of_json(scenario())
    [hop] = [each for each in hops_of(found) if found.hosts[each.host].name == "client"]
    hidden = hidden_of(found, hop)
    place = {"dev": hop.device, "handle": f"{hidden + 2:x}:", "parent": f"{hidden + 1:x}:1"}
    row = {"kind": "dualpi2", **place, "options": {}, "bytes": 2}
    (tmp_path / f"qdiscs-{hop.host}.json").write_text(
        json.dumps([row]).replace('"options": {}', '"options": {[Unknown qdisc, optlen=112] }')
    )
    words = {"dev": hop.device, "handle": (hidden + 2) << 16, "kind": "dualpi2"}
    (tmp_path / f"unknown-{hop.host}.json").write_text(
        json.dumps([{**words, "options": list(OPTIONS), "statistics": list(STATISTICS)}])
    )
    [shown] = of_kernel(found, tmp_path)
    assert shown["options"] == {
        "limit": 10000, "target": 15000, "alpha": 41 / 256, "step_thresh": 1000, "coupling_factor": 2,
        "drop_on_overload": True, "classic_protection": 10,
    }  # fmt: skip
    assert (shown["ecn_mark"], shown["step_marks"], shown["packets_in_l"], shown["credit"]) == (30, 5, 20, -3000)
    assert round(shown["prob"], 3) == 0.5
