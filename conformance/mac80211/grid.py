"""The cells: parts of experiments/conformance/wifi.yaml, and the kernel's figures in each of them."""

from __future__ import annotations

from conformance.grid import ROOT, Grid, Part

ATH9K = ("driver=ath9k", "loss=0%")
CUBIC = ("cc=cubic", "tsq=4ms")
SEVERAL = "directions=[up4, down, both, 3 up, 3 down]"

GRID = Grid(
    ROOT / "experiments" / "conformance" / "wifi.yaml",
    ROOT / "tests" / "data" / "mac80211" / "kernel.csv",
    ("directions", "driver", "cc", "tsq", "loss"),
    (
        Part("small-queues", ("directions=up", *ATH9K)),
        Part("directions", (SEVERAL, *ATH9K, *CUBIC)),
        Part("drivers", ("directions=[up, down]", "vary.driver=[generic, ath9k_htc_txq, ath10k]", "loss=0%", *CUBIC)),
        Part("losses", ("directions=up", "driver=ath9k", "loss=5%", "cc=[cubic, bbr]", "tsq=4ms")),
    ),
    (
        "goodput_mbps.up",
        "goodput_mbps.down",
        "ampdu_mpdus.up.mean",
        "ampdu_mpdus.down.mean",
        "ping_ms.p50",
        "tcp_rtt_ms.p50",
        "ping_ms.p90",
        "retransmits",
        "jain",
    ),
)
