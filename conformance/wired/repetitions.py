"""Repeats a wired run with other values of what is unknown about a run of the kernel.

These are the state of the kernel's random number generator, the phase of the flows' start within a millisecond (the
clock of TCP, of timers and of samples), and the order of simultaneous flows. The same experiment is repeated with

    seeds    ten seeds, all flows at 0                                  (chance of the controls and disciplines)
    phases   its seed, all flows together 0.1 … 0.9 ms late              (phase of the clocks)
    orders   its seed, each flow at a different time within 1 ms         (order of simultaneous flows)
"""

from __future__ import annotations

import functools
import json
import random
from dataclasses import asdict, dataclass

from conformance.judge import Figures, Repetition
from conformance.wired.experiment import Experiment, Scenario, twin
from conformance.wired.measures import measure
from conformance.wired.simulate import scenario_tables

SEEDS = 10
PHASE_STEP_NS = 100_000
MILLISECOND_NS = 1_000_000
ORDERS = 20


@dataclass(frozen=True)
class Variant:
    """One repetition: its kind, its seed, and the delay of each flow's start."""

    kind: str
    seed: int
    late_ns: tuple[int, ...]


def repetitions(experiment: Experiment) -> list[Repetition]:
    """The repetitions of an experiment, as described at the top of this file."""
    return [Repetition(one.kind, functools.partial(simulated, experiment, one)) for one in variants(experiment)]


def variants(experiment: Experiment) -> list[Variant]:
    """The variants of an experiment; with one flow there are no orders."""
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


def simulated(experiment: Experiment, variant: Variant) -> Figures:
    tables, _cost = scenario_tables(json.dumps(varied(experiment, variant)), experiment.flows)
    return asdict(measure(tables, experiment.flows, experiment.duration_s))
