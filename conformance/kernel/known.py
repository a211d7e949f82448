"""Figures that are out of tolerance today, each with its measured difference and what is known of its reason.

A run of the kernel is one draw; `spread` repeats ours with other seeds, other phases of the clocks and other orders
of simultaneous flows. Where the kernel's figure lies inside such a range, chance alone can make the difference.
`tests/python/conformance/test_kernel.py` asserts that each difference is still there, so that none outlives its cure.
"""

from __future__ import annotations

from dataclasses import dataclass

PROBE_PHASES = "BBR draws the phases of its probes at random: the kernel's figure lies between those of other seeds"
TWO_OR_THREE = (
    "a periodic schedule of the small queue: a flow whose pacing rate allows now two, now three segments below TCP "
    "keeps, in the kernel, an order in which its own round trips are short; ours leaves it after some tenths of a "
    "second. Equal to the microsecond for 0.3 s; not explained by phase or order"
)
DROP_ORDER = (
    "synchronised tail drops: which of four flows meets them decides how long all keep still. The kernel's figure "
    "lies between those of flows that start within the same millisecond in another order"
)


@dataclass(frozen=True)
class KnownDifference:
    """One cell: the figure of a run, (simulator − kernel) / kernel, and why."""

    key: str
    figure: str
    relative: float
    reason: str


KNOWN_DIFFERENCES = (
    KnownDifference("wired/bbr-L100M-pfifo-no-n4-stag0.1", "rtt_p90", 0.438, PROBE_PHASES),
    KnownDifference("wired/bbr-R10M-fq_codel-std-n4-s2", "rtt_p50", 0.166, PROBE_PHASES),
    KnownDifference("wired/bbr-R10M-fq_codel-std-n4-s3", "rtt_p50", 0.115, PROBE_PHASES),
    KnownDifference(
        "wired/bbr-L10M-pfifo-x4-n4",
        "rtt_p90",
        0.139,
        "two segments of each of four flows share the queue, and one more or less of one flow moves the figure by a "
        "tenth: the kernel's is that of flows that start within the same millisecond in another order",
    ),
    KnownDifference(
        "wired/bbr-L10M-pfifo-std-n4-stag0.1",
        "rtt_p90",
        -0.118,
        "as above; with other seeds 15.9 ms of the kernel's 16.7 ms, within tolerance",
    ),
    KnownDifference("wired_hzburst/cubic-L10M-pfifo-std-n4", "rtt_p90", -0.103, TWO_OR_THREE),
    KnownDifference("wired_hzburst/reno-R10M-pfifo-no-n4", "rtt_p90", -0.126, DROP_ORDER),
    KnownDifference("wired_hzburst/reno-R10M-pfifo-std-n4", "rtt_p90", -0.126, DROP_ORDER),
)


def known(key: str, figure: str) -> KnownDifference | None:
    return next((entry for entry in KNOWN_DIFFERENCES if (entry.key, entry.figure) == (key, figure)), None)
