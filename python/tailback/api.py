"""The functions of `import tailback`: load an experiment, run it, open results, analyse and compare them.

Functions that take results accept a `Results` object or the path of a results folder.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pandas as pd
from typing_extensions import Unpack

from tailback import advice, drill, limits, results, scenario, sweep, validation
from tailback.analysis import configurations
from tailback.analysis.cautions import Caution, over
from tailback.analysis.tolerances import FIDELITY, NONE, tolerances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.plots import Choice


class Access(TypedDict, total=False):
    """How machines are reached."""

    security: Any
    """`distributed.Security` of the scheduler; default: what the configuration of dask says."""
    trust: bool
    """Whether files may execute the code that they name (SECURITY.md)."""


class RunsFailed(Exception):
    """Some runs of an experiment failed; `carried` has the outcomes of all runs."""

    def __init__(self, carried: sweep.SweepResult) -> None:
        lines = [f"run {outcome.run.name} failed: {outcome.error}" for outcome in carried.failed]
        super().__init__("\n".join(lines))
        self.carried = carried


class SimulationFailed(Exception):
    """Some runs of `simulate` failed; `results` has the others."""

    def __init__(self, failed: Sequence[sweep.Outcome], found: results.Results) -> None:
        super().__init__("\n".join(f"run {outcome.run.name} failed: {outcome.error}" for outcome in failed))
        self.results = found


def load(path: Path | str, settings: Sequence[str] = ()) -> scenario.Experiment:
    """Reads and checks an experiment file, or an experiment that comes with Tailback (`demo`).

    `settings` are changes such as `cc=bbr`, as for `--set`. Raises `ScenarioError` with all errors of the file.
    """
    return scenario.load(Path(path), list(settings))


def run(
    experiment: scenario.Experiment | Path | str,
    *,
    settings: Sequence[str] = (),
    out: Path | str | None = None,
    jobs: int | None = None,
    backend: str = "sim",
    **access: Unpack[Access],
) -> results.Results:
    """Runs all configurations and repetitions of an experiment, and opens the results.

    `experiment` is a loaded experiment, a file, or the name of one that comes with Tailback. `settings` change a file
    as `--set` does (also `repeat=5`). `out` is the results folder (default: `results/FILE`), `jobs` the number of
    parallel runs (default: one per core; one if runs take place in real time). Complete runs in the folder are not
    repeated. `backend` is `sim`, `uml`, `uml:KERNEL`, `netns` or `ssh:FILE`; with `@ADDRESS` of a Dask scheduler
    (`sim@tcp://127.0.0.1:8786`), its workers execute the runs. `access` are two keywords:
    `security` is its `distributed.Security` (TLS), and `trust=True` takes a testbed file whose `config` of ssh may
    execute programs (SECURITY.md). Warns of what `cautions` has to say.

    Raises `ScenarioError` for an invalid file, and `RunsFailed` if some runs failed (the others are then complete).
    """
    if not isinstance(experiment, scenario.Experiment):
        experiment = load(experiment, settings)
    elif settings:
        raise ValueError("`settings` change a file: pass them to `load`, or pass the path of the file")
    backend, _, cluster = backend.partition("@")
    place = None if out is None else Path(out)
    secured = access.get("security")
    request = sweep.Request(backend, jobs, place, tuple(settings), cluster or None, security=secured)
    with limits.trust.trusting(access.get("trust", False)):
        carried = sweep.run_experiment(experiment, request, sweep.Silent())
    if carried.failed:
        raise RunsFailed(carried)
    done = carried.results
    for caution in cautions(done):
        if caution.severity == "warning":
            warnings.warn(str(caution), stacklevel=2)
    return done


def simulate(
    experiment: scenario.Experiment | Path | str, *, settings: Sequence[str] = (), jobs: int | None = None
) -> results.Results:
    """Simulates all configurations and repetitions of an experiment in memory: as `run`, but no file is written.

    `settings` and `jobs` are those of `run`. The results have the same tables and summaries, and can be tabulated,
    plotted and compared in the same way. They lack what are files: captures (`measure.pcap`), reports, bundles.

    Raises `ScenarioError` for an invalid file, and `SimulationFailed` if some runs failed.
    """
    if not isinstance(experiment, scenario.Experiment):
        experiment = load(experiment, settings)
    elif settings:
        raise ValueError("`settings` change a file: pass them to `load`, or pass the path of the file")
    outcomes, found = sweep.simulate(experiment, jobs, sweep.Silent())
    if failed := [outcome for outcome in outcomes if outcome.status != "ok"]:
        raise SimulationFailed(failed, found)
    return found


def cautions(found: results.Results | Path | str) -> list[Caution]:
    """What to know before believing the numbers, as in the lines after `tailback run`: one per `code`, with the worst
    case (`text`, `axes`), a `hint`, the `count` of runs that it is about and their configurations (`places`).
    """
    return over([(run.axes, run.summary) for run in _opened(found).runs])


def open(path: Path | str) -> results.Results:
    """Opens a results folder that `run` or `tailback run` has written. Damaged runs are left out, with a warning for
    each. Warns if summaries are of another version of the analysis. Raises `NotResults` if the folder contains no
    complete run.
    """
    found = results.open_results(path)
    for text in results.left_out(found.damaged):
        warnings.warn(text, stacklevel=2)
    if found.remark is not None:
        warnings.warn(found.remark, stacklevel=2)
    return found


def drill_script(
    path: Path | str, *, tolerance_usecs: int | None = None, stack: str | None = None, backend: str = "sim"
) -> drill.Report:
    """Runs a packetdrill script on a `backend`: the simulator's TCP (`sim`) or a real kernel (`uml`, `uml:KERNEL`).

    `tolerance_usecs` is the tolerance of times in µs (default: that of the script, else 4000), `stack` the network
    stack of the simulator (default: Linux 6.12). The verdict is in the report; a script that fails does not raise.
    """
    return drill.run_file(Path(path), drill.Settings(tolerance_usecs, stack, backend))


def tabulate(found: results.Results | Path | str) -> pd.DataFrame:
    """The table of `tailback run` as a frame: one row per configuration, with its axes, `runs`, and for each number the
    mean over the repetitions and the ends of its 95 % interval (`goodput`, `goodput low`, `goodput high`; goodput in
    Mbit/s, times in ms). Unknown values are NaN.
    """
    return configurations([(run.axes, run.summary) for run in _opened(found).runs])


def plot(
    found: results.Results | Path | str, name: str | None = None, choice: "Choice | None" = None, **words: Any
) -> "Figure":
    """Draws a figure of results as a matplotlib figure. `name` is a name of `tailback plot --list` (default: the plot
    that fits the results best). `metric="ping"`, `facet="qdisc"` and the other fields of `plots.Choice` select axes and
    metric, as the options of `tailback plot` do; `choice` has them all in one object.
    """
    # Imported here, because matplotlib is slow to load.
    from tailback import plots

    opened, wanted = _opened(found), plots.with_words(choice or plots.AUTOMATIC, words)
    chosen = plots.find_plot(name) if name else plots.default_plot(opened)
    return chosen.draw(chosen.table(opened, wanted), wanted)


def sensitivity(found: results.Results | Path | str, metric: str = "goodput", *, log: bool = False) -> pd.DataFrame:
    """The sensitivity of a metric (`ping p99`, `tcp_rtt_up_ms.p90`) to the axes, as in `tailback sensitivity`: one row
    per axis with its Sobol' indices `first` and `total` (shares of the variance, 0 to 1) and their 95 % intervals. With
    `log`, of the logarithm of the metric.
    """
    return advice.sensitivities(_opened(found), metric, logarithmic=log).indices


def pareto(
    found: results.Results | Path | str,
    latency: str | None = None,
    given: Sequence[str] = (),
    choose: Sequence[str] = (),
) -> list[advice.Front]:
    """The trade-off between goodput and `latency` (by default that of the application, else `ping p99`) under each
    condition, as in `tailback pareto`. `given` names further axes to treat as conditions, `choose` axes not to. `table`
    of each front is a frame with a row per configuration.
    """
    return advice.fronts(_opened(found), latency, given, choose)


def recommend(
    found: results.Results | Path | str,
    bounds: str = "",
    best: str | advice.Wish = "goodput",
    given: Sequence[str] = (),
    choose: Sequence[str] = (),
) -> list[advice.Recommendation]:
    """The setting with the best value of `best` (high goodput, low `ping p99`) among those that meet `bounds`
    (`"ping p99 < 10ms"`, `"goodput >= 95% of best"`), for each condition. `given` names further axes to treat as
    conditions, `choose` axes not to; `advice.wish(minimise="cwnd")` says which direction is better.
    """
    return advice.recommend(_opened(found), bounds, best, given, choose)


def write_report(found: results.Results | Path | str, target: Path | str) -> Path:
    """Writes the interactive report of results to the HTML file `target`; returns its path."""
    from tailback import report

    return report.write(_opened(found), Path(target))


def _opened(found: results.Results | Path | str) -> results.Results:
    return found if isinstance(found, results.Results) else open(found)


def compare(
    reference: results.Results | Path | str, candidate: results.Results | Path | str, **words: str
) -> validation.Comparison:
    """Compares two results, metric by metric, over their common runs. `rtt="10% or 0.5ms"` sets the tolerance of a
    metric; metrics without one are shown but not judged.

    The attributes `differences`, `distances` and `divergences` of the comparison are frames. Raises `NotComparable` if
    the results have no runs in common.
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
    """Runs an experiment on the backends `backend` and `against` and compares the results, as `tailback validate` does.

    `goodput="1%"` changes the default tolerance of a metric. `out` is the folder of both results, `jobs` the number of
    parallel runs. Undecided configurations are repeated up to 20 times. Raises `RunsFailed` if a run failed.
    """
    loaded = experiment if isinstance(experiment, scenario.Experiment) else load(experiment)
    criteria = validation.Criteria(tolerances(words, FIDELITY))
    folder = None if out is None else Path(out)
    request = validation.Request(backend, against, criteria, jobs, folder, most=validation.MOST)
    done = validation.validate(loaded, request, sweep.Silent())
    for side in done.carried:
        if side.failed:
            raise RunsFailed(side)
    return done
