"""The verbs of `import tailback`: load an experiment file, run it, open its results, hold results against others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailback import drill as drills
from tailback import results, scenario, sweep, validation
from tailback.analysis.tolerances import FIDELITY, NONE, tolerances


class RunsFailed(Exception):
    """Some runs of an experiment failed; `carried` holds what there is."""

    def __init__(self, carried: sweep.Carried) -> None:
        lines = [f"run {outcome.run.name} failed: {outcome.error}" for outcome in carried.failed]
        super().__init__("\n".join(lines))
        self.carried = carried


@dataclass(frozen=True)
class _Nobody:
    """A watch that looks away."""

    def update(self, done: int, total: int, fraction: float) -> None:
        pass


def load(path: Path | str, settings: Sequence[str] = ()) -> scenario.Experiment:
    """The experiment in the file `path`, with `settings` (`cc=bbr`) as `--set` would make them."""
    return scenario.load(Path(path), list(settings))


def run(
    experiment: scenario.Experiment | Path | str,
    *,
    settings: Sequence[str] = (),
    out: Path | str | None = None,
    jobs: int | None = None,
    backend: str = "sim",
) -> results.Results:
    """Runs an experiment, or the file it is in, and opens the results.

    `settings` change the file as `--set` does (`repeat=5` too); `out` is the folder of the results, `results/FILE`
    if not given; `jobs` is how many runs go at the same time, all cores if not given. Complete runs that are there
    already are not run again. Raises `RunsFailed` if a run failed; the others are complete then.
    """
    if not isinstance(experiment, scenario.Experiment):
        experiment = load(experiment, settings)
    elif settings:
        raise ValueError("`settings` change a file: give its path, or load the experiment with them")
    request = sweep.Request(backend, jobs, None if out is None else Path(out), tuple(settings))
    carried = sweep.carry_out(experiment, request, _Nobody())
    if carried.failed:
        raise RunsFailed(carried)
    return results.open_results(carried.folder)


def open(path: Path | str) -> results.Results:  # `tailback.open` says what it does
    """The results in a folder that `run` or `tailback run` has written."""
    return results.open_results(path)


def drill(path: Path | str, *, tolerance_usecs: int | None = None, stack: str | None = None) -> drills.Report:
    """Runs a packetdrill script over the simulator's TCP, as `tailback drill` does."""
    return drills.run_file(Path(path), drills.Settings(tolerance_usecs=tolerance_usecs, stack=stack))


def compare(
    reference: results.Results | Path | str, candidate: results.Results | Path | str, **words: str
) -> validation.Comparison:
    """Two results, metric by metric over their common runs; `rtt="10% or 0.5ms"` judges by a tolerance.

    `differences`, `distances` and `divergences` of what it gives back are pandas frames.
    """
    sides = [side if isinstance(side, results.Results) else open(side) for side in (reference, candidate)]
    return validation.compare(results.pair(*sides), validation.Criteria(tolerances(words, NONE)))


def validate(
    experiment: scenario.Experiment | Path | str,
    *,
    against: str = "uml",
    backend: str = "sim",
    out: Path | str | None = None,
    jobs: int | None = None,
    **words: str,
) -> validation.Validated:
    """Runs an experiment on two backends and compares what they give back, as `tailback validate` does.

    `goodput="1%"` changes a tolerance of the design. Raises `RunsFailed` if a run failed.
    """
    loaded = experiment if isinstance(experiment, scenario.Experiment) else load(experiment)
    criteria = validation.Criteria(tolerances(words, FIDELITY))
    request = validation.Request(backend, against, criteria, jobs, None if out is None else Path(out))
    done = validation.validate(loaded, request, _Nobody())
    for side in done.carried:
        if side.failed:
            raise RunsFailed(side)
    return done
