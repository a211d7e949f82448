"""The plan of an experiment: its runs with stable, readable names."""

from collections.abc import Sequence

from tailback.analysis import Stopping
from tailback.analysis.registry import by_word
from tailback.backends import Backend, backend_for, fingerprint_of
from tailback.results import ExperimentPlan, RunPlan, run_name
from tailback.scenario import Experiment, Run


def plan_of(experiment: Experiment, backend: Backend, settings: Sequence[str] = ()) -> ExperimentPlan:
    """All runs of `experiment`, in the order of its grid."""
    return ExperimentPlan(
        title=experiment.title,
        source=experiment.source,
        settings=settings,
        backend=backend.name,
        runs=[_planned(run, backend) for run in experiment.runs()],
    )


def stopping_of(experiment: Experiment) -> Stopping | None:
    """The rule that ends repetitions; `None` if their number is fixed."""
    repeat = experiment.repeat
    if repeat.share is None:
        return None
    metrics = by_word()
    reads = {name: metrics[name].numbers[0].read for name in repeat.quantities}
    return Stopping(repeat.share, reads, repeat.min, repeat.max)


def _planned(run: Run, backend: Backend) -> RunPlan:
    return RunPlan(
        name=run_name(run.axes, run.repetition, run.scenario),
        axes=run.axes,
        repetition=run.repetition,
        seed=run.seed,
        scenario=run.scenario,
        fingerprint=fingerprint_of(backend_for(backend, run.scenario), run.scenario),
        window_ns=run.window_ns,
        directions=run.directions,
        groups=run.groups,
    )
