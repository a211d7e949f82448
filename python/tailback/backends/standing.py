"""The disciplines at the end of a run, as `tc -s -j qdisc show` has them: one form from every backend.

A kernel says it itself. The simulator tells counters, levels and parts; what a discipline is set to is taken from the
scenario and put into `tc`'s shape by the rows of `tailback.qdiscs`.
                                     [iproute2 q_*.c print_opt, compared by `python -m conformance.tc`]

Beside `tc`: `dev` is the device's name in tables (`router -> server`), the classes of a discipline stand in `classes`
under the names that `tc -s class show` prints, and disciplines in series have the kind `series`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tailback import _core, qdiscs
from tailback.backends import Scenario
from tailback.backends.linux.job import hidden_of, hops_of
from tailback.backends.linux.trees import DEPTH_BITS
from tailback.tc.options import WHOLE

Json: TypeAlias = dict[str, Any]
Resolved: TypeAlias = Mapping[str, int]

ETHERNET_MTU = 1500


def of_simulator(scenario: Scenario, rows: Sequence[Mapping[str, Any]]) -> list[Json]:
    """What `_core.run` tells of the disciplines, completed by what the scenario sets."""
    specs: dict[tuple[str, str], Mapping[str, Any]] = {}
    names = [host["name"] for host in scenario["hosts"]]
    roots = {_device(scenario, names, one): one["root"] for one in scenario["qdiscs"]}
    found = []
    for row in rows:
        device = row["dev"]
        spec = roots.get(device, {}) if "root" in row else specs.get((device, row["parent"]), {})
        specs |= {(device, place): child for place, child in _children(row["handle"], spec)}
        found.append(_entry(row, spec, _mtu(scenario, names, device)))
    return found


def _device(scenario: Scenario, names: Sequence[str], attached: Mapping[str, Any]) -> str:
    ends = _links(scenario)[attached["link"]]
    here = attached["host"]
    return f"{names[here]} -> {names[ends[1] if ends[0] == here else ends[0]]}"


def _links(scenario: Scenario) -> list[Sequence[int]]:
    """The ends of all links; a station's way to its access point counts as one."""
    cells = scenario.get("cells", ())
    ways = [[cell["access_point"], station["host"]] for cell in cells for station in cell["stations"]]
    return [*(link["ends"] for link in scenario["links"]), *ways]


def _mtu(scenario: Scenario, names: Sequence[str], device: str) -> int:
    for link in scenario["links"]:
        ends = [names[end] for end in link["ends"]]
        if device in (" -> ".join(ends), " -> ".join(reversed(ends))):
            return int(link["mtu"])
    return ETHERNET_MTU


def _children(handle: str, spec: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """The class that each child hangs on."""
    if spec.get("child"):
        yield f"{handle}1", spec["child"]
    for each in spec.get("classes", ()):
        if each.get("child"):
            yield f"{handle}{each['minor']:x}", each["child"]


def _entry(row: Mapping[str, Any], spec: Mapping[str, Any], mtu: int) -> Json:
    kind, own, parts = row["kind"], dict(row["own"]), row["parts"]
    resolved = _resolved(kind, spec, mtu)
    place = {name: row[name] for name in ("dev", "kind", "handle", "root", "parent") if name in row}
    counted = {name: row[name] for name in COUNTERS}
    shape = qdiscs.of(kind).shown
    shown = qdiscs.shown(kind, resolved, spec.get("options", {}))
    shown |= {name: own.pop(name) for name in shape.among_options if name in own}
    # Probabilities from 0 to 1, as `tc` has them.
    counters = {name: value / WHOLE if name in shape.shares else value for name, value in own.items()}
    return {**place, "options": shown, **counted, **counters, **({shape.parts: parts} if parts else {})}


def _resolved(kind: str, spec: Mapping[str, Any], mtu: int) -> Resolved:
    given = dict(spec.get("options", {})) if spec.get("kind") == kind else {}
    try:
        return dict(_core.resolved_qdisc(kind, given, mtu))
    except ValueError:
        # A discipline above classes, or in series: there is nothing to fill in.
        return given


COUNTERS = ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen")
"""What every discipline counts."""


def of_kernel(scenario: Scenario, folder: Path) -> list[Json]:
    """What `tc` said in each namespace, under the names of the devices; what stands for a link is left out."""
    found: list[Json] = []
    for hop in hops_of(scenario):
        file = folder / f"qdiscs-{hop.host}.json"
        rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        name = f"{scenario['hosts'][hop.host]['name']} -> {scenario['hosts'][hop.neighbour]['name']}"
        mine = [row for row in rows if row.get("dev") == hop.device and row["kind"] not in ("noqueue", "ingress")]
        hidden = hidden_of(scenario, hop)
        found += [_seen(row, name, hidden) for row in mine if _depth(row) >= hidden]
    return found


def _major(handle: object) -> int:
    return int(str(handle).partition(":")[0], 16)


def _depth(row: Mapping[str, Any]) -> int:
    """As handles tell it (`linux/trees.py`)."""
    return (_major(row["handle"]) & (1 << DEPTH_BITS) - 1) - 1


def _seen(row: Mapping[str, Any], device: str, hidden: int) -> Json:
    """Depths count from the first discipline of the scenario; that is its device's root."""
    place: Json = {"dev": device, "kind": row["kind"], "handle": f"{_major(row['handle']) - hidden:x}:"}
    if _depth(row) == hidden:
        place["root"] = True
    else:
        minor = str(row["parent"]).partition(":")[2]
        place["parent"] = f"{_major(row['parent']) - hidden:x}:{minor}"
    return {**place, **{name: row[name] for name in row if name not in (*place, "root", "parent", "refcnt")}}
