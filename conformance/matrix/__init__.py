"""The conformance matrix: controls × disciplines × bottlenecks × small-queue limits × round-trip times, on wires.

    python -m conformance.matrix.measure DIR     # a kernel runs every cell; its figures go to tests/data/matrix
    python -m conformance.matrix.report          # the simulator runs them too; tables and picture of docs/fidelity.md

The cells are those of experiments/conformance/full.yaml, and its walks along the registries: what both sides have
enters by itself the next time the kernel is measured (`grid.py`).
"""
