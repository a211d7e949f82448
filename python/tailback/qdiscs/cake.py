"""`cake`: shaper, tins, fairness of hosts and flows.                                 [iproute2 q_cake.c]"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Form, Grammar, Options, Table, Words, keyword, one_of
from tailback.tc.printing import microseconds, rate, size
from tailback.tc.units import time_word
from tailback.tc.writing import Units, word_of

_TINS = ("diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence")
_ISOLATIONS = (
    "triple-isolate", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
)  # fmt: skip
_FRAMINGS = ("noatm", "atm", "ptm")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "framing": _FRAMINGS,
    "tins": _TINS,
    "isolation": _ISOLATIONS,
    "ack_filter": ("no-ack-filter", "ack-filter", "ack-filter-aggressive"),
    "ingress": ("egress", "ingress"),
    "nat": ("nonat", "nat"),
    "wash": ("nowash", "wash"),
    "split_gso": ("no-split-gso", "split-gso"),
}
"""The keywords of each option, in the order of its values."""
_FLAGS = ("nat", "wash")
"""The options among them that are flags in `tc`."""

_MS = 10**6
_ROUND_TRIPS = {
    "datacentre": 100_000, "lan": _MS, "metro": 10 * _MS, "regional": 30 * _MS, "internet": 100 * _MS,
    "oceanic": 300 * _MS, "satellite": 1000 * _MS, "interplanetary": 1000 * 1000 * _MS,
}  # fmt: skip
"""The round-trip time of each keyword, in ns. [linux-6.12 sch_cake.c]"""

_LINK_OVERHEAD = "added overhead"
"""Pseudo-option: an overhead that is added to the previous one."""

_LINKS: dict[str, Options] = {
    "raw": {"raw": 1, "overhead": 0, "undercharge": 0, "framing": 0},
    "conservative": {"overhead": 48, "undercharge": 0, "raw": 0, "framing": 1},
    "ipoa-vcmux": {_LINK_OVERHEAD: 8, "framing": 1},
    "ipoa-llcsnap": {_LINK_OVERHEAD: 16, "framing": 1},
    "bridged-vcmux": {_LINK_OVERHEAD: 24, "framing": 1},
    "bridged-llcsnap": {_LINK_OVERHEAD: 32, "framing": 1},
    "pppoa-vcmux": {_LINK_OVERHEAD: 10, "framing": 1},
    "pppoa-llc": {_LINK_OVERHEAD: 14, "framing": 1},
    "pppoe-vcmux": {_LINK_OVERHEAD: 32, "framing": 1},
    "pppoe-llcsnap": {_LINK_OVERHEAD: 40, "framing": 1},
    "pppoe-ptm": {_LINK_OVERHEAD: 30, "framing": 2},
    "bridged-ptm": {_LINK_OVERHEAD: 22, "framing": 2},
    "docsis": {_LINK_OVERHEAD: 18, "mpu": 64, "framing": 0},
    "ethernet": {_LINK_OVERHEAD: 38, "mpu": 84},
    "ether-vlan": {_LINK_OVERHEAD: 4},
    "via-ethernet": {},
}
"""Overhead, framing and minimum packet size by keyword of link. [tc-cake(8)]"""


def _added(found: Options, given: Options) -> Options:
    """Adds the overheads of several link keywords. `raw` stays: an overhead after it is added to the frame.

    [iproute2 q_cake.c overhead_override] [linux-6.12 sch_cake.c cake_change]
    """
    added = {name: value for name, value in given.items() if name != _LINK_OVERHEAD}
    if _LINK_OVERHEAD in given:
        added |= {"overhead": found.get("overhead", 0) + given[_LINK_OVERHEAD], "raw": 0}
    return {**added, "raw": 1} if found.get("raw") and "raw" in added else added


def _overhead(words: Words, table: Table) -> Options:
    """Reads `overhead`, which may be negative and replaces the overheads of link keywords."""
    word = words.next() or ""
    if re.fullmatch("-[0-9]{1,9}", word):
        return {"undercharge": table.value("undercharge", word[1:]), "overhead": 0, "raw": 0}
    return {"overhead": table.value("overhead", word), "undercharge": 0, "raw": 0}


def _bandwidth(words: Words, table: Table) -> Options:
    """Reads a rate, or `unlimited`, which `tc` prints there but does not read."""
    if words.peek() == "unlimited":
        words.next()
        return {"bandwidth": 0}
    return {"bandwidth": table.next_value("bandwidth", words)}


def _keywords() -> dict[str, Form]:
    found: dict[str, Form] = {"bandwidth": _bandwidth, "unlimited": keyword(bandwidth=0), "overhead": _overhead}
    for option, words in _CHOICES.items():
        if option not in _FLAGS:
            found |= one_of(option, *words)
    found |= {name: keyword(rtt=nanoseconds) for name, nanoseconds in _ROUND_TRIPS.items()}
    return found | {name: keyword(**link) for name, link in _LINKS.items()}


def _meanings() -> Iterator[tuple[str, str]]:
    yield "unlimited", "no `bandwidth`"
    for option, parameter in (("ingress", "egress"), ("split_gso", "no-split-gso")):
        yield parameter, f"the opposite of `{option}`"
    yield "split-gso", "the default"
    for name, nanoseconds in _ROUND_TRIPS.items():
        yield name, f"rtt {time_word(nanoseconds)}"
    for name, link in _LINKS.items():
        if name != "raw":
            yield name, _meaning_of(link)


def _meaning_of(link: Options) -> str:
    said = {
        _LINK_OVERHEAD: f"{link.get(_LINK_OVERHEAD)} bytes more of overhead",
        "overhead": f"overhead {link.get('overhead')}",
        "mpu": f"mpu {link.get('mpu')}",
        "framing": _FRAMINGS[link.get("framing", 0)],
    }
    return ", ".join(text for name, text in said.items() if name in link) or "nothing to add"


def _words(options: Settings, units: Units) -> Iterator[str]:
    for name in ("bandwidth", "rtt", "memlimit", "mpu", "fwmark"):
        if name in options:
            yield from (name, word_of(options[name], units[name]))
    overhead = options.get("overhead", 0) - options.get("undercharge", 0)
    if options.get("raw"):
        yield "raw"
    if "overhead" in options and (overhead or not options.get("raw")):
        yield from ("overhead", str(overhead))
    for name, choices in _CHOICES.items():
        if name in options:
            yield choices[options[name]]


def _settings(resolved: Settings) -> Json:
    framing = _FRAMINGS[resolved["framing"]]
    raw = bool(resolved["raw"])
    return {
        "bandwidth": resolved["bandwidth"] // 8 if resolved.get("bandwidth") else "unlimited",
        "diffserv": _TINS[resolved["tins"]],
        "flowmode": _ISOLATIONS[resolved["isolation"]],
        **{name: bool(resolved[name]) for name in ("nat", "wash", "ingress")},
        "ack-filter": ("disabled", "enabled", "aggressive")[resolved["ack_filter"]],
        "split_gso": bool(resolved["split_gso"]),
        "rtt": forms.nanoseconds_in_us(resolved["rtt"]),
        "raw": raw,
        **({} if raw and framing == "noatm" else {"atm": framing}),
        "overhead": resolved["overhead"] - resolved["undercharge"],
        **({"mpu": resolved["mpu"]} if resolved["mpu"] else {}),
        "fwmark": f"{resolved['fwmark']:#x}" if resolved["fwmark"] else "0",
    }


_ACK_FILTERS = {"disabled": "no-ack-filter", "enabled": "ack-filter", "aggressive": "ack-filter-aggressive"}


def _shown_words(options: Mapping[str, Any]) -> Iterator[str]:
    bandwidth = options["bandwidth"]
    yield f"bandwidth {bandwidth if isinstance(bandwidth, str) else rate(bandwidth)}"
    yield from ("autorate-ingress",) if options.get("autorate") else ()
    yield from (options["diffserv"], options["flowmode"])
    yield from ("nat" if options["nat"] else "nonat", "wash" if options["wash"] else "nowash")
    yield from ("ingress",) if options["ingress"] else ()
    yield from (_ACK_FILTERS[options["ack-filter"]], "split-gso" if options["split_gso"] else "no-split-gso")
    yield f"rtt {microseconds(options['rtt'])}"
    yield from ("raw",) if options["raw"] else ()
    yield from (options["atm"],) if "atm" in options else ()
    yield f"overhead {options['overhead']}"
    yield from (f"mpu {options['mpu']}",) if options.get("mpu") else ()
    yield from (f"memlimit {size(options['memlimit'])}",) if options.get("memlimit") else ()
    yield from (f"fwmark {options['fwmark']}",) if options.get("fwmark", "0") != "0" else ()


# -- the table of tins, as printed by `tc -s`

_TIN_LINES: Mapping[str, tuple[str, ...]] = {
    "thresh": ("threshold_rate",), "target": ("target_us",), "interval": ("interval_us",),
    "pk_delay": ("peak_delay_us",), "av_delay": ("avg_delay_us",), "sp_delay": ("base_delay_us",),
    "backlog": ("backlog_bytes",), "pkts": ("sent_packets",), "bytes": ("sent_bytes",),
    "way_inds": ("way_indirect_hits",), "way_miss": ("way_misses",), "way_cols": ("way_collisions",),
    "drops": ("drops",), "marks": ("ecn_mark",), "ack_drop": ("ack_drops",), "sp_flows": ("sparse_flows",),
    "bk_flows": ("bulk_flows",), "un_flows": ("unresponsive_flows",), "max_len": ("max_pkt_len",),
    "quantum": ("flow_quantum",),
}  # fmt: skip
_TIN_NAMES = {1: [""], 3: ["Bulk", "Best Effort", "Voice"], 4: ["Bulk", "Best Effort", "Video", "Voice"]}
_TIN_WIDTH = 13


def _table(entry: Mapping[str, Any]) -> Iterator[str]:
    if "tins" not in entry:
        return
    limit = size(entry["memory_limit"])
    yield f"  memory used: {size(entry['memory_used'])} of {limit}"
    yield f"  capacity estimate: {rate(entry['capacity_estimate'])}"
    yield f"  min/max network layer size: {entry['min_network_size']:12} / {entry['max_network_size']:7}"
    yield f"  min/max overhead-adjusted size: {entry['min_adj_size']:8} / {entry['max_adj_size']:7}"
    yield f"  average network hdr offset: {entry['avg_hdr_offset']:12}"
    tins = entry["tins"]
    names = _TIN_NAMES.get(len(tins)) or [f"Tin {number}" for number in range(len(tins))]
    yield ""
    yield " " * 11 + "".join(f"{name or 'Tin 0':>{_TIN_WIDTH}}" for name in names)
    for heading, of in _TIN_LINES.items():
        yield f"  {heading:9}" + "".join(f"{_tin(tin, of):>{_TIN_WIDTH}}" for tin in tins)


def _tin(tin: Mapping[str, Any], names: tuple[str, ...]) -> str:
    value = sum(tin[name] for name in names)
    if names[0].endswith("_us"):
        return microseconds(value)
    if names[0] == "threshold_rate":
        return rate(value)
    return size(value) if names == ("backlog_bytes",) else str(value)


ROW = Discipline(
    "cake",
    shown=Shown(
        _settings,
        if_given=("memlimit",),
        words=_shown_words,
        parts="tins",
        more=_table,
    ),
    # A kernel without connection tracking refuses even `nonat`. [linux-6.12 sch_cake.c cake_change]
    kernel=InKernel(left_out=("nat",), marks_in="tins"),
    grammar=Grammar(
        options=dict.fromkeys(("bandwidth", "rtt", "memlimit"), NOT_GIVEN_IF_ZERO),
        without_keyword=("tins", "isolation", "ack_filter", "framing", "raw", "split_gso", "undercharge"),
        forms=_keywords(),
        keywords=dict(_meanings()),
        not_modelled={"autorate-ingress": "remove it and give the `bandwidth`"},
        added=_added,
    ),
    writer=_words,
    marks="always",
    shaper="bandwidth",
)
