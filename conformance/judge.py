"""Compares the simulator with runs of a real kernel (`python -m conformance`).

A *campaign* has runs of a kernel, each with its settings and its figures, and simulates the same settings. A *cell* is
one figure of one run on both sides. `tailback.analysis.tolerances` determines whether it is within tolerance, as for
`tailback validate`: the rule is in the package, which does not depend on this folder.

If the kernel has a figure and the simulator has none, the cell is out of tolerance. Figures that the kernel does not
have are ignored.

A run of the kernel is one sample of its random numbers, of the phases of its clocks and of the order of simultaneous
events. Therefore a campaign defines repetitions that vary these. If the kernel's figure is within the range of one kind
of repetition, widened by the tolerance, the difference may be due to chance.

Where the kernel ran a configuration with several seeds, the share of single runs of the simulator within tolerance
stands beside that of the kernel's own runs (`tailback.analysis.equivalence`), the highest that can be expected.
`conformance.kinds` compares means over several seeds of both.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import statistics
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from tailback.analysis import equivalence
from tailback.analysis.tolerances import Outcome, Tolerance, verdict

Figures: TypeAlias = Mapping[str, float]
"""Figures of a run by name; unknown ones are absent or NaN."""


class Settings(Protocol):
    """The settings of a run."""

    @property
    def key(self) -> str:
        """The name of the case, unique in the campaign."""

    @property
    def group(self) -> str:
        """The group of the case in summaries."""


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Run(Generic[S]):
    """One run of the real kernel."""

    experiment: S
    kernel: Figures


@dataclass(frozen=True)
class Simulated(Generic[S]):
    """The simulator's figures of an experiment, or the reason why there are none."""

    experiment: S
    figures: Figures | None
    failure: str | None = None
    cpu_s: float = 0.0


@dataclass(frozen=True)
class Repetition:
    """A repetition of a run with other random numbers, phases or orders."""

    kind: str
    figures: Callable[[], Figures]


@dataclass(frozen=True)
class Campaign(Generic[S]):
    """Runs of a kernel, and the criteria for the simulator."""

    title: str
    tolerances: Mapping[str, Tolerance]
    """Tolerances of the judged figures."""
    shown: Sequence[str]
    """Figures that are shown but not judged."""
    runs: Callable[[], Sequence[Run[S]]]
    """Reads the runs in the repository."""
    simulate: Callable[[Sequence[S], int], Iterable[Simulated[S]]]
    """Simulates experiments, in this order, with this number of processes."""
    repetitions: Callable[[S], Sequence[Repetition]]
    left_out: Callable[[S], str | None]
    """The reason why a run is not simulated, or None."""
    reason: Callable[[S, str], str | None]
    """The known reason for a figure out of tolerance, or None."""
    configuration: Callable[[S], Hashable] | None = None
    """What runs with different seeds have in common, if the kernel ran some configurations with several."""
    measured: Callable[[Path], Sequence[Run[S]]] | None = None
    """Reads runs from the folder of the kernel's campaign, if there is one."""


CAMPAIGNS: Mapping[str, str] = {
    "wired": "conformance.wired.criteria",
    "teacup": "conformance.wired.teacup",
    "wifi": "conformance.wifi.criteria",
    "matrix": "conformance.matrix.criteria",
    "mac80211": "conformance.mac80211.criteria",
}
"""The module of each campaign, which defines `CAMPAIGN`."""


def campaign(name: str) -> Campaign[Any]:
    """The campaign with this name, imported on demand, because each loads its own tables."""
    return cast("Campaign[Any]", importlib.import_module(CAMPAIGNS[name]).CAMPAIGN)


# -- cells


@dataclass(frozen=True)
class Cell(Generic[S]):
    """One figure of one run on both sides."""

    experiment: S
    figure: str
    kernel: float
    simulator: float
    outcome: Outcome
    excess: float
    """The difference in units of the tolerance, signed; NaN if not judged."""

    @property
    def relative(self) -> float:
        """Difference divided by the kernel's figure."""
        difference = self.simulator - self.kernel
        return difference / self.kernel if self.kernel else math.inf * difference if difference else 0.0

    @property
    def distance(self) -> float:
        """The absolute value of the excess; 0 if not judged."""
        return 0.0 if math.isnan(self.excess) else abs(self.excess)

    def __str__(self) -> str:
        numbers = f"kernel {self.kernel:.4g}, simulator {self.simulator:.4g} ({self.relative:+.1%})"
        return f"{self.experiment.key} {self.figure}: {numbers}"


def cells(by: Campaign[S], run: Run[S], ours: Figures) -> list[Cell[S]]:
    """The cells of a run, one for each figure of the kernel."""
    known = {name: run.kernel.get(name, math.nan) for name in (*by.tolerances, *by.shown)}
    return [
        _cell(by.tolerances.get(name, Tolerance()), run.experiment, name, (kernel, ours.get(name, math.nan)))
        for name, kernel in known.items()
        if not math.isnan(kernel)
    ]


def _cell(tolerance: Tolerance, experiment: S, figure: str, sides: tuple[float, float]) -> Cell[S]:
    kernel, simulator = sides
    allowed = tolerance.allowed(kernel, simulator)
    if math.isnan(simulator):
        outcome: Outcome = "shown" if allowed is None else "off"
        return Cell(experiment, figure, *sides, outcome, math.nan if allowed is None else math.inf)
    found = verdict(simulator - kernel, allowed)
    return Cell(experiment, figure, *sides, found.outcome, found.excess)


def share_within(table: Iterable[Cell[S]]) -> tuple[int, int]:
    """The numbers of cells within tolerance and of judged cells."""
    outcomes = [cell.outcome for cell in table]
    return outcomes.count("within"), outcomes.count("within") + outcomes.count("off")


# -- the kernel beside itself


@dataclass(frozen=True)
class Likeness:
    """How often single runs with different seeds are within tolerance, over configurations with several seeds."""

    configurations: int
    alike: float
    """Of the simulator and the kernel."""
    ceiling: float
    """Of the kernel and itself."""


def likeness(by: Campaign[S], table: Sequence[Cell[S]]) -> Likeness | None:
    """The likeness of the runs in `table`; `None` if no configuration of it has several seeds."""
    if by.configuration is None:
        return None
    groups: dict[tuple[Hashable, str], list[Cell[S]]] = {}
    for cell in table:
        if cell.figure in by.tolerances:
            groups.setdefault((by.configuration(cell.experiment), cell.figure), []).append(cell)
    several = {key: group for key, group in groups.items() if len(group) > 1}
    found = [equivalence.likeness(*_sides(group), by.tolerances[figure]) for (_, figure), group in several.items()]
    known = [one for one in found if not math.isnan(one.alike) and not math.isnan(one.ceiling)]
    if not known:
        return None
    shares = [statistics.fmean(values) for values in ([one.alike for one in known], [one.ceiling for one in known])]
    return Likeness(len({configuration for configuration, _ in several}), *shares)


def _sides(group: Sequence[Cell[S]]) -> tuple[equivalence.Values, equivalence.Values]:
    return np.array([cell.kernel for cell in group]), np.array([cell.simulator for cell in group])


# -- runs of the simulator


@dataclass(frozen=True)
class Judged(Generic[S]):
    """The comparison of the runs of a campaign."""

    simulated: Sequence[Simulated[S]]
    cells: Sequence[Cell[S]]

    @property
    def off(self) -> list[Cell[S]]:
        """The cells out of tolerance, worst first."""
        return sorted((cell for cell in self.cells if cell.outcome == "off"), key=lambda cell: -cell.distance)

    @property
    def failed(self) -> list[Simulated[S]]:
        """The simulations without figures."""
        return [result for result in self.simulated if result.figures is None]


def judge(by: Campaign[S], runs: Sequence[Run[S]], jobs: int) -> Judged[S]:
    """Simulates the runs, as far as possible, and compares them with the kernel's."""
    wanted = [run for run in runs if by.left_out(run.experiment) is None]
    simulated = list(by.simulate([run.experiment for run in wanted], jobs))
    pairs = zip(wanted, simulated, strict=True)
    return Judged(
        simulated,
        [cell for run, result in pairs if result.figures is not None for cell in cells(by, run, result.figures)],
    )


def each(figures: Callable[[S], tuple[Figures, float]], experiments: Sequence[S], jobs: int) -> Iterator[Simulated[S]]:
    """Simulates each experiment in a process; `figures` returns its figures and its CPU time in s."""
    with _pool(jobs) as pool:
        yield from pool.map(_simulated, [figures] * len(experiments), experiments)


def _simulated(figures: Callable[[S], tuple[Figures, float]], experiment: S) -> Simulated[S]:
    """Simulates an experiment; an exception becomes the reason of a failed run, so that the comparison continues."""
    try:
        found, cpu_s = figures(experiment)
    except (ValueError, RuntimeError) as error:
        return Simulated(experiment, None, str(error))
    return Simulated(experiment, found, None, cpu_s)


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def matching(runs: Sequence[Run[S]], patterns: Sequence[str]) -> list[Run[S]]:
    """The runs whose name, or its part after the last `/`, matches a pattern; all runs without patterns."""
    names = {run.experiment.key: (run.experiment.key, run.experiment.key.rpartition("/")[2]) for run in runs}
    found = [
        run for run in runs if any(fnmatchcase(name, one) for name in names[run.experiment.key] for one in patterns)
    ]
    return found if patterns else list(runs)


# -- chance


@dataclass(frozen=True)
class Range:
    """Minimum, median and maximum of a figure over the repetitions of a kind."""

    kind: str
    low: float
    median: float
    high: float

    def holds(self, value: float, margin: float) -> bool:
        """Whether `value` is in the range, widened by `margin` on both sides."""
        return self.low - margin <= value <= self.high + margin


@dataclass(frozen=True)
class Spread(Generic[S]):
    """A cell, and the ranges of its figure by chance."""

    cell: Cell[S]
    ranges: Sequence[Range]
    margin: float
    """The tolerance."""

    @property
    def is_chance(self) -> bool:
        """Whether the difference may be due to chance."""
        return any(found.holds(self.cell.kernel, self.margin) for found in self.ranges)


def spreads(by: Campaign[S], wanted: Sequence[Cell[S]], jobs: int) -> list[Spread[S]]:
    """The ranges by chance of each of these cells."""
    experiments = {cell.experiment.key: cell.experiment for cell in wanted}
    repetitions = [(key, one) for key, experiment in experiments.items() for one in by.repetitions(experiment)]
    with _pool(jobs) as pool:
        figures = list(pool.map(_figures, [one for _, one in repetitions]))
    found: dict[str, list[tuple[str, Figures]]] = {key: [] for key in experiments}
    for (key, one), drawn in zip(repetitions, figures, strict=True):
        found[key].append((one.kind, drawn))
    return [_spread(by, cell, found[cell.experiment.key]) for cell in wanted]


def _figures(repetition: Repetition) -> Figures:
    return repetition.figures()


def _spread(by: Campaign[S], cell: Cell[S], found: Sequence[tuple[str, Figures]]) -> Spread[S]:
    tolerance = by.tolerances.get(cell.figure, Tolerance())
    return Spread(cell, ranges(found, cell.figure), tolerance.allowed(cell.kernel, cell.simulator) or 0.0)


def ranges(found: Sequence[tuple[str, Figures]], figure: str) -> list[Range]:
    """The range of a figure for each kind of repetition."""
    kinds = dict.fromkeys(kind for kind, _ in found)
    values = {kind: sorted(drawn[figure] for other, drawn in found if other == kind) for kind in kinds}
    return [Range(kind, each[0], statistics.median(each), each[-1]) for kind, each in values.items()]
