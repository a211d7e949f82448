"""The cells of the matrix: parts of experiments/conformance/full.yaml, and the kernel's figures in each of them."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.grid import ROOT, Grid, Part

LINE = "bottleneck=[L10M, R10M, L100M, R100M]"
MIDDLE = ("rtt=[10ms]", "tsq=[1ms]")


_AQM = (
    "codel", "fq_codel", "pie", "fq_pie", "sfq", "fq", "cake", "codel ecn", "fq_codel noecn limit 500",
    "sfq limit 500 redflowlimit 100000 min 8000 max 60000 probability 0.1",
)  # fmt: skip
"""AQM disciplines below a shaper; some with options."""


def _red(rate: int) -> str:
    """RED for a rate in Mbit/s: thresholds of 10 and 30 ms."""
    least = rate * 1250
    thresholds = f"limit {20 * least} min {least} max {3 * least}"
    return f"red {thresholds} avpkt 1000 burst {least // 600} probability 0.1 bandwidth {rate}mbit"


def _shapers(rate: int) -> tuple[str, ...]:
    """Disciplines that are shapers."""
    return (
        f"cake bandwidth {rate}mbit",
        f"cake bandwidth {rate}mbit besteffort flows rtt 30ms overhead 18 atm",
        f"tbf rate {rate}mbit burst 10kb latency 50ms",
        f"htb rate {rate}mbit burst 15k cburst 15k | codel",
    )


def _several(words: Iterable[str]) -> str:
    return f"vary.qdisc=[{', '.join(words)}]"


AQM_DISCIPLINES = _several([*_AQM, _red(10)])
"""The disciplines at 10 Mbit/s."""
_AQM_PATHS = ("rtt=[10ms, 100ms]", "tsq=[1ms]", "cc=[reno, cubic]", "repeat=3")

_PARTS = (
    Part("grid", (LINE, "repeat=2")),
    # One virtual second at this rate takes about one second, with one segment per skb.
    Part("gigabit", ("bottleneck=[LR1000M]", "rtt=[10ms]", "repeat=1")),
    Part("controls", ("bottleneck=[R10M, L100M, R100M]", *MIDDLE, "repeat=1"), ("cc",)),
    Part("aqm10", ("bottleneck=[R10M]", *_AQM_PATHS, AQM_DISCIPLINES)),
    Part("aqm50", ("bottleneck=[R50M]", *_AQM_PATHS, _several([*_AQM, _red(50)]))),
    Part("shapers10", ("bottleneck=[S10M]", *_AQM_PATHS, _several(_shapers(10)))),
    Part("shapers50", ("bottleneck=[S50M]", *_AQM_PATHS, _several(_shapers(50)))),
    Part("disciplines", ("bottleneck=[R10M, L100M, R100M]", "cc=[cubic, bbr]", *MIDDLE, "repeat=1"), ("qdisc",)),
)

MATRIX = Grid(
    ROOT / "experiments" / "conformance" / "full.yaml",
    ROOT / "tests" / "data" / "matrix" / "kernel.csv",
    ("bottleneck", "qdisc", "rtt", "cc", "tsq"),
    _PARTS,
    (
        "goodput_mbps.total",
        "tcp_rtt_ms.p50",
        "tcp_rtt_ms.p90",
        "retransmits",
        "drops",
        "ping_ms.p50",
        "ping_ms.p90",
        "cwnd_segments.mean",
    ),
)
