"""Runs one experiment on two backends, then compares the results.

    DIR/uml/, DIR/sim/        the results of each backend, as from `tailback run`
    DIR/report.html …         the comparison (`folder`)

Configurations that one of the backends refuses are left out of both, with the reason.

One run on each side does not show whether a difference is due to chance. So configurations with an undecided cell
(`analysis.equivalence`) are repeated: five times, then twice as often each time, until all their cells are decided or
they have `Request.most` repetitions.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from tailback import sweep
from tailback.backends import Backend, Unsuitable, backend_for, open_backend
from tailback.results import default_folder, open_results, pair
from tailback.scenario import Configuration, Experiment, Run
from tailback.sweep import SweepResult, Watch
from tailback.validation.comparison import Comparison, Criteria, compare

RESULTS = Path("results")

MOST = 20
"""The number of repetitions up to which `tailback validate` repeats undecided configurations."""

FEWEST = 5
"""The number of repetitions with which an undecided configuration continues."""


class WrongValidation(Exception):
    """The validation is not possible; the message says why."""


@dataclass(frozen=True)
class Request:
    """How to validate an experiment."""

    candidate: str
    """The backend to validate."""
    reference: str
    """The backend to compare with."""
    criteria: Criteria
    jobs: int | None = None
    out: Path | None = None
    settings: Sequence[str] = ()
    most: int = 1
    """The number of repetitions up to which undecided configurations are repeated."""


@dataclass(frozen=True)
class LeftOut:
    """A configuration that a backend cannot run."""

    axes: Mapping[str, str]
    backend: str
    reason: str


@dataclass(frozen=True)
class Validated:
    """A finished validation; without a comparison if no run is complete on both sides."""

    folder: Path
    comparison: Comparison | None
    carried: Sequence[SweepResult]
    left_out: Sequence[LeftOut]

    @property
    def failed(self) -> int:
        """Number of failed runs on both sides."""
        return sum(len(side.failed) for side in self.carried)

    @property
    def off(self) -> int:
        """Cells out of tolerance."""
        return self.comparison.off if self.comparison is not None else 0


def validate(experiment: Experiment, request: Request, watch: Watch) -> Validated:
    """Runs `experiment` on both backends and compares the results; complete runs are not repeated."""
    if request.candidate == request.reference:
        hint = "name another with `--against`; to compare results of one backend, use `tailback compare`"
        raise WrongValidation(f"both backends are `{request.candidate}`\n  hint: {hint}")
    backends = {name: open_backend(name) for name in (request.reference, request.candidate)}
    kept, left_out = feasible(experiment, backends)
    folder = request.out if request.out is not None else _default_folder(kept, backends, request.settings)
    request = replace(request, out=folder)
    done = _round(kept, request, watch)
    while further := _further(kept, done, request.most):
        kept = further
        done = _round(kept, request, watch)
    return replace(done, left_out=left_out)


def _round(experiment: Experiment, request: Request, watch: Watch) -> Validated:
    """Runs what is missing on both backends, and compares."""
    assert request.out is not None
    carried = [
        sweep.run_experiment(
            experiment, sweep.Request(name, request.jobs, request.out / _plain(name), request.settings), watch
        )
        for name in (request.reference, request.candidate)
    ]
    return Validated(request.out, _compared(carried, request.criteria), carried, ())


def _further(experiment: Experiment, done: Validated, most: int) -> Experiment | None:
    """The experiment with more repetitions of undecided configurations; `None` if there are none to add.

    The other configurations stay in it, so that the results folder is that of one growing experiment.
    """
    if done.comparison is None or done.failed or experiment.repeat.share is not None:
        # A file with `repeat: until` has a rule of its own.
        return None
    paired = done.comparison.pairing
    counts = {_place(paired.configurations[place]): len(paired.of(place)) for place in done.comparison.undecided}
    grown = tuple(_repeated(each, counts.get(_place(each.labels)), most) for each in experiment.configurations)
    return None if grown == experiment.configurations else structs.replace(experiment, configurations=grown)


def _repeated(configuration: Configuration, count: int | None, most: int) -> Configuration:
    """`configuration` with more repetitions than the `count` that do not decide; as it is if that is `None`."""
    if count is None or count >= most:
        return configuration
    return configuration.repeated(min(most, max(FEWEST, 2 * count)))


def _place(axes: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(axes.items()))


def feasible(experiment: Experiment, backends: Mapping[str, Backend]) -> tuple[Experiment, list[LeftOut]]:
    """The experiment without the configurations that a backend cannot run; raises `Unsuitable` if none remain."""
    firsts = [run for run in experiment.runs() if run.repetition == 1]
    refusals = [_refusal(run, backends) for run in firsts]
    kept = [
        configuration
        for configuration, refusal in zip(experiment.configurations, refusals, strict=True)
        if refusal is None
    ]
    left_out = [refusal for refusal in refusals if refusal is not None]
    if not kept:
        raise Unsuitable(
            f"no configuration can run on {_all_of(backends)}\n  `{left_out[0].backend}`: {left_out[0].reason}"
        )
    return structs.replace(experiment, configurations=tuple(kept)), left_out


def _all_of(backends: Mapping[str, Backend]) -> str:
    return "both backends" if len(backends) > 1 else f"`{next(iter(backends))}`"


def _refusal(run: Run, backends: Mapping[str, Backend]) -> LeftOut | None:
    for name, backend in backends.items():
        try:
            backend_for(backend, run.scenario).check(run.scenario)
        except Unsuitable as unsuitable:
            return LeftOut(run.axes, name, str(unsuitable))
    return None


def _default_folder(experiment: Experiment, backends: Mapping[str, Backend], settings: Sequence[str]) -> Path:
    """`results/STEM-validation` if it is empty or contains this validation, else with a number."""
    plans = {_plain(name): sweep.plan_of(experiment, backend, settings) for name, backend in backends.items()}
    stem = f"{experiment.name}-validation"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    folders = (RESULTS / name for name in names)
    return next(
        folder
        for folder in folders
        if all(default_folder(name, plan, folder) == folder / name for name, plan in plans.items())
    )


def _plain(backend: str) -> str:
    """The name of a backend as the name of a folder, without the colon of `uml:mine`."""
    return backend.replace(":", "-")


def _compared(carried: Sequence[SweepResult], criteria: Criteria) -> Comparison | None:
    sides = [{outcome.run.name for outcome in side.outcomes if outcome.status == "ok"} for side in carried]
    if not sides[0] & sides[1]:
        return None
    reference, candidate = (open_results(side.folder).only(names) for side, names in zip(carried, sides, strict=True))
    return compare(pair(reference, candidate), criteria)
