"""How far a figure of the simulator moves when only chance does: a mismatch inside that range proves nothing.

A kernel run is one draw. What it does not tell: the state of the kernel's random generator, where in a millisecond
(clock of TCP, of the timers and of the samples) the flows began, and in which order simultaneous flows were served.
The same experiment is therefore repeated with

    seeds    ten seeds, all flows at 0                                  (chance of the controls and disciplines)
    phases   its seed, all flows together 0.1 … 0.9 ms late              (phase of the clocks)
    orders   its seed, each flow at an instant of its own within 1 ms    (order of simultaneous flows)

and a figure of the kernel is *within* a range if it is not farther outside it than the tolerance.

    python -m conformance.wired.spread                       # the runs that are out of tolerance
    python -m conformance.wired.spread 'bbr-R10M-fq_codel-*' # others
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

from conformance.wired import golden
from conformance.wired.compare import compared, is_wanted
from conformance.wired.experiment import Experiment, Scenario, twin
from conformance.wired.measures import Measures, measure
from conformance.wired.simulate import congestion_controls, not_simulated, scenario_tables, simulate_all
from conformance.wired.verdict import TOLERANCES

SEEDS = 10
PHASE_STEP_NS = 100_000
MILLISECOND_NS = 1_000_000
ORDERS = 20


@dataclass(frozen=True)
class Variant:
    """One repetition: its kind, seed, and how late each flow starts."""

    kind: str
    seed: int
    late_ns: tuple[int, ...]


@dataclass(frozen=True)
class Range:
    """Least, median and greatest value of a figure over the variants of a kind."""

    kind: str
    low: float
    median: float
    high: float

    def holds(self, value: float, tolerance: float) -> bool:
        return self.low - tolerance <= value <= self.high + tolerance


def variants(experiment: Experiment) -> list[Variant]:
    """The repetitions of the head of this file; one flow has no order."""
    flows, own = experiment.flows, experiment.seed
    seeds = [Variant("seeds", seed, (0,) * flows) for seed in range(1, SEEDS + 1)]
    phases = [Variant("phases", own, (step * PHASE_STEP_NS,) * flows) for step in range(1, 10)]
    draws = random.Random(experiment.key)
    late = [tuple(draws.randrange(MILLISECOND_NS) for _ in range(flows)) for _ in range(ORDERS if flows > 1 else 0)]
    return [*seeds, *phases, *(Variant("orders", own, order) for order in late)]


def varied(experiment: Experiment, variant: Variant) -> Scenario:
    scenario = twin(experiment) | {"seed": variant.seed}
    uploads = [flow for flow in scenario["traffic"] if flow["kind"] == "tcp"]
    for flow, late_ns in zip(uploads, variant.late_ns, strict=True):
        flow["start_ns"] += late_ns
    return scenario


def simulate_variant(experiment: Experiment, variant: Variant) -> Measures:
    tables, _cost = scenario_tables(json.dumps(varied(experiment, variant)), experiment.flows)
    return measure(tables, experiment.flows, experiment.duration_s)


def simulate_variants(experiments: Sequence[Experiment], jobs: int) -> Iterator[list[tuple[Variant, Measures]]]:
    """All variants of each experiment, in the order given."""
    work = [(experiment, variants(experiment)) for experiment in experiments]
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawned) as pool:
        pairs = [(experiment, variant) for experiment, several in work for variant in several]
        found = iter(pool.map(simulate_variant, *zip(*pairs, strict=True)))
        for _experiment, several in work:
            yield [(variant, next(found)) for variant in several]


def ranges(found: Sequence[tuple[Variant, Measures]], figure: str) -> list[Range]:
    kinds = dict.fromkeys(variant.kind for variant, _ in found)
    return [range_of(kind, [asdict(got)[figure] for variant, got in found if variant.kind == kind]) for kind in kinds]


def range_of(kind: str, values: list[float]) -> Range:
    ordered = sorted(values)
    middle = ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2
    return Range(kind, ordered[0], middle, ordered[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description="How far figures of the simulator move by chance alone.")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="runs; those out of tolerance if not given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    runs = wanted(arguments.patterns, arguments.jobs)
    print(f"{'run':42} {'figure':12} {'kernel':>8}  {'':6} {'least':>8} {'median':>8} {'most':>8}  kernel is")
    for run, found in zip(runs, simulate_variants([run.experiment for run in runs], arguments.jobs), strict=True):
        print_ranges(run, found)


def wanted(patterns: Sequence[str], jobs: int) -> list[golden.GoldenRun]:
    controls = congestion_controls()
    runs = [run for run in golden.read_runs() if not_simulated(run.experiment, controls) is None]
    if patterns:
        return [run for run in runs if is_wanted(run, patterns)]
    results = simulate_all([run.experiment for run in runs], jobs)
    cells = [compared(run, result) for run, result in zip(runs, results, strict=True)]
    return [run for run, row in zip(runs, cells, strict=True) if any(cell.outcome == "off" for cell in row)]


def print_ranges(run: golden.GoldenRun, found: Sequence[tuple[Variant, Measures]]) -> None:
    for figure, judge in TOLERANCES.items():
        kernel = asdict(run.kernel)[figure]
        tolerance = judge(kernel, kernel)
        if tolerance is None:
            continue
        for spread in ranges(found, figure):
            verdict = "inside" if spread.holds(kernel, 0.0) else "within" if spread.holds(kernel, tolerance) else "OUT"
            figures = f"{spread.low:8.4g} {spread.median:8.4g} {spread.high:8.4g}"
            print(
                f"{run.experiment.key:42} {figure:12} {kernel:8.4g}  {spread.kind:6} {figures}  {verdict}", flush=True
            )


if __name__ == "__main__":
    main()
