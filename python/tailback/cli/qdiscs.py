"""The disciplines at the end of a run as text, as `tc -s qdisc show` and `tc -s class show` print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Entry: TypeAlias = Mapping[str, Any]

#: Options whose JSON is in byte/s, µs, bytes or packets; `tc` prints all others as they are.
_RATES = ("rate", "maxrate", "low_rate_threshold", "bandwidth", "threshold_rate")
_TIMES = ("target", "interval", "ce_threshold", "tupdate", "refill_delay", "horizon", "lat", "rtt", "step_thresh")
_SIZES = ("memory_limit", "memlimit", "min", "max")
_IN_BYTES = ("bfifo", "red")
#: Printed without their name, and not at all.
_VALUES_ALONE = ("diffserv", "flowmode", "autorate", "atm")
_NOT_PRINTED = ("multiqueue",)

#: The lines of counters under the two that all kinds have.
_LINES: Mapping[str, Sequence[Sequence[str]]] = {
    "codel": (
        ("count", "lastcount", "ldelay", "drop_next"),
        ("maxpacket", "ecn_mark", "drop_overlimit", "ce_mark"),
    ),
    "fq_codel": (
        ("maxpacket", "drop_overlimit", "new_flow_count", "ecn_mark", "ce_mark", "memory_used", "drop_overmemory"),
        ("new_flows_len", "old_flows_len"),
    ),
    "pie": (("prob", "delay", "avg_dq_rate"), ("pkts_in", "overlimit", "dropped", "maxq", "ecn_mark")),
    "fq_pie": (
        ("pkts_in", "overlimit", "overmemory", "dropped", "ecn_mark"),
        ("new_flow_count", "new_flows_len", "old_flows_len", "memory_used"),
    ),
    "red": (("marked", "early", "pdrop", "other", "max_P"),),
    "fq": (
        ("flows", "inactive", "throttled_flows"),
        ("gc", "fastpath", "throttled", "ce_mark", "flows_plimit", "pkts_too_long", "horizon_drops", "horizon_caps"),
    ),
    "netem": (("delayed", "dropped", "corrupted", "duplicated", "reordered", "ecn_marked"),),
    "tbf": (("tokens", "ptokens"),),
    "dualpi2": (
        ("prob", "credit", "memory_used", "maxq"),
        ("packets_in_c", "packets_in_l", "ecn_mark", "step_marks"),
    ),
}

#: The lines of the table of `cake`'s tins.
_TIN_LINES: Mapping[str, tuple[str, ...]] = {
    "thresh": ("threshold_rate",), "target": ("target_us",), "interval": ("interval_us",),
    "pk_delay": ("peak_delay_us",), "av_delay": ("avg_delay_us",), "sp_delay": ("base_delay_us",),
    "backlog": ("backlog_bytes",), "pkts": ("sent_packets",), "bytes": ("sent_bytes",),
    "way_inds": ("way_indirect_hits",), "way_miss": ("way_misses",), "way_cols": ("way_collisions",),
    "drops": ("drops",), "marks": ("ecn_mark",), "ack_drop": ("ack_drops",), "sp_flows": ("sparse_flows",),
    "bk_flows": ("bulk_flows",), "un_flows": ("unresponsive_flows",), "max_len": ("max_pkt_len",),
    "quantum": ("flow_quantum",),
}  # fmt: skip
_TINS = {1: [""], 3: ["Bulk", "Best Effort", "Voice"], 4: ["Bulk", "Best Effort", "Video", "Voice"]}
_TIN_WIDTH = 13


def text(entries: Iterable[Entry]) -> str:
    """All of them."""
    return "\n".join(line for entry in entries for line in _lines(entry))


def _lines(entry: Entry) -> Iterator[str]:
    place = "root" if entry.get("root") else f"parent {entry['parent']}"
    words = " ".join(_options(entry))
    yield f"qdisc {entry['kind']} {entry['handle']} dev {entry['dev']} {place} {words}".rstrip()
    yield from _counted(entry)
    for names in _LINES.get(entry["kind"], ()):
        there = [f"{name} {_counter(name, entry[name])}" for name in names if name in entry]
        if there:
            yield f"  {' '.join(there)}"
    if "tins" in entry:
        yield from _cake(entry)
    for each in entry.get("classes", ()):
        yield from _class(entry["kind"], each)


def _counted(entry: Entry) -> Iterator[str]:
    yield (
        f" Sent {entry['bytes']} bytes {entry['packets']} pkt "
        f"(dropped {entry['drops']}, overlimits {entry['overlimits']} requeues {entry['requeues']})"
    )
    yield f" backlog {size(entry['backlog'])} {entry['qlen']}p requeues {entry['requeues']}"


def _class(kind: str, each: Entry) -> Iterator[str]:
    place = f"parent {each['parent']}" if "parent" in each else "root"
    yield f"class {kind} {each['class']} {place}"
    yield from _counted(each)
    if "lended" in each:
        yield f"  lended: {each['lended']} borrowed: {each['borrowed']} giants: {each['giants']}"
        yield f"  tokens: {each['tokens']} ctokens: {each['ctokens']}"


def _options(entry: Entry) -> Iterator[str]:
    for name, value in entry["options"].items():
        if name in _NOT_PRINTED:
            continue
        if name in _VALUES_ALONE:
            yield str(value)
        elif isinstance(value, dict):
            yield " ".join([name, *(_number(each) for each in value.values())])
        elif value is None or value is True:
            yield name
        elif value is not False:
            yield f"{name} {_option(entry['kind'], name, value)}"


def _option(kind: str, name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(map(str, value))
    if name == "limit":
        return size(value) if kind in _IN_BYTES else f"{value}p"
    for names, shown in ((_RATES, rate), (_TIMES, microseconds), (_SIZES, size)):
        if name in names:
            return shown(value)
    return _number(value)


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counter(name: str, value: Any) -> str:
    return microseconds(value) if name in ("ldelay", "drop_next", "delay") else _number(value)


def _cake(entry: Entry) -> Iterator[str]:
    limit = size(entry["memory_limit"])
    yield f"  memory used: {size(entry['memory_used'])} of {limit}"
    yield f"  capacity estimate: {rate(entry['capacity_estimate'])}"
    yield f"  min/max network layer size: {entry['min_network_size']:12} / {entry['max_network_size']:7}"
    yield f"  min/max overhead-adjusted size: {entry['min_adj_size']:8} / {entry['max_adj_size']:7}"
    yield f"  average network hdr offset: {entry['avg_hdr_offset']:12}"
    tins = entry["tins"]
    names = _TINS.get(len(tins)) or [f"Tin {number}" for number in range(len(tins))]
    yield ""
    yield " " * 11 + "".join(f"{name or 'Tin 0':>{_TIN_WIDTH}}" for name in names)
    for heading, of in _TIN_LINES.items():
        yield f"  {heading:9}" + "".join(f"{_tin(tin, of):>{_TIN_WIDTH}}" for tin in tins)


def _tin(tin: Entry, names: tuple[str, ...]) -> str:
    value = sum(tin[name] for name in names)
    if names[0].endswith("_us"):
        return microseconds(value)
    if names[0] in _RATES:
        return rate(value)
    return size(value) if names == ("backlog_bytes",) else str(value)


def rate(bytes_per_second: float) -> str:
    """A rate as `tc` prints it: `10Mbit`."""
    bits = bytes_per_second * 8
    for letter in ("", "K", "M", "G", "T"):
        if bits < 1000 or letter == "T" or (bits % 1000 and bits < 1_000_000):
            return f"{bits:.0f}{letter}bit"
        bits /= 1000
    return f"{bits:.0f}bit"


def size(count: int) -> str:
    """A size as `tc` prints it: `32Mb`, `15Kb`, `1600b`."""
    for unit, letters, near in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        whole = round(count / unit)
        if count >= unit and abs(whole * unit - count) < near:
            return f"{whole}{letters}"
    return f"{count}b"


def microseconds(count: float) -> str:
    """A time as `tc` prints it: `5ms`, `100us`."""
    for unit, letters in ((1e6, "s"), (1e3, "ms")):
        if abs(count) >= unit:
            return f"{count / unit:.3g}{letters}"
    return f"{count:.0f}us"
