"""The functions of `import tailback`: load an experiment file, run it, open its results, compare results."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tailback import advice, drill, results, scenario, sweep, validation
from tailback.analysis import configurations
from tailback.analysis.tolerances import FIDELITY, NONE, tolerances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.plots import Choice


class RunsFailed(Exception):
    """Some runs of an experiment failed; `carried` has the results of the others."""

    def __init__(self, carried: sweep.SweepResult) -> None:
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
    already are not run again. Raises `RunsFailed` if a run failed; the others are complete then. With the address of a
    Dask scheduler behind it (`backend="sim@tcp://scheduler:8786"`) its workers do the runs.
    """
    if not isinstance(experiment, scenario.Experiment):
        experiment = load(experiment, settings)
    elif settings:
        raise ValueError("`settings` change a file: give its path, or load the experiment with them")
    backend, _, cluster = backend.partition("@")
    request = sweep.Request(backend, jobs, None if out is None else Path(out), tuple(settings), cluster or None)
    carried = sweep.run_experiment(experiment, request, _Nobody())
    if carried.failed:
        raise RunsFailed(carried)
    return results.open_results(carried.folder)


def open(path: Path | str) -> results.Results:  # `tailback.open` says what it does
    """The results in a folder that `run` or `tailback run` has written; runs that are damaged are left out, with a
    warning for each.
    """
    found = results.open_results(path)
    for damaged in found.damaged:
        warnings.warn(f"left out: {damaged}", stacklevel=2)
    return found


def drill_script(
    path: Path | str, *, tolerance_usecs: int | None = None, stack: str | None = None, backend: str = "sim"
) -> drill.Report:
    """Runs a packetdrill script over the simulator's TCP or that of a real kernel, as `tailback drill` does."""
    return drill.run_file(Path(path), drill.Settings(tolerance_usecs, stack, backend))


def tabulate(found: results.Results | Path | str) -> pd.DataFrame:
    """The table of `tailback run`: a row per configuration, each number as mean over the repetitions with the ends of
    its 95 % interval (`goodput`, `goodput low`, `goodput high`).
    """
    return configurations([(run.axes, run.summary) for run in _opened(found).runs])


def plot(found: results.Results | Path | str, name: str | None = None, choice: "Choice | None" = None) -> "Figure":
    """A figure of results by its name in `tailback plot --list`, as a matplotlib figure."""
    # On demand: who runs experiments should not wait for matplotlib.
    from tailback import plots

    opened, wanted = _opened(found), choice or plots.AUTOMATIC
    chosen = plots.find_plot(name) if name else plots.default_plot(opened)
    return chosen.draw(chosen.data(opened, wanted), wanted)


def sensitivity(found: results.Results | Path | str, metric: str = "goodput", *, log: bool = False) -> pd.DataFrame:
    """Which axis matters how much for `metric` (`ping p99`, `tcp_rtt_up_ms.p90`): a row per axis with its Sobol'
    indices `first` and `total` and their 95 % intervals, as `tailback sensitivity` shows them.
    """
    return advice.sensitivities(_opened(found), metric, logarithmic=log).indices


def pareto(
    found: results.Results | Path | str, latency: str | None = None, given: Sequence[str] = ()
) -> list[advice.Front]:
    """The trade-off of goodput against latency under each condition, as `tailback pareto` shows it; `table` of each is
    a pandas frame with a row per configuration.
    """
    return advice.fronts(_opened(found), latency, given)


def recommend(
    found: results.Results | Path | str, bounds: str, best: str = "goodput", given: Sequence[str] = ()
) -> list[advice.Recommendation]:
    """The setting with the most of `best` among those that meet `bounds` (`"ping p99 < 10ms"`), for each condition."""
    return advice.recommend(_opened(found), bounds, best, given)


def write_report(found: results.Results | Path | str, target: Path | str) -> Path:
    """Writes the interactive report of results into the file `target`; returns its path."""
    from tailback import report

    return report.write(_opened(found), Path(target))


def _opened(found: results.Results | Path | str) -> results.Results:
    return found if isinstance(found, results.Results) else open(found)


def compare(
    reference: results.Results | Path | str, candidate: results.Results | Path | str, **words: str
) -> validation.Comparison:
    """Two results, metric by metric over their common runs; `rtt="10% or 0.5ms"` judges by a tolerance.

    `differences`, `distances` and `divergences` of what it gives back are pandas frames.
    """
    sides = [_opened(side) for side in (reference, candidate)]
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
    """Runs an experiment on two backends and compares the results, as `tailback validate` does.

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
