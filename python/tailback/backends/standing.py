"""The disciplines at the end of a run, as `tc -s -j qdisc show` has them: one form from every backend.

A kernel says it itself. The simulator tells counters, levels and parts; what a discipline is set to is taken from the
scenario and put into `tc`'s shape here: rates in byte/s, times in µs, netem's in s and shares from 0 to 1, flags only
where they are on.                               [iproute2 q_*.c print_opt, held by `python -m conformance.tc`]

Beside `tc`: `dev` is the device's name in tables (`router -> server`), the classes of a discipline stand in `classes`
under the names that `tc -s class show` prints, and disciplines in series have the kind `series`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tailback import _core
from tailback.backends import Scenario
from tailback.backends.linux.job import hidden_of, hops_of
from tailback.backends.linux.trees import DEPTH_BITS

Options: TypeAlias = dict[str, Any]
Json: TypeAlias = dict[str, Any]
Resolved: TypeAlias = Mapping[str, int]

WHOLE = 2**32 - 1
"""All of something, as shares are counted."""

_TINS = ("diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence")
_ISOLATIONS = (
    "triple-isolate", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
)  # fmt: skip
ETHERNET_MTU = 1500
_PRIORITIES = 16
_DEFAULT_PRIOMAP = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]


def options(kind: str, resolved: Resolved) -> Options:
    """What a discipline is set to, as `tc -j qdisc show` has it."""
    return _SHAPES[kind](resolved) if kind in _SHAPES else {}


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
    shown = options(kind, resolved) | {name: own.pop(name) for name in _AMONG_OPTIONS.get(kind, ()) if name in own}
    if "memlimit" in spec.get("options", ()) and kind == "cake":
        shown["memlimit"] = resolved["memlimit"]
    below: Json = {}
    if parts:
        below["tins" if kind == "cake" else "classes"] = parts
    return {**place, "options": shown, **counted, **_in_units(kind, own), **below}


def _resolved(kind: str, spec: Mapping[str, Any], mtu: int) -> Resolved:
    given = dict(spec.get("options", {})) if spec.get("kind") == kind else {}
    try:
        return dict(_core.resolved_qdisc(kind, given, mtu))
    except ValueError:
        # A discipline above classes, or in series: there is nothing to fill in.
        return given


def _in_units(kind: str, own: Mapping[str, Any]) -> Json:
    """Probabilities from 0 to 1, as `tc` has them."""
    shares = _SHARES.get(kind, ())
    return {name: value / WHOLE if name in shares else value for name, value in own.items()}


_SHARES: Mapping[str, Sequence[str]] = {"pie": ("prob",), "dualpi2": ("prob",), "red": ("max_P",)}

#: Counters that `tc` prints among the options.
_AMONG_OPTIONS: Mapping[str, Sequence[str]] = {
    "htb": ("direct_packets_stat",),
    "sfq": ("prob_mark", "prob_mark_head", "prob_drop", "forced_mark", "forced_mark_head", "forced_drop"),
}

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


# -- shapes, one per kind


def _us(nanoseconds: int) -> int:
    return nanoseconds // 1000


def _clocked(nanoseconds: int) -> int:
    """A time that CoDel keeps in units of 1.024 µs, in µs."""
    return ((nanoseconds >> 10) << 10) // 1000


def _seconds(nanoseconds: int) -> float:
    return nanoseconds / 1e9


def _share(value: int) -> float:
    return value / WHOLE


def _on(resolved: Resolved, *names: str) -> Options:
    return {name: True for name in names if resolved.get(name)}


def _limited(resolved: Resolved) -> Options:
    return {"limit": resolved["limit"]}


def _bands(resolved: Resolved) -> Options:
    packed = resolved.get("priomap")
    priomap = _DEFAULT_PRIOMAP if packed is None else [packed >> 4 * place & 15 for place in range(_PRIORITIES)]
    return {"bands": resolved.get("bands", 3), "priomap": priomap, "multiqueue": False}


def _threshold(resolved: Resolved) -> Options:
    given = resolved.get("ce_threshold")
    return {} if given is None else {"ce_threshold": _clocked(given)}


def _codel(resolved: Resolved) -> Options:
    times = {name: _clocked(resolved[name]) for name in ("target", "interval")}
    return {**_limited(resolved), **times, **_threshold(resolved), **_on(resolved, "ecn")}


def _fq_codel(resolved: Resolved) -> Options:
    counts = {name: resolved[name] for name in ("flows", "quantum", "memory_limit", "drop_batch")}
    return {**_codel(resolved), **counts}


def _pie(resolved: Resolved) -> Options:
    times = {name: _us(resolved[name]) for name in ("target", "tupdate")}
    gains = {name: resolved[name] for name in ("alpha", "beta")}
    return {**_limited(resolved), **times, **gains, **_on(resolved, "ecn", "bytemode", "dq_rate_estimator")}


def _fq_pie(resolved: Resolved) -> Options:
    counts = {name: resolved[name] for name in ("flows", "quantum", "memory_limit", "ecn_prob")}
    return {**_pie(resolved), **counts}


def _red_law(resolved: Resolved) -> Options:
    flags = {name: bool(resolved.get(name, 0)) for name in ("ecn", "harddrop", "adaptive", "nodrop")}
    law = {name: resolved[name] for name in ("min", "max")}
    return {**law, **flags, "probability": _share(resolved["probability"])}


def _red(resolved: Resolved) -> Options:
    return {**_limited(resolved), **_red_law(resolved)}


def _sfq(resolved: Resolved) -> Options:
    counts = {name: resolved[name] for name in ("limit", "quantum", "depth", "flows", "divisor")}
    perturb = {"perturb": resolved["perturb"]} if resolved["perturb"] else {}
    law = _red_law(resolved) if "redflowlimit" in resolved else {}
    return {**counts, **perturb, **_on(resolved, "headdrop"), **law}


def _fq(resolved: Resolved) -> Options:
    counts = ("limit", "flow_limit", "buckets", "orphan_mask", "quantum", "initial_quantum")
    found: Options = {name: resolved[name] for name in counts}
    if not resolved["pacing"]:
        found["pacing"] = False
    found |= {name: resolved[name] // 8 for name in ("maxrate", "low_rate_threshold") if resolved.get(name)}
    found |= {name: _us(resolved[name]) for name in ("refill_delay", "horizon")}
    found["timer_slack"] = resolved["timer_slack"]
    if resolved.get("ce_threshold") is not None:
        found["ce_threshold"] = _us(resolved["ce_threshold"])
    found["horizon_cap" if resolved["horizon_action"] else "horizon_drop"] = None
    return found


def _tbf(resolved: Resolved) -> Options:
    rate = resolved["rate"] // 8
    found: Options = {"rate": rate, "burst": f"{size(resolved['burst'])}/1", "mpu": resolved["mpu"]}
    latency = (resolved["limit"] - resolved["burst"]) * 1e6 / rate
    if "peakrate" in resolved:
        found["mtu"] = f"{size(resolved['mtu'])}/1"
        latency = max(latency, (resolved["limit"] - resolved["mtu"]) * 8e6 / resolved["peakrate"])
    linklayer = "atm" if resolved["linklayer"] else "ethernet"
    overhead = {"overhead": resolved["overhead"]} if resolved["overhead"] else {}
    return {**found, **overhead, "lat": round(latency), "linklayer": linklayer}


def _htb(resolved: Resolved) -> Options:
    # With a rate of its own it stands for one class, the default one.
    default = resolved.get("default", 0) or int("rate" in resolved)
    return {
        "r2q": resolved.get("r2q", 10),
        "default": f"{default:#x}" if default else "0",
        "direct_qlen": resolved.get("direct_qlen", 1000),
    }


def _netem(resolved: Resolved) -> Options:
    found: Options = {**_limited(resolved)}
    if resolved["delay"] or resolved["jitter"]:
        times = {name: _seconds(resolved[name]) for name in ("delay", "jitter")}
        found["delay"] = {**times, "correlation": _share(resolved["delay_correlation"])}
    found |= _loss(resolved)
    for name in ("duplicate", "reorder", "corrupt"):
        if resolved[name]:
            found[name] = {name: _share(resolved[name]), "correlation": _share(resolved[f"{name}_correlation"])}
    if resolved.get("rate"):
        overhead = resolved["packet_overhead"] - resolved["packet_undercharge"]
        cells = {"cellsize": resolved["cell_size"], "celloverhead": resolved["cell_overhead"]}
        found["rate"] = {"rate": resolved["rate"] // 8, "packetoverhead": overhead, **cells}
    if resolved.get("slot_min") or resolved.get("slot_max"):
        least, most = resolved["slot_min"], max(resolved["slot_min"], resolved["slot_max"])
        room = {name: resolved[f"slot_{name}"] for name in ("packets", "bytes")}
        found["slot"] = {"min-delay": _seconds(least), "max-delay": _seconds(most), **room}
    return {**found, "ecn": bool(resolved["ecn"]), "gap": resolved["gap"] or int(resolved["reorder"] > 0)}


def _loss(resolved: Resolved) -> Options:
    shares = {1: ("p13", "p31", "p32", "p23", "p14"), 2: ("p", "r", "1-h", "1-k")}
    model = resolved["loss_model"]
    if model in shares:
        name = {1: "loss-state", 2: "loss-gemodel"}[model]
        return {name: {share: _share(resolved[share]) for share in shares[model]}}
    if resolved["loss"]:
        return {"loss-random": {"loss": _share(resolved["loss"]), "correlation": _share(resolved["loss_correlation"])}}
    return {}


def _cake(resolved: Resolved) -> Options:
    framing = ("noatm", "atm", "ptm")[resolved["framing"]]
    raw = bool(resolved["raw"])
    found: Options = {
        "bandwidth": resolved["bandwidth"] // 8 if resolved.get("bandwidth") else "unlimited",
        "diffserv": _TINS[resolved["tins"]],
        "flowmode": _ISOLATIONS[resolved["isolation"]],
        **{name: bool(resolved[name]) for name in ("nat", "wash", "ingress")},
        "ack-filter": ("disabled", "enabled", "aggressive")[resolved["ack_filter"]],
        "split_gso": bool(resolved["split_gso"]),
        "rtt": _us(resolved["rtt"]),
        "raw": raw,
        **({} if raw and framing == "noatm" else {"atm": framing}),
        "overhead": resolved["overhead"] - resolved["undercharge"],
        **({"mpu": resolved["mpu"]} if resolved["mpu"] else {}),
        "fwmark": f"{resolved['fwmark']:#x}" if resolved["fwmark"] else "0",
    }
    return found


def _dualpi2(resolved: Resolved) -> Options:
    times = {name: _us(resolved[name]) for name in ("target", "tupdate", "step_thresh") if name in resolved}
    counts = {name: resolved[name] for name in ("limit", "memlimit", "coupling_factor") if name in resolved}
    return {**counts, **times}


_SHAPES: Mapping[str, Callable[[Resolved], Options]] = {
    "pfifo": _limited, "bfifo": _limited, "pfifo_head_drop": _limited, "pfifo_fast": _bands, "prio": _bands,
    "codel": _codel, "fq_codel": _fq_codel, "pie": _pie, "fq_pie": _fq_pie, "red": _red, "sfq": _sfq, "fq": _fq,
    "tbf": _tbf, "htb": _htb, "netem": _netem, "cake": _cake, "dualpi2": _dualpi2,
}  # fmt: skip


def size(count: int) -> str:
    """A size as `tc` prints it: in Mb or Kb where it is near a whole number of them.   [iproute2 utils.c print_size]"""
    for unit, letters, near in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        whole = round(count / unit)
        if count >= unit and abs(whole * unit - count) < near:
            return f"{whole}{letters}"
    return f"{count}b"
