"""Known differences: figures that are out of tolerance for another reason than chance.

Differences by chance are not listed; `report` recognises them by other seeds (`conformance.judge.spreads`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.wifi.experiment import Experiment
from conformance.wifi.measures import UNITS


@dataclass(frozen=True)
class KnownDifference:
    """Runs by a regular expression for `family/name`, figures by name, and the reason."""

    runs: str
    figures: tuple[str, ...]
    reason: str

    def covers(self, run: Experiment, figure: str) -> bool:
        return figure in self.figures and re.search(self.runs, run.key) is not None


ALL = tuple(UNITS)
EARLY_LOSS = (
    "the kernel's netem apparently drew the same numbers in every run: 6 or 7 losses where 2 % of some 160 packets are "
    "3, so that each of four flows is hit and leaves slow start; ours hit two or three. With 4.5 % and all four hit: "
    "Reno 161 Mbit/s, 15.9 MPDUs, 6.5 ms (kernel 159, 15.2, 6.4), Westwood 135, 9.7, 5.1 (133, 9.4, 4.9)"
)
FIRST_DROP = (
    "slow start lasts until CoDel drops one packet: in the kernel's run within 7 s, in ours between 9 s and never; the "
    "RTT is that of the cwnd left over. At 8 ms, where there are five seeds of both, the drops come at 0.7 to 4.3 s "
    "(kernel) and 0.8 to 1.5 s"
)
MIN_RTT = (
    "which least RTT the flows find when they drain for PROBE_RTT (1 to 5 ms, both sides) sets their windows for the "
    "next ten seconds; the kernel's runs above other disciplines are within our range"
)
KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = (
    KnownDifference(r"u4d0-tsq(std|2)-kick$", ALL, EARLY_LOSS),
    KnownDifference(r"(reno|highspeed|westwood)-u4d0-tsq(4|2-p3)$", ("rtt_up_p50",), FIRST_DROP),
    KnownDifference(r"htc-150-bbr-u4d0-tsq(64k|off)-codel$", ("rtt_up_p50",), MIN_RTT),
)


def reason(run: Experiment, figure: str) -> str | None:
    """The known reason of a figure out of tolerance."""
    return next((known.reason for known in KNOWN_DIFFERENCES if known.covers(run, figure)), None)
