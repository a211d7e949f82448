"""Runs all cells of the matrix on a kernel, and writes their figures to `tests/data/matrix`.

    python -m conformance.matrix.measure DIR [--jobs N] [--kernel NAME] [--part NAME ...]

It takes hours of one core, mostly for 1 Gbit/s.
"""

from __future__ import annotations

from conformance.matrix.grid import MATRIX
from conformance.measured_grid import main

if __name__ == "__main__":
    main(MATRIX, "Measure the conformance matrix on a real kernel.", "uml")
