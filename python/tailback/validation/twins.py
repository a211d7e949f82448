"""`run --twin`: one run of each configuration on a real kernel, beside the repetitions of the simulator.

It answers with one run what `validate` answers with many: how far is this table from Linux? A number of the kernel's
run is

    equal     if it is within the tolerance of the registry (goodput 3 %, latencies 10 % or 0.5 ms) of our mean,
    chance    if it is farther, but inside the 95 % prediction interval of our n repetitions,
              mean ± t(n − 1) · s · √(1 + 1/n) [law2015 §4.5]: a further run of ours would be as far,
    off       otherwise. One repetition of ours has no interval, so its numbers are equal or off.

The kernel's runs are in `twin/` beside the results, its distances in `twin.json`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from tailback import sweep
from tailback.analysis.intervals import half_width
from tailback.analysis.metric import Column
from tailback.analysis.quantities import quantity
from tailback.analysis.tolerances import FIDELITY, Tolerance
from tailback.backends import Backend, open_backend
from tailback.results.durable import write_file
from tailback.results.layout import read_json
from tailback.scenario import Experiment
from tailback.sweep import SweepResult, Watch
from tailback.validation.session import LeftOut, feasible

BACKEND = "uml"
FOLDER = "twin"
FILE = "twin.json"

NUMBERS = (("goodput", "goodput"), ("ping p50", "rtt"), ("tcp rtt p50", "rtt"))
"""The numbers that are compared, and the names of their tolerances."""

Agreement = Literal["equal", "chance", "off"]


@dataclass(frozen=True)
class Distance:
    """One number of one configuration on both sides."""

    axes: Mapping[str, str]
    title: str
    unit: str
    ours: float
    """The mean of our repetitions."""
    kernel: float
    agreement: Agreement

    @property
    def share(self) -> float:
        """The distance as a share of the kernel's number; NaN if that is 0."""
        return (self.ours - self.kernel) / self.kernel if self.kernel else math.nan


@dataclass(frozen=True)
class Twin:
    """The distances of an experiment, and what could not be compared."""

    backend: str
    distances: Sequence[Distance]
    carried: SweepResult
    left_out: Sequence[LeftOut]

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The configurations that the kernel could not run, as warnings of `run --json`."""
        hint = "the message says what to change; `tailback check --backend uml` checks it"
        return [
            {"code": "twin-left-out", "severity": "warning", "hint": hint, "axes": dict(each.axes),
             "text": f"left out, {each.backend} cannot run it: {each.reason}"}
            for each in self.left_out
        ]  # fmt: skip

    def count(self, agreement: Agreement) -> int:
        """How many numbers agree in this way."""
        return sum(each.agreement == agreement for each in self.distances)


def twin_backend() -> Backend:
    """The backend of the kernel's runs; raises `KernelMissing` if no kernel has been built."""
    return open_backend(BACKEND)


def twin(experiment: Experiment, ours: SweepResult, request: sweep.Request, watch: Watch) -> Twin:
    """Runs the first repetition of each configuration on a kernel and compares it with `ours`, the runs of `request`.

    Raises what `twin_backend` raises, and `Unsuitable` if the kernel can run no configuration.
    """
    kept, left_out = feasible(experiment, {BACKEND: twin_backend()})
    once = replace(kept, configurations=tuple(each.repeated(1) for each in kept.configurations))
    # The kernel is on this machine, whatever cluster ran the simulations.
    here = replace(request, backend=BACKEND, cluster=None, out=ours.folder / FOLDER, reuse=())
    carried = sweep.run_experiment(once, here, watch)
    found = Twin(BACKEND, _distances(ours, carried), carried, left_out)
    write_file(ours.folder / FILE, json.dumps(document(found), indent=2, ensure_ascii=False).encode())
    return found


def document(found: Twin) -> dict[str, Any]:
    """The content of `twin.json`."""
    return {
        "backend": found.backend,
        "distances": [{**asdict(each), "share": None if math.isnan(each.share) else each.share}
                      for each in found.distances],
        "left_out": [asdict(each) for each in found.left_out],
    }  # fmt: skip


def read(folder: Path) -> Mapping[str, Any] | None:
    """The document of a results folder; None if it has none."""
    return read_json(folder / FILE)


def _distances(ours: SweepResult, theirs: SweepResult) -> list[Distance]:
    repetitions: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for run in ours.results.runs:
        repetitions.setdefault(tuple(run.axes.items()), []).append(run.summary)
    return [
        distance
        for outcome in theirs.outcomes if outcome.summary is not None
        for name, tolerance in NUMBERS
        if (
            distance := _distance(
                outcome.run.axes, repetitions.get(tuple(outcome.run.axes.items()), []), outcome.summary,
                (quantity(name), FIDELITY[tolerance]),
            )
        )
    ]  # fmt: skip


def _distance(
    axes: Mapping[str, str], ours: Sequence[Mapping[str, Any]], theirs: Mapping[str, Any], by: tuple[Column, Tolerance]
) -> Distance | None:
    column, tolerance = by
    known = np.array([value for value in map(column.read, ours) if value is not None], dtype=np.float64)
    kernel = column.read(theirs)
    if kernel is None or not len(known):
        return None
    mean = float(known.mean())
    return Distance(axes, column.title, column.unit, mean, kernel, agreement(known, kernel, tolerance))


def agreement(ours: Any, kernel: float, tolerance: Tolerance) -> Agreement:
    apart = abs(float(ours.mean()) - kernel)
    if apart <= (tolerance.allowed(kernel, float(ours.mean())) or 0.0):
        return "equal"
    prediction = half_width(ours) * math.sqrt(len(ours) + 1)
    return "chance" if not math.isnan(prediction) and apart <= prediction else "off"
