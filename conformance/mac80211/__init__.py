"""The conformance matrix of Wi-Fi: small queues, directions and stations, drivers, losses, with a kernel's mac80211.

    python -m conformance.mac80211.measure DIR     # runs all cells on a kernel, writes tests/data/mac80211
    python -m conformance.mac80211.report          # simulates them, writes conformance/results/mac80211.md

The cells are those of experiments/conformance/wifi.yaml. The air is the same on both sides, so a difference is one of
what is above it.
"""
