"""The disciplines at the end of a run on a kernel: what `tc -s -j qdisc show` reports, with the names of the devices in
tables, without the disciplines that emulate links (`backends/qdisc_stats.py` has the form).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailback import qdiscs
from tailback.backends.linux.disciplines import hidden_of
from tailback.backends.linux.hops import hops_of
from tailback.backends.linux.steps import Json
from tailback.backends.linux.trees import DEPTH_BITS
from tailback.resolved import Scenario


def of_kernel(scenario: Scenario, folder: Path) -> list[Json]:
    """The output of `tc` in each namespace, with the names of the devices, without disciplines that emulate links."""
    found: list[Json] = []
    for hop in hops_of(scenario):
        rows = _rows(folder, hop.host)
        name = f"{scenario.hosts[hop.host].name} -> {scenario.hosts[hop.neighbour].name}"
        mine = [row for row in rows if row.get("dev") == hop.device and row["kind"] not in ("noqueue", "ingress")]
        hidden = hidden_of(scenario, hop)
        found += [_seen(row, name, hidden) for row in mine if _depth(row) >= hidden]
    return found


UNKNOWN = re.compile(r"\[Unknown qdisc, optlen=\d+\] ?")
"""What `tc -j` prints in the place of the options of a discipline that it does not know: no JSON.
[iproute2 tc_qdisc.c print_qdisc]"""


def parsed(text: str) -> list[Json]:
    """What `tc -j qdisc show` prints, without the options that it does not know."""
    rows: list[Json] = json.loads(UNKNOWN.sub("", text))
    return rows


def _rows(folder: Path, host: int) -> list[Json]:
    """The disciplines of a host; those that `tc` does not know with what they say of themselves over netlink."""
    file, more = folder / f"qdiscs-{host}.json", folder / f"unknown-{host}.json"
    rows = parsed(file.read_text(encoding="utf-8")) if file.is_file() else []
    if not more.is_file():
        return rows
    words = {(each["dev"], each["handle"]): each for each in json.loads(more.read_text(encoding="utf-8"))}
    return [_told(row, words.get((row.get("dev"), _major(row["handle"]) << 16))) for row in rows]


def _told(row: Json, words: Mapping[str, Any] | None) -> Json:
    """The row of `tc`, with what a discipline says of itself if its kind is one that is known here."""
    decoded = qdiscs.of(row["kind"]).kernel.decoded if row["kind"] in qdiscs.KINDS else None
    if words is None or decoded is None or row.get("options"):
        return row
    options, counters = decoded(bytes(words["options"]), bytes(words["statistics"]))
    return {**row, "options": options, **counters}


def _major(handle: object) -> int:
    return int(str(handle).partition(":")[0], 16)


def _depth(row: Mapping[str, Any]) -> int:
    """The depth that a handle encodes (`trees.py`)."""
    return (_major(row["handle"]) & (1 << DEPTH_BITS) - 1) - 1


def _seen(row: Mapping[str, Any], device: str, hidden: int) -> Json:
    """The entry of a discipline, whose depth is relative to the root discipline of the scenario."""
    place: Json = {"dev": device, "kind": row["kind"], "handle": f"{_major(row['handle']) - hidden:x}:"}
    if _depth(row) == hidden:
        place["root"] = True
    else:
        minor = str(row["parent"]).partition(":")[2]
        place["parent"] = f"{_major(row['parent']) - hidden:x}:{minor}"
    return {**place, **{name: row[name] for name in row if name not in (*place, "root", "parent", "refcnt")}}
