"""Runs all cells on a kernel with radios, and writes their figures to `tests/data/mac80211`.

    python -m conformance.mac80211.measure DIR [--jobs N] [--kernel NAME] [--part NAME ...]

A virtual second takes about a second.
"""

from __future__ import annotations

from conformance.mac80211.grid import GRID
from conformance.measured_grid import main

if __name__ == "__main__":
    main(GRID, "Measure the conformance matrix of Wi-Fi on a real kernel.", "uml:wifi")
