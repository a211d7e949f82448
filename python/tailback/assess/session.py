"""Runs the experiments of a suite with a control and the baselines beside it, and judges the results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tailback import scenario, sweep
from tailback.assess import measures, verdicts
from tailback.assess.errors import WrongSuite
from tailback.assess.suite import Criterion, Suite
from tailback.assess.verdicts import Place, Row
from tailback.backends import Unsuitable, open_backend
from tailback.results import default_folder
from tailback.scenario import Experiment, own_controls
from tailback.sweep import Outcome, Watch

DEFAULT = "rfc9743"
"""The suite whose results have the name of the control alone."""

TEST = "test"
"""How the names of all entries of `traffic` begin whose control is assessed."""


class Wanted(Struct, frozen=True):
    """What is assessed, and how its runs are made."""

    control: str
    suite: Suite
    backend: str = "sim"
    jobs: int | None = None
    out: Path | None = None
    repeat: int | None = None
    alone: bool = False
    """Without the baselines that no verdict needs, for slow backends."""

    @property
    def folder(self) -> Path:
        """The folder of its results."""
        suite = () if self.suite.name == DEFAULT else (self.suite.name,)
        where = () if self.backend == "sim" else (self.backend.replace(":", "-"),)
        name = "-".join([self.name.replace(" ", "-"), *suite, *where])
        return self.out or Path("results") / "assess" / Path(name).name

    @property
    def name(self) -> str:
        """The name of what is assessed: a discipline has its words."""
        return self.control if self.suite.of == "qdisc" else named(self.control)

    @property
    def names(self) -> Mapping[str, str]:
        """The words of the control and the baselines by their names, the control first."""
        own = self.control if self.suite.of == "qdisc" else whole(self.control)
        others = {each: each for each in self.suite.baselines if each != self.name}
        return {self.name: own, **others}

    def names_in(self, experiment: str) -> Mapping[str, str]:
        """The names that run in an experiment."""
        if not self.alone:
            return self.names
        needed = {each for row in self.suite.asked if row.experiment == experiment for each in row.against}
        return {name: words for name, words in self.names.items() if name in {self.name, *needed}}


class Carried(Struct, frozen=True):
    """The runs of one experiment."""

    outcomes: Sequence[Outcome] = ()
    folder: Path | None = None
    refused: str = ""
    """Why the backend cannot run it."""
    stalled: str = ""
    """Why it was not run: a call of the control in an earlier experiment did not return, and would take its limit in
    each of the runs."""


class Assessment(Struct, frozen=True):
    """The rows of a suite."""

    wanted: Wanted
    rows: Sequence[Row]
    carried: Mapping[str, Carried]

    @property
    def control(self) -> str:
        """The name of the control."""
        return self.wanted.name

    def count(self, outcome: verdicts.Outcome) -> int:
        """The number of rows with this outcome."""
        return sum(row.outcome == outcome for row in self.rows)

    @property
    def scenarios(self) -> int:
        """The number of configurations that the control ran in."""
        return len({
            (name, *each.run.axes.items())
            for name, done in self.carried.items() for each in done.outcomes
            if each.run.axes.get(self.wanted.suite.of) == self.control
        })  # fmt: skip

    @property
    def runs(self) -> int:
        """The number of all runs."""
        return sum(len(done.outcomes) for done in self.carried.values())


def named(control: str) -> str:
    """The name of a control in tables: its words; of a file the name without suffix."""
    first, *rest = control.split()
    return " ".join([Path(first).stem if own_controls.in_words(control) else first, *rest])


def whole(control: str) -> str:
    """A control as an experiment takes it: a file with its whole path."""
    first, *rest = control.split()
    if own_controls.in_words(control) is None:
        return control
    path = str(Path(first).resolve())
    if len(path.split()) > 1:
        raise WrongSuite(f"`{path}` has a space in its path\n  hint: copy the file to a folder without one")
    return " ".join([path, *rest])


def assess(wanted: Wanted, watch: Watch) -> Assessment:
    """Runs what is missing, and judges each criterion."""
    names = list(dict.fromkeys(each.experiment for each in wanted.suite.asked))
    loaded = {name: load(wanted, name) for name in names}
    open_backend(wanted.backend)
    carried: dict[str, Carried] = {}
    for done, (name, experiment) in enumerate(loaded.items()):
        stalled = next(filter(None, (_stalled(wanted, each) for each in carried.values())), "")
        carried[name] = (
            Carried(stalled=stalled) if stalled else _run(wanted, experiment, _Part(watch, done, len(loaded)))
        )
    refused = [each.refused for each in carried.values()]
    if refused and all(refused):
        raise Unsuitable(refused[0])
    rows = [
        judge(wanted, criterion, carried.get(criterion.experiment, Carried())) for criterion in wanted.suite.criteria
    ]
    return Assessment(wanted, rows, carried)


def load(wanted: Wanted, name: str) -> Experiment:
    """An experiment of the suite with the control and the baselines as the values of its axis."""
    settings = [f"vary.{wanted.suite.of}={json.dumps(dict(wanted.names_in(name)))}"]
    if wanted.repeat is not None:
        settings.append(f"repeat={wanted.repeat}")
    return scenario.load(wanted.suite.file(name), settings)


class _Part(Struct, frozen=True):
    """The progress of one of several sweeps."""

    watch: Watch
    before: int
    total: int

    def update(self, done: int, total: int, fraction: float) -> None:
        del done, total
        self.watch.update(self.before, self.total, (self.before + fraction) / self.total)


def _run(wanted: Wanted, experiment: Experiment, watch: Watch) -> Carried:
    backend = open_backend(wanted.backend)
    stem = Path(experiment.path).stem
    try:
        plan = sweep.plan_of(experiment, backend)
        folder = default_folder(stem, plan, wanted.folder)
        beside = sorted(each for each in wanted.folder.parent.glob(f"*/{stem}") if each != folder)
        request = sweep.Request(wanted.backend, wanted.jobs, folder, reuse=beside)
        carried = sweep.run_experiment(experiment, request, watch)
    except Unsuitable as refused:
        return Carried(refused=str(refused))
    return Carried(carried.outcomes, carried.folder)


def judge(wanted: Wanted, criterion: Criterion, carried: Carried) -> Row:
    """The verdict on one criterion."""
    if criterion.absent or carried.refused:
        return Row(criterion, "absent", reason=criterion.absent or carried.refused)
    if carried.stalled:
        return Row(criterion, "ended", reason=f"not run, because {carried.stalled}")
    control, axis = wanted.name, wanted.suite.of
    groups: dict[tuple[tuple[str, str], ...], dict[str, list[float]]] = {}
    for outcome in _about(criterion, carried.outcomes):
        axes = {name: value for name, value in outcome.run.axes.items() if name != axis}
        values = groups.setdefault(tuple(axes.items()), {name: [] for name in wanted.names})
        value = _number(criterion.measure, outcome)
        if value is not None:
            values[outcome.run.axes[axis]].append(value)
    places = [_place(criterion, dict(axes), control, values) for axes, values in groups.items()]
    own = [outcome for outcome in _about(criterion, carried.outcomes) if outcome.run.axes[axis] == control]
    ended = _ended(own, silent=criterion.silent)
    return verdicts.row(criterion, places, ended)


def _number(measure: str, outcome: Outcome) -> float | None:
    """The value of a measure in a run; `None` if it failed or lacks a number."""
    if outcome.summary is None:
        return None
    return measures.number(measure, outcome.summary, lambda: sweep.samples(outcome))


def _place(criterion: Criterion, axes: Mapping[str, str], control: str, values: Mapping[str, list[float]]) -> Place:
    found = {name: verdicts.estimate(each, criterion.least) for name, each in values.items() if each}
    return verdicts.judged(criterion, axes, control, found)


def _about(criterion: Criterion, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The runs that a criterion is about."""
    return [
        outcome
        for outcome in outcomes
        if all(outcome.run.axes.get(axis) in values for axis, values in criterion.where.items())
    ]


def _ended(outcomes: Sequence[Outcome], *, silent: bool) -> str:
    """What ended the runs of the control; empty if nothing did. Where they may be `silent`, silence does not."""
    for outcome in outcomes:
        if outcome.summary is None:
            return f"{_where(outcome)}: {outcome.error}"
        if not silent and "control" in outcome.run.axes and (reason := silence(outcome.summary)):
            return f"{_where(outcome)}: {reason}"
    return ""


STALLED = "did not return within"
"""What the reason of a run says that ended because of a call without end, in Python or in C."""


def _stalled(wanted: Wanted, carried: Carried) -> str:
    """Why all runs of the control ended, if that is a call that did not return; empty otherwise."""
    own = [each for each in carried.outcomes if each.run.axes[wanted.suite.of] == wanted.name]
    reasons = [each.error or "" for each in own]
    return reasons[0] if reasons and all(STALLED in reason for reason in reasons) else ""


def _where(outcome: Outcome) -> str:
    return ", ".join(outcome.run.axes.values())


def silence(summary: Mapping[str, Any]) -> str:
    """What says that the control does not send; empty if it does."""
    flows = (summary.get("goodput_mbps") or {}).get("flows", {})
    mine = [goodput for flow, goodput in flows.items() if flow.startswith(TEST)]
    return "never sends, or stops for good: nothing of it arrived in the window" if mine and not any(mine) else ""
