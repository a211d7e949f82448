"""The conformance matrix: controls × disciplines × bottlenecks × small-queue limits × round-trip times, on wires.

    python -m conformance.matrix.measure DIR     # runs all cells on a kernel, writes tests/data/matrix
    python -m conformance.matrix.report          # simulates them, writes conformance/results/matrix.md

The cells are those of experiments/conformance/full.yaml, with axes over whole registries: new algorithms that both
sides have are added with the next measurement of the kernel (`grid.py`).
"""
