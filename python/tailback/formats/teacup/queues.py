"""The emulated paths of TPCONF_router_queues, as disciplines of the router's devices.

TEACUP sets up, for each entry, a class with the rate and the queue on an `ifb`, and behind it, on the device itself,
a class with `netem` for delay and loss. iptables marks the packets of an entry by source and destination; of several
entries that match, the last one counts. Packets of no entry are neither limited nor delayed. TEACUP's report 140630A
describes the other order, the delay before the bottleneck: `Order.DELAY_FIRST`.
"""

from __future__ import annotations

import enum
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback import qdiscs
from tailback.formats.teacup.evaluate import NotEvaluated, arguments
from tailback.formats.teacup.network import Hosts
from tailback.formats.teacup.notes import Effect
from tailback.formats.teacup.reading import Reading, plain_name
from tailback.formats.teacup.systems import router_options
from tailback.limits.arithmetic import Value

PACKET_BYTES = 600
"""TEACUP's mean packet size, which it uses for `bdp`."""

IN_PACKETS, IN_BYTES = ("pfifo", "codel", "fq_codel", "pie"), ("bfifo", "red")
"""Disciplines for which TEACUP computes `bdp`."""

USED = {
    "source", "dest", "rate", "delay", "loss", "rtt", "queue_disc", "queue_size", "queue_size_mult",
    "queue_disc_params", "bidir", "attach_to_queue", "avg_packet_size",
}  # fmt: skip


class Order(enum.Enum):
    """The order of the two stages of a path."""

    RATE_FIRST = "the rate and its queue, then delay and loss"
    DELAY_FIRST = "delay and loss, then the rate and its queue"


@dataclass(frozen=True)
class Conversation:
    """The hosts of a traffic entry; packets go both ways."""

    name: str
    source: str
    target: str


@dataclass(frozen=True, eq=False)
class Path:
    """One entry of the list in one direction."""

    number: str
    source: ipaddress.IPv4Network
    target: ipaddress.IPv4Network
    given: Mapping[str, Any]
    owner: str
    """The entry whose class and queue it uses: its own, or another's that it is attached to."""
    label: str
    """Part of the names of our variables."""


def read_queues(reading: Reading, hosts: Hosts, traffic: Sequence[Conversation], order: Order) -> dict[str, Any]:
    """The disciplines by device."""
    found: dict[str, Any] = {}
    lists = _lists(reading, hosts)
    for router, entries in lists.items():
        name = hosts.names.get(router)
        if name is None:
            reading.note("TPCONF_router_queues", f"`{router[:60]}` is no router that is known: its queues are left out")
            continue
        prefix = f"{name}_q" if len(lists) > 1 else "q"
        paths = [path for entry in entries for path in _paths(reading, hosts, entry, prefix)]
        for switch in dict.fromkeys(hosts.switches[each.network] for each in hosts.addresses[name]):
            stages = _device(reading, _passing(hosts, traffic, paths, name, switch), order)
            if stages:
                found[f"{name} -> {switch}"] = stages[0] if len(stages) == 1 else stages
        _unused(reading, hosts, traffic, paths, name)
    if any(isinstance(each, list) for each in found.values()):
        other = "CAIA's report 140630A describes the other order, which `--delay-first` imports"
        other = "TEACUP 1.x sets up the other order" if order is Order.DELAY_FIRST else other
        reading.note("TPCONF_router_queues", f"order of the stages: {order.value}; {other}", Effect.REMARK)
    return found


def _lists(reading: Reading, hosts: Hosts) -> dict[str, list[Value]]:
    entries = reading.get("TPCONF_router_queues", (list, tuple, dict))
    if isinstance(entries, dict):
        return {str(router): list(each) for router, each in entries.items() if isinstance(each, list | tuple)}
    return {word: list(entries) for word, name in hosts.names.items() if name in hosts.routers[:1]}


def _paths(reading: Reading, hosts: Hosts, entry: Value, prefix: str) -> list[Path]:
    """The directions of one entry."""
    try:
        number, words = entry
        given = arguments(str(words))
        ends = [hosts.network_of(str(reading.module.value_of(given[name], {}))) for name in ("source", "dest")]
    except (NotEvaluated, KeyError, ValueError, TypeError) as reason:
        reading.note("TPCONF_router_queues", f"the queue `{str(entry)[:60]}` cannot be read ({reason})")
        return []
    number = str(number)[:20]
    source, target = ends
    if source is None or target is None:
        reading.note("TPCONF_router_queues", f"queue {number} leads to no host or network that is known: left out")
        return []
    for name in given:
        if name not in USED:
            reading.note("TPCONF_router_queues", f"`{name[:30]}` of queue {number} is not one of TEACUP's keys")
    attached = reading.constant(given.get("attach_to_queue"))
    owner = str(attached) if attached not in (None, "") else number
    label = plain_name(f"{prefix}{number[:8]}")
    there = Path(number, source, target, given, owner, label)
    back = Path(number, target, source, given, owner, label)
    return [there, back] if str(reading.constant(given.get("bidir"))) == "1" else [there]


@dataclass(frozen=True)
class _Passing:
    """The packets that leave a device: of which traffic, and through which path."""

    flows: Mapping[str, Path | None]
    paths: Sequence[Path]
    """Those of the router, for attached ones."""

    def names(self, through: Sequence[Path]) -> list[str]:
        """The traffic that passes these paths."""
        return [name for name, path in self.flows.items() if path in through]


def _passing(
    hosts: Hosts, traffic: Sequence[Conversation], paths: Sequence[Path], router: str, switch: str
) -> _Passing:
    flows: dict[str, Path | None] = {}
    for flow in traffic:
        for one, other in ((flow.source, flow.target), (flow.target, flow.source)):
            source, target = hosts.first_address(one), hosts.first_address(other)
            if hosts.switches[target.network] != switch or source.network == target.network or router in (one, other):
                continue
            flows[flow.name] = _matching(paths, source, target)
    return _Passing(flows, paths)


def _matching(paths: Sequence[Path], source: ipaddress.IPv4Interface, target: ipaddress.IPv4Interface) -> Path | None:
    """Each rule of iptables that matches sets the mark, so the last one counts."""
    matching = (path for path in paths if source.ip in path.source and target.ip in path.target)
    return next(iter(reversed(list(matching))), None)


def _unused(
    reading: Reading, hosts: Hosts, traffic: Sequence[Conversation], paths: Sequence[Path], router: str
) -> None:
    """Notes entries that no imported traffic passes."""
    switches = [hosts.switches[each.network] for each in hosts.addresses[router]]
    passed = {
        path.number
        for switch in switches
        for path in _passing(hosts, traffic, paths, router, switch).flows.values()
        if path is not None
    }
    for number in dict.fromkeys(path.number for path in paths):
        if number not in passed:
            what = f"no traffic of the experiment passes queue {number} of {router}: left out"
            reading.note("TPCONF_router_queues", what, Effect.NONE)


def _device(reading: Reading, passing: _Passing, order: Order) -> list[str]:
    """The stages of a device; none if nothing that passes has an entry."""
    used = list(dict.fromkeys(path for path in passing.flows.values() if path is not None))
    if not used:
        return []
    whole = None not in passing.flows.values()
    owners = list(dict.fromkeys(path.owner for path in used))
    rates = {owner: _rate_stage(reading, _owner(reading, passing, used, owner)) for owner in owners}
    delays = {path: _delay_stage(reading, path) for path in used}
    if whole and len(owners) == 1:
        first = f"htb rate {rates[owners[0]][0]} | {rates[owners[0]][1]}"
    else:
        first = _tree(
            [(rates[owner], passing.names([path for path in used if path.owner == owner])) for owner in owners]
        )
    if whole and len(set(delays.values())) == 1:
        second = next(iter(delays.values()))
    elif any(delays.values()):
        words = {path: ("1gbit", delays[path] or "netem limit 1000") for path in used}
        second = _tree([(words[path], passing.names([path])) for path in used])
    else:
        second = ""
    stages = [stage for stage in (first, second) if stage]
    return stages[::-1] if order is Order.DELAY_FIRST else stages


def _owner(reading: Reading, passing: _Passing, used: Sequence[Path], owner: str) -> Path:
    """The path whose rate and queue the attached ones use."""
    own = next((path for path in passing.paths if path.number == owner), None)
    attached = next(path for path in used if path.owner == owner)
    if own is None:
        what = f"queue {attached.number} is attached to queue {owner[:20]}, which is not there: it has its own"
        reading.note("TPCONF_router_queues", what)
    return own or attached


def _tree(classes: Sequence[tuple[tuple[str, str], Sequence[str]]]) -> str:
    """Classes with a filter per traffic entry; what no filter matches passes directly, as in TEACUP."""
    lines = ["htb"]
    lines += [f"class {minor:x} rate {rate} | {child}" for minor, ((rate, child), _) in enumerate(classes, 1)]
    lines += [f"filter flow {name} flowid {minor:x}" for minor, (_, names) in enumerate(classes, 1) for name in names]
    return "\n".join(lines)


def _rate_stage(reading: Reading, path: Path) -> tuple[str, str]:
    """The rate, and the queue with its options."""
    given, label = path.given, path.label
    rate = reading.word(f"{label}_rate", given["rate"], _rate) if "rate" in given else None
    queue = (
        reading.word(f"{label}_queue_disc", given["queue_disc"], lambda value: _queue_words(reading, value))
        if "queue_disc" in given
        else None
    )
    size = _size(reading, label, given)
    raw = reading.word(f"{label}_params", given["queue_disc_params"], _plain) if "queue_disc_params" in given else ""
    return rate or "1000mbit", " ".join(f"{queue or 'pfifo'} {size} {raw or ''}".split())


def _delay_stage(reading: Reading, path: Path) -> str:
    """`netem` with delay and loss; empty without them."""
    given, label = path.given, path.label
    delay = reading.word(f"{label}_delay", given["delay"], _milliseconds) if "delay" in given else None
    loss = reading.word(f"{label}_loss", given["loss"], _percent) if "loss" in given else None
    parts = [f"delay {delay}"] * (delay not in (None, "0ms")) + [f"loss {loss}"] * (loss not in (None, "0%"))
    return " ".join(["netem", *parts, "limit 1000"]) if parts else ""


def _size(reading: Reading, label: str, given: Mapping[str, Any]) -> str:
    if "queue_size" not in given:
        return "limit 1000"
    if any(isinstance(each, str) and each.lower() == "bdp" for each in reading.every(given["queue_size"])):
        return f"limit {_bdp(reading, label, given)}"
    return f"limit {reading.word(f'{label}_size', given['queue_size'], _count) or 1000}"


def _bdp(reading: Reading, label: str, given: Mapping[str, Any]) -> str:
    """Rate times round-trip time, as TEACUP intended (its code converts `1.4mbit` to 1.4 bit/s)."""
    names = [name for name in ("queue_size", "queue_disc", "rate", "rtt", "delay", "queue_size_mult") if name in given]
    names += ["avg_packet_size"] * ("avg_packet_size" in given)

    def packets(values: list[Any]) -> str:
        value = dict(zip(names, values, strict=True))
        if str(value["queue_size"]).lower() != "bdp":
            return _count(value["queue_size"])
        rtt_ms = float(value["rtt"]) if value.get("rtt") not in (None, "") else 2 * float(value.get("delay") or 0)
        kind = _discipline(value.get("queue_disc", "pfifo"))
        if kind not in (*IN_PACKETS, *IN_BYTES):
            reading.note("TPCONF_router_queues", f"TEACUP stops at `bdp` of `{kind[:30]}`; here it is packets")
        size = _bits(value.get("rate") or "1000mbit") * rtt_ms / 8000 * float(value.get("queue_size_mult") or 1)
        in_bytes = kind in qdiscs.KINDS and qdiscs.of(kind).limits_bytes
        mean = float(value.get("avg_packet_size") or PACKET_BYTES)
        return str(max(2048, int(size)) if in_bytes else max(1, int(size / mean)))

    reading.note(
        "TPCONF_router_queues",
        "`bdp` is of the rate that is written, in packets of 600 bytes; TEACUP reads 1.4mbit as 1.4 bit/s",
        Effect.CHANGED,
    )
    return reading.word_of(f"{label}_size", [given[name] for name in names], packets) or "1000"


def _queue_words(reading: Reading, value: Value) -> str:
    kind = _discipline(value)
    return " ".join(f"{kind} {router_options(reading, kind)}".split())


def _plain(value: Value) -> str:
    return " ".join(str(value).split())


def _rate(value: Value) -> str:
    text = str(value).strip().lower()
    _bits(text)
    return text if not text.replace(".", "").isdigit() else f"{text}bit"


def _bits(value: Value) -> float:
    text = str(value).strip().lower()
    if not text.isascii():
        # `isdigit` also accepts digits of other scripts.
        raise ValueError(text)
    for unit, size in (("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("bit", 1.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * size
    return float(text)


def _discipline(value: Value) -> str:
    word = str(value).strip()
    if not word.replace("_", "").isalnum():
        raise ValueError(word)
    return {"fifo": "pfifo", "": "pfifo"}.get(word, word)


def _milliseconds(value: Value) -> str:
    return f"{float(value):g}ms"


def _percent(value: Value) -> str:
    return f"{float(value) * 100:g}%"


def _count(value: Value) -> str:
    """A number of packets, or bytes with `tc`'s unit."""
    found = re.fullmatch(r"([0-9]{1,12})([kKmM]?[bB]?)", str(value).strip(), re.ASCII)
    return str(int(value)) if found is None else f"{int(found[1])}{found[2].lower()}"
