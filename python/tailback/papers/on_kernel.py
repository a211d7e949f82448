"""The figures of a paper from a real kernel, beside those of the simulator.

No kernel has every condition of a testbed: the paper's file says what is there instead (`kernel`). Both sides run under
these conditions, so that what differs is what is above the air.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailback.analysis.digits import significant
from tailback.papers.claims import OnKernel
from tailback.papers.drawing import AGGREGATE, GOODPUT, PING, TCP_RTT, Scale
from tailback.papers.page import write_page
from tailback.papers.reproduction import Reproduction, Wanted, on_kernel, reproduce
from tailback.papers.sample import Sample
from tailback.papers.scorecard import Row, as_document, spread
from tailback.results import Results
from tailback.sweep import Watch

FOLDER = "kernel"
"""The folder of both sides in the folder of results."""

SIMULATOR = "sim"
SCALES = (GOODPUT, PING, TCP_RTT, AGGREGATE)


@dataclass(frozen=True)
class Beside:
    """Both sides."""

    simulator: Reproduction
    kernel: Reproduction

    @property
    def conditions(self) -> OnKernel:
        """What both have in place of the testbed."""
        return on_kernel(self.kernel.paper)

    @property
    def rows(self) -> list[tuple[Row, Row]]:
        """Each claim on the simulator and on the kernel."""
        return list(zip(self.simulator.rows, self.kernel.rows, strict=True))

    @property
    def errors(self) -> Sequence[str]:
        """The errors of failed runs."""
        return [*self.simulator.errors, *self.kernel.errors]


def beside(wanted: Wanted, watch: Watch) -> Beside:
    """Runs a paper on `wanted.backend` and on the simulator."""
    return Beside(*(reproduce(_side(wanted, backend), watch) for backend in (SIMULATOR, wanted.backend)))


def _side(wanted: Wanted, backend: str) -> Wanted:
    return replace(wanted, backend=backend, conditions="kernel", out=folder_of(wanted, backend))


def folder_of(wanted: Wanted, backend: str) -> Path:
    """The folder of the results of one side."""
    return wanted.out / FOLDER / backend.replace(":", "-")


def write_pages(found: Beside, wanted: Wanted) -> list[Path]:
    """Writes a page for each side; returns their paths."""
    sides = ((found.simulator, SIMULATOR), (found.kernel, wanted.backend))
    return [write_page([side], folder_of(wanted, backend)) for side, backend in sides]


def beside_as_document(found: Beside) -> dict[str, Any]:
    """Both scorecards as the document of `--json`."""
    sides = {"simulator": found.simulator, "kernel": found.kernel}
    return {name: as_document(side.rows)["claims"] for name, side in sides.items()}


@dataclass(frozen=True)
class Configuration:
    """The figures of a configuration on both sides, over its repetitions."""

    axes: Mapping[str, str]
    figures: Mapping[str, tuple[Sample, Sample]]
    """By the label of the scale: simulator, kernel."""


def configurations(simulator: Results, kernel: Results) -> Iterator[Configuration]:
    """The configurations that both have, in the order of the grid."""
    for axes, _ in simulator.configurations:
        sides = [side.select(**axes) for side in (simulator, kernel)]
        if all(side.runs for side in sides):
            found = {scale.label: (_sample(scale, sides[0]), _sample(scale, sides[1])) for scale in SCALES}
            yield Configuration(axes, {name: pair for name, pair in found.items() if all(one.values for one in pair)})


def _sample(scale: Scale, results: Results) -> Sample:
    values = []
    for run in results.runs:
        try:
            values.append(scale.read(run))
        except KeyError:
            continue
    return Sample(scale.label, "", values)


def in_words(sample: Sample) -> str:
    """The mean with half its interval."""
    return f"{significant(sum(sample.values) / len(sample.values))}{spread(sample)}"
