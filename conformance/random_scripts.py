"""Draws what people paste for a device: scripts of `tc`, and what `tc qdisc show` prints, with and without `stab`."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.random_algorithms import leaf_without_children
from conformance.random_experiments import Draw

_TABLES = (
    "stab overhead 44 linklayer atm", "stab overhead -4 mpu 64 linklayer ethernet", "stab mtu 2047 tsize 512 mpu 128",
    "stab linklayer adsl overhead 40",
)  # fmt: skip


def size_table(draw: Draw, share: float) -> str:
    """A size table with a blank behind it, in this share of draws."""
    return f"{draw.one(_TABLES)} " if draw.happens(share) else ""


def script(draw: Draw) -> str:
    """A script for one device."""
    make = draw.one((_leaf, _shaper, _bands, _netem, _printed))
    lines = make(draw)
    if draw.happens(0.5):
        lines = ["#!/bin/sh", "DEV=eth0", "tc qdisc del dev $DEV root 2>/dev/null", *_of_variable(lines)]
    return "\n".join(lines) + "\n"


def _of_variable(lines: Sequence[str]) -> list[str]:
    return [line.replace("dev eth0", 'dev "$DEV"') for line in lines]


def _root(draw: Draw, words: str) -> str:
    verb = draw.one(("add", "replace"))
    return f"tc qdisc {verb} dev eth0 root handle 1: {size_table(draw, 0.4)}{words}"


def _leaf(draw: Draw) -> list[str]:
    return [_root(draw, leaf_without_children(draw))]


def _shaper(draw: Draw) -> list[str]:
    lines = [
        _root(draw, draw.one(("htb default 30", "htb default 0x10", "htb default 30 r2q 20"))),
        f"tc class add dev eth0 parent 1: classid 1:1 htb rate {draw.one(('2mbit', '6mbit'))}",
        "tc class add dev eth0 parent 1:1 classid 1:10 htb rate 500kbit ceil 2mbit prio 0",
        f"tc class add dev eth0 parent 1:1 classid 1:30 htb rate 1mbit {draw.one(('', 'burst 6k', 'quantum 1514'))}",
    ]
    if draw.happens(0.7):
        lines.append(f"tc qdisc add dev eth0 parent 1:30 handle 30: {leaf_without_children(draw)}")
    match = draw.one(("u32 match ip tos 0xb8 0xfc", "flower ip_tos 0xb8/0xfc", "u32 match u32 0 0", "matchall"))
    lines.append(f"tc filter add dev eth0 parent 1: protocol all prio 1 {match} flowid 1:{draw.one((10, 30))}")
    return lines


def _bands(draw: Draw) -> list[str]:
    return [
        _root(draw, draw.one(("prio", "prio bands 4"))),
        f"tc qdisc add dev eth0 parent 1:{draw.one((1, 2, 3))} handle 10: {leaf_without_children(draw)}",
    ]


def _netem(draw: Draw) -> list[str]:
    below = draw.one(("tbf rate 2mbit burst 5kb latency 50ms", "pfifo limit 50", "fq_codel"))
    netem = draw.one(
        ("delay 10ms", "delay 10ms 2ms 25% distribution normal", "loss gemodel 1% 10%", "delay 5ms loss 1%")
    )
    return [_root(draw, f"netem {netem} limit 200"), f"tc qdisc add dev eth0 parent 1: handle 2: {below}"]


def _printed(draw: Draw) -> list[str]:
    kind, _, options = leaf_without_children(draw).partition(" ")
    return [f"qdisc {kind} 8001: root refcnt 2 {options}".strip()]
