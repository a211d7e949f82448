"""Random options of disciplines that a real `tc` takes and prints without rounding."""

from __future__ import annotations

import random
from collections.abc import Iterator

#: CoDel counts in 1.024 µs, rounded down, and prints 1ms as 999us.
_TIMES = ("5ms", "15ms", "40ms", "100ms", "1s")
_PACKETS = ("2", "100", "1000", "10240")
_FLAG = ("",)
_SHARES = ("0.1%", "1%", "25%", "100%")
_RATES = ("1mbit", "12mbit", "100mbit")
_BYTES = ("1514", "3000", "65536", "131072")

ALWAYS = {
    "tbf": "rate 10mbit burst 5kb latency 50ms",
    "red": "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02",
    "choke": "limit 1000 bandwidth 10mbit min 100 max 300 avpkt 1000 burst 166 probability 0.02",
    "netem": "delay 10ms",
}  # fmt: skip
"""Options without which `tc` takes nothing of the kind, or prints other values than those that were given."""

NOT_PRINTED = {"red": "avpkt 1000 burst 55 probability 0.02", "choke": "bandwidth 10mbit avpkt 1000 burst 166"}
"""What `tc` does not print, which the user has to add to a line."""

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "pfifo": {"limit": _PACKETS},
    "bfifo": {"limit": _BYTES},
    "pfifo_head_drop": {"limit": _PACKETS},
    "pfifo_fast": {},
    "prio": {"bands": ("3", "5", "16"), "priomap": ("1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "0 " * 15 + "1")},
    "tbf": {"peakrate": ("20mbit mtu 1540",)},
    "codel": {"limit": _PACKETS, "target": _TIMES, "interval": _TIMES, "ecn": _FLAG},
    "fq_codel": {
        "limit": _PACKETS, "flows": ("16", "1024"), "quantum": ("300", "1514"), "memory_limit": ("4mb", "32mb"),
        "ecn": _FLAG, "noecn": _FLAG, "drop_batch": ("1", "64"),
        "ce_threshold": ("1s ce_threshold_selector 0x1/0x3", "2s ce_threshold_selector 184/252"),
    },
    "pie": {
        "limit": _PACKETS, "target": _TIMES, "tupdate": ("16ms", "30ms"), "alpha": ("2", "10"), "beta": ("20",),
        "ecn": _FLAG, "bytemode": _FLAG,
    },
    "fq_pie": {
        "limit": _PACKETS, "flows": ("16", "1024"), "target": ("15ms",), "tupdate": ("16ms",), "alpha": ("2",),
        "beta": ("20",), "quantum": _BYTES[:2], "memory_limit": ("4mb",), "ecn_prob": ("10", "50"), "ecn": _FLAG,
    },
    "fq": {
        "limit": _PACKETS, "flow_limit": ("10", "100"), "quantum": ("1514", "3028"), "initial_quantum": ("15140",),
        "maxrate": _RATES, "nopacing": _FLAG, "refill_delay": ("40ms",), "orphan_mask": ("1023",),
        "buckets": ("256", "1024"), "low_rate_threshold": ("550kbit",),
    },
    "sfq": {
        "perturb": ("10", "60"), "quantum": ("1514", "3000"), "limit": ("127", "64"), "divisor": ("512", "1024"),
        "headdrop": _FLAG, "depth": ("64", "127"),
    },
    "netem": {
        "limit": _PACKETS, "loss": ("1%", "random 1% 25%", "gemodel 1% 10% 70% 0.1%", "state 1% 20% 5% 50% 0.1%"),
        "duplicate": ("1%",), "corrupt": _SHARES[:2], "reorder": ("25% 50%",), "gap": ("5",),
        "rate": ("10mbit", "1mbit 20", "1mbit -14 48 5"), "slot": ("1ms 2ms", "1ms 2ms packets 5 bytes 3000"),
    },
    "red": {"ecn": _FLAG, "harddrop": _FLAG},
    "choke": {"ecn": _FLAG},
    "hhf": {
        "limit": _PACKETS, "quantum": ("1514", "3000"), "hh_limit": ("100", "2048"), "reset_timeout": ("40ms", "1s"),
        "admit_bytes": _BYTES[2:], "evict_timeout": ("1s",), "non_hh_weight": ("2", "4"),
    },
    "cake": {
        "bandwidth": _RATES, "besteffort": _FLAG, "diffserv4": _FLAG, "dual-srchost": _FLAG, "flowblind": _FLAG,
        "wash": _FLAG, "ingress": _FLAG, "ack-filter": _FLAG, "no-split-gso": _FLAG, "rtt": ("10ms", "100ms"),
        "overhead": ("18", "-4", "44"), "mpu": ("64",), "atm": _FLAG, "memlimit": ("4mb",), "raw": _FLAG,
    },
    "dualpi2": {
        "limit": _PACKETS, "target": ("15ms",), "tupdate": ("16ms",), "coupling_factor": ("2", "3"),
        "step_thresh": ("1ms", "2ms", "5p"), "overflow": _FLAG, "drop_enqueue": _FLAG, "any_ect": _FLAG,
        "no_split_gso": _FLAG, "min_qlen_step": ("0", "1"), "classic_protection": ("10", "25"),
    },
    "drr": {},
    "htb": {"default": ("10", "0x12"), "r2q": ("10", "100"), "direct_qlen": ("50", "1000")},
}  # fmt: skip
"""Options of each kind with values, in the order in which they are drawn."""

_EXCLUSIVE = (
    {"besteffort", "diffserv4"}, {"dual-srchost", "flowblind"}, {"raw", "overhead"}, {"ecn", "noecn"},
    {"gap", "slot"}, {"raw", "atm"},
)  # fmt: skip


def drawn(kind: str, times: int) -> Iterator[str]:
    """Random options of a kind, the same each time."""
    draws = random.Random(kind)
    for _ in range(times):
        options = OPTIONS[kind]
        names = [name for name in options if draws.random() < 0.5]
        names = [
            name for place, name in enumerate(names) if not any({name, one} in _EXCLUSIVE for one in names[:place])
        ]
        if "gap" in names and "reorder" not in names:
            names.remove("gap")
        words = [f"{name} {draws.choice(options[name])}".strip() for name in names]
        yield " ".join([kind, ALWAYS.get(kind, ""), *words]).replace("  ", " ").strip()


def with_what_is_not_printed(line: str, kind: str) -> str:
    """A printed line, and what the user has to add."""
    return f"{line} {NOT_PRINTED.get(kind, '')}".strip()
