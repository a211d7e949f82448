"""The arguments for a kernel's `tc` are correct: our own parser reads the options back from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pytest
from msgspec import convert

from conformance.tc.strings import strings
from tailback import _core, qdiscs
from tailback.backends.linux.trees import Matches, Socket, Tree
from tailback.qdiscs import words_of
from tailback.resolved import Filter, Fits, Qdisc
from tailback.scenario import CoreRegistry, words
from tailback.tc.errors import WordError

QDISCS = CoreRegistry().qdiscs


def read(text: str) -> words.Algorithm | None:
    """A discipline without classes."""
    try:
        found = words.discipline(text, QDISCS)
        _core.resolved_qdisc(found.kind, found.options, 1500)
        return found if not found.classes else None
    except (WordError, ValueError):
        return None


READ = {text: found for text in strings() if (found := read(text)) is not None}


def settled(found: words.Algorithm, options: Mapping[str, int]) -> dict[str, int]:
    """All options except fractions, which are rounded to a decimal."""
    resolved = _core.resolved_qdisc(found.kind, dict(options), 1500)
    shares = [one["name"] for row in _core.qdiscs() for one in row["parameters"] if one["unit"] in SHARES]
    told = {name: value for name, value in resolved.items() if name not in qdiscs.of(found.kind).kernel.left_out}
    return {name: value >> 2 if name in shares else value for name, value in told.items()}


SHARES = ("percent", "fraction")


def test_every_string_of_tc_goes_to_options_and_back() -> None:
    assert len(READ) > 250
    for text, found in READ.items():
        if set(found.options) & set(qdiscs.of(found.kind).kernel.refused):
            continue
        again = read(" ".join([found.kind, *words_of(found.kind, found.options)]))
        assert again is not None, text
        assert settled(again, again.options) == settled(found, found.options), text


def test_no_kernel_is_told_of_address_translation_which_no_host_does() -> None:
    given = words.discipline("cake bandwidth 9mbit dual-srchost nat wash", QDISCS)
    assert words_of(given.kind, given.options) == ["bandwidth", "9000000bit", "dual-srchost", "wash"]
    without = words.discipline("cake nonat", QDISCS)
    assert words_of(without.kind, without.options) == []


TREE: dict[str, Any] = {
    "kind": "htb",
    "options": {"default": 0x20},
    "classes": [
        {"minor": 1, "parent": 0, "options": {"rate": 10**7}, "child": None},
        {"minor": 16, "parent": 1, "options": {"rate": 10**6}, "child": {"kind": "fq_codel", "options": {}}},
        {"minor": 32, "parent": 1, "options": {"rate": 10**6, "prio": 1}, "child": {"kind": "codel", "options": {}}},
    ],
    "filters": [
        {"fits": {"traffic": "upload"}, "class": 16},
        {"fits": {"to": 2}, "class": 16},
        {"fits": {"dscp": 46}, "class": 32},
        {"fits": "all", "class": 32},
    ],
}


def test_a_tree_is_classes_filters_and_leaves_in_the_order_tc_needs() -> None:
    matches = Matches({2: ["10.0.1.2"]}, {"upload": [Socket("tcp", 5001)]})
    lines = [" ".join(command) for command in Tree("l0", matches).commands(convert(TREE, Qdisc))]
    assert lines == [
        "qdisc add dev l0 root handle 1: htb default 20",
        "class add dev l0 parent 1: classid 1:1 htb rate 10000000bit",
        "class add dev l0 parent 1:1 classid 1:10 htb rate 1000000bit",
        "class add dev l0 parent 1:1 classid 1:20 htb rate 1000000bit prio 1",
        "filter add dev l0 parent 1: protocol ip prio 1 flower ip_proto tcp dst_port 5001 classid 1:10",
        "filter add dev l0 parent 1: protocol ip prio 1 flower ip_proto tcp src_port 5001 classid 1:10",
        "filter add dev l0 parent 1: protocol ip prio 2 flower dst_ip 10.0.1.2 classid 1:10",
        "filter add dev l0 parent 1: protocol ip prio 3 flower ip_tos 0xb8/0xfc classid 1:20",
        "filter add dev l0 parent 1: protocol all prio 4 matchall classid 1:20",
        "qdisc add dev l0 parent 1:10 handle 2: fq_codel",
        "qdisc add dev l0 parent 1:20 handle 102: codel",
    ]


def test_a_filter_matches_traffic_by_its_port_or_the_identifier_of_its_echo_requests() -> None:
    sockets = {"voice": [Socket("udp", 5001)], "ping": [Socket("icmp", 5001)]}
    filters = tuple(Filter(fits=Fits(traffic=name), minor=2) for name in sockets)
    root = Qdisc(kind="prio", filters=filters)
    lines = [" ".join(command) for command in Tree("l0", Matches({}, sockets)).commands(root)]
    assert lines[1:] == [
        "filter add dev l0 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 5001 classid 1:2",
        "filter add dev l0 parent 1: protocol ip prio 1 flower ip_proto udp src_port 5001 classid 1:2",
        "filter add dev l0 parent 1: protocol ip prio 2 u32 match ip protocol 1 0xff match u16 5001 0xffff at 24 "
        "classid 1:2",
    ]


def test_with_both_versions_of_ip_each_has_its_classifiers_and_priorities() -> None:
    matches = Matches({2: ["10.0.1.2", "fd00:1::2"]}, {"ping": [Socket("icmp", 5001)]}, (4, 6))
    fits: tuple[Fits | Literal["all"], ...] = (Fits(dscp=46), Fits(target=2), Fits(traffic="ping"), "all")
    root = Qdisc(kind="prio", filters=tuple(Filter(fits=each, minor=2) for each in fits))
    filters = [" ".join(command[5:-2]) for command in Tree("l0", matches).commands(root) if command[0] == "filter"]
    assert [line.removeprefix(" ").removeprefix("1: ") for line in filters] == [
        "protocol ip prio 1 flower ip_tos 0xb8/0xfc",
        "protocol ipv6 prio 2 flower ip_tos 0xb8/0xfc",
        "protocol ip prio 3 flower dst_ip 10.0.1.2",
        "protocol ipv6 prio 4 flower dst_ip fd00:1::2",
        "protocol ip prio 5 u32 match ip protocol 1 0xff match u16 5001 0xffff at 24",
        "protocol all prio 7 matchall",
    ]


@pytest.mark.parametrize("kind", ["series", "mq"])
def test_disciplines_that_a_kernel_does_not_support_are_refused_by_name(kind: str) -> None:
    refusal = qdiscs.of(kind).kernel.no_device
    assert refusal is not None and all(refusal)
