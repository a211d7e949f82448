"""Known differences between us and `tc`, with reasons. A test asserts that each still exists."""

from __future__ import annotations

_WRAPS = "`tc` lets it wrap around, or the kernel's 32 bits do"
_NEWER = "the `tc` of Debian 12 (6.1) does not know it; that of today does"
_NO_CONNTRACK = "`nat` looks at connections, which the kernel of the uml backend does not track; here it has no effect"

APART: dict[str, str] = {
    "tbf rate 100tbit burst 1mb latency 1s": "above 10 tbit no bucket holds a packet in the kernel's ticks",
    "tbf rate -1mbit burst 5kb latency 1s": _WRAPS,
    "tbf rate 10mbit burst 5kb latency -5ms": _WRAPS,
    "tbf rate 10mbit burst 5kb latency 500000nsec": "we read ns wherever there is a time",
    "htb default 1:10": "a class may be named with the handle of its discipline, as everywhere else",
    "choke limit 400 bandwidth 10mbit noecn": "every flag of ours has its opposite",
    "codel target -5ms": _WRAPS,
    "codel interval 5000s": _WRAPS,
    "pie tupdate -1": _WRAPS,
    "sfq redflowlimit 100000 probability 1.5": "more than certain: the kernel's 32 bits wrap around",
    "red limit 400000 min 30000 max 90000 avpkt 1000 probability 1.5": "likewise",
    "netem delay 10ms 2ms distribution uniform": "the manual names it, and no table of it is installed",
    "netem seed 42": _NEWER,
    "cake bandwidth unlimited": "`tc` prints it and does not read it; we read both",
    "cake autorate-ingress": "not modelled",
    "cake bandwidth 20mbit autorate-ingress": "not modelled",
    "cake nat": _NO_CONNTRACK,
    "cake nonat": _NO_CONNTRACK,
    "cake bandwidth 20mbit besteffort nat wash ack-filter ingress docsis memlimit 32mb rtt 30ms": _NO_CONNTRACK,
    "noqueue": "a link without a rate has none; nothing else can be without",
    "pfifo_fast bands 3": "`tc` prints it and does not read it; we read both",
    "mq": "a veth of that kernel has one transmit queue",
}
"""Strings that only one side accepts."""

ONLY_TC_SHOWS: dict[str, tuple[str, ...]] = {
    "red": ("ewma", "Scell_log"),
    "choke": ("ewma", "Scell_log"),
    "sfq": (
        "ewma", "prob_mark", "prob_mark_head", "prob_drop", "forced_mark", "forced_mark_head", "forced_drop",
    ),
    "htb": ("direct_packets_stat", "ver"),
    "cake": ("memlimit",),
}  # fmt: skip
"""Fields among the options that are derived from others, or are counters."""

# In text `tc` prints the peak rate, in JSON it leaves it out.
ONLY_WE_SHOW: dict[str, tuple[str, ...]] = {"tbf": ("peakrate",)}
"""Fields among the options that `tc` has in its text alone."""

_BURST = ("burst", "lat")


PRINTED_OTHERWISE: dict[str, tuple[str, ...]] = {
    # An older `tc` hands buckets over in whole µs; with cells it prints the bytes that fit on the wire.
    "tbf rate 1gibit burst 64kb latency 1ms": _BURST,
    "tbf rate 10mbit burst 5kb latency 50ms linklayer atm": _BURST,
    "tbf rate 10mbit burst 5kb latency 50ms linklayer adsl overhead 24": _BURST,
    # A second of sending time is more than 32 bits of ticks hold.
    "htb default 1; class 1:1 rate 8bit": ("burst", "cburst"),
    # A limit that is given cuts the slots too, of which no more are of use.
    "sfq limit 2": ("flows",),
    # Kept in jiffies.
    "fq refill_delay 10": ("refill_delay",),
    # Printed with an error of its own.
    "red limit 400000 min 30000 max 90000 avpkt 1000 probability 1": ("probability",),
    # A bare time of netem: ns to the `tc` of today and to us, µs to that of Debian 12.
    "netem delay 10": ("delay",),
    "netem delay 1000": ("delay",),
    # That `tc` forgets the correlation of duplicates unless another one is given.
    "netem duplicate 1% 25%": ("duplicate",),
}
"""Options that are equal but displayed differently."""
