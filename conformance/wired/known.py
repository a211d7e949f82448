"""Known differences: figures that are out of tolerance, each with its measured difference and its reason.

A run of the kernel is one sample; `repetitions` simulate it with other seeds, other phases of the clocks and other
orders of simultaneous flows. If the kernel's figure is inside their range, the difference may be due to chance;
`tests/python/conformance/test_kinds.py` shows that it is, with runs of the kernel whose starts are known.
`tests/python/conformance/test_wired.py` asserts that each difference still exists.
"""

from __future__ import annotations

from dataclasses import dataclass

PROBE_PHASES = "BBR draws the phases of its probes at random: the kernel's figure lies between those of other seeds"
ORDER_OF_STARTS = (
    "the order of flows that start together, which the run did not record; `conformance.kinds` compares such flows "
    "with known starts (four flows within a millisecond)"
)


@dataclass(frozen=True)
class KnownDifference:
    """One cell: the figure of a run, (simulator − kernel) / kernel, and why."""

    key: str
    figure: str
    relative: float
    reason: str


KNOWN_DIFFERENCES = (
    KnownDifference("wired/bbr-L100M-pfifo-no-n4-stag0.1", "rtt_p90", 0.329, PROBE_PHASES),
    KnownDifference("wired/cubic-L10M-pfifo-std-n4-stag0.1", "rtt_p50", 0.178, ORDER_OF_STARTS),
    KnownDifference("wired/reno-L10M-pfifo-std-n4-pace1", "rtt_p90", -0.291, ORDER_OF_STARTS),
    KnownDifference("wired_hzburst/reno-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/bic-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/highspeed-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/illinois-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/scalable-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/yeah-L10M-pfifo-std-n4", "rtt_p90", -0.168, ORDER_OF_STARTS),
    KnownDifference("wired/hybla-R100M-pfifo-no-n4", "rtt_p50", -0.109, ORDER_OF_STARTS),
    KnownDifference("wired/hybla-R100M-pfifo-std-n4", "rtt_p50", -0.109, ORDER_OF_STARTS),
    KnownDifference("wired/reno-R10M-pfifo-no-n4-pace1", "rtt_p50", -0.111, ORDER_OF_STARTS),
    KnownDifference("wired/reno-R10M-pfifo-std-n4-pace1", "rtt_p50", -0.111, ORDER_OF_STARTS),
    KnownDifference("wired/reno-R10M-pfifo-no-n4-pace1", "rtt_p90", -0.166, ORDER_OF_STARTS),
    KnownDifference("wired/reno-R10M-pfifo-std-n4-pace1", "rtt_p90", -0.166, ORDER_OF_STARTS),
)


def known(key: str, figure: str) -> KnownDifference | None:
    return next((entry for entry in KNOWN_DIFFERENCES if (entry.key, entry.figure) == (key, figure)), None)
