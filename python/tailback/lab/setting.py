"""One setting of an experiment: its file, one value of each axis, and how often it is repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tailback import limits, scenario
from tailback.fitting import code_in, programs_in
from tailback.lab.axis import Named, YAMLError, with_axis
from tailback.lab.knobs import Knob, knobs
from tailback.resolved import to_text
from tailback.scenario import axes as grids
from tailback.scenario.reader import DEEPEST, LARGEST, MAX_VALUES, read_yaml
from tailback.scenario.yaml_nodes import compose

MOST_REPEATED = 30
"""Repetitions that the page may ask for."""

MOST_CHECKED = 64
"""Configurations of a grid up to which all are checked, and not only the one that is shown."""


class Place(Struct, frozen=True):
    """Where files that the experiment names are, and whether their code may be executed."""

    folder: Path
    name: str
    trust: bool


class Wanted(Struct, frozen=True):
    """What a page asks for."""

    id: int
    text: str
    choices: Mapping[str, str] = {}
    repeat: int = 1
    window: tuple[float, float] | None = None
    """In s: where each packet of the first seed is in this window of time is wanted, and nothing else."""
    settings: Sequence[Named] = ()
    """All settings of the page, for an axis of them."""


class Refused(Exception):
    """The setting cannot be shown; `findings` say why."""

    def __init__(self, findings: Sequence[dict[str, Any]]) -> None:
        super().__init__(findings[0]["message"] if findings else "")
        self.findings = findings


class Setting(Struct, frozen=True):
    """A setting that was read."""

    experiment: scenario.Experiment
    knobs: Sequence[Knob]
    findings: Sequence[dict[str, Any]]
    key: str
    """The same for two settings whose runs are the same."""


def read(wanted: Wanted, place: Place) -> Setting:
    """Reads a setting; raises `Refused`."""
    if len(wanted.text) > LARGEST:
        raise Refused([_finding(None, "", f"the text has more than {LARGEST} characters", "shorten it")])
    if not 1 <= wanted.repeat <= MOST_REPEATED:
        raise Refused([_finding(None, "repeat", f"is not from 1 to {MOST_REPEATED}", "repeat it fewer times")])
    experiment, labels = loaded(wanted, place)
    with limits.confined.to(place.folder), _findings():
        findings = [
            _finding(each.where, each.path, each.text, each.remedy, each.severity) for each in scenario.lint(experiment)
        ]
    runs = experiment.runs()
    code = [*code_in(runs), *programs_in(runs)]
    if code and not place.trust:
        what = f"it names code, `{code[0]}`, which the lab does not execute"
        raise Refused([_finding(None, "cc", what, "read it, then start the lab with --trust")])
    found = knobs(wanted.text, _root(wanted.text), labels, experiment.registry)
    shown = [_chosen(knob, wanted.choices) for knob in found]
    return Setting(experiment, shown, findings, _key(experiment, runs))


def loaded(wanted: Wanted, place: Place) -> tuple[scenario.Experiment, dict[str, list[str]]]:
    """The experiment of a setting, and the labels of the axes of its file; raises `Refused`."""
    with limits.confined.to(place.folder), _findings():
        tree = read_yaml(wanted.text, place.name)
        grid, _ = grids.axes(tree)
        labels = {axis.name: [choice.label for choice in axis.choices] for axis in grid}
        overrides = [*_fixed(labels, wanted.choices), *_asked(wanted)]
        return scenario.loads(wanted.text, overrides, file=str(place.folder / place.name)), labels


def others(wanted: Wanted, place: Place) -> list[dict[str, Any]]:
    """What is wrong in the other configurations of the grid."""
    tree = read_yaml(wanted.text, place.name)
    grid, _ = grids.axes(tree)
    count = 1
    for axis in grid:
        count *= len(axis.choices)
    if not 1 < count <= MOST_CHECKED:
        return []
    try:
        with limits.confined.to(place.folder), _findings():
            scenario.loads(wanted.text, file=str(place.folder / place.name))
    except Refused as refused:
        return list(refused.findings)
    return []


def axis(wanted: Wanted, place: Place) -> str:
    """The file with an axis of all settings of the page; raises `Refused`."""
    with limits.confined.to(place.folder), _findings():
        try:
            text = with_axis(wanted.settings)
        except YAMLError as error:
            raise Refused([_finding(None, "", f"is not YAML: {error}", "correct it first")]) from error
        scenario.loads(text, file=str(place.folder / place.name))
    return text


def _fixed(labels: Mapping[str, Sequence[str]], choices: Mapping[str, str]) -> Iterator[str]:
    """One value for each axis, as `--set` has it."""
    for name, known in labels.items():
        value = choices.get(name, known[0])
        # A label may be any text; another value is read as what it means in YAML.
        yield f"{name}={json.dumps(value) if value in known else value}"


def _asked(wanted: Wanted) -> list[str]:
    """What the page asks for beside the file, as `--set` has it."""
    if wanted.window is None:
        return [f"repeat={wanted.repeat}"]
    begin, end = wanted.window
    return ["repeat=1", f"measure.packets=[{begin:.9f}s, {end:.9f}s]"]


def _chosen(knob: Knob, choices: Mapping[str, str]) -> Knob:
    if knob.place is not None or knob.id not in choices:
        return knob
    value = choices[knob.id]
    options = knob.options if value in knob.options else (value, *knob.options)
    return Knob(knob.id, knob.label, knob.kind, value, options=options, free=knob.free)


def _root(text: str) -> Any:
    return compose(text, 2 * MAX_VALUES, DEEPEST)


def _key(experiment: scenario.Experiment, runs: Sequence[scenario.Run]) -> str:
    digest = hashlib.sha256(repr((experiment.title, experiment.configurations[0].keys.expect)).encode())
    for run in runs:
        digest.update(to_text(run.scenario))
        digest.update(repr((run.window_ns, run.directions, run.groups)).encode())
    return digest.hexdigest()


@contextmanager
def _findings() -> Iterator[None]:
    """The errors of a file as those of the page."""
    try:
        yield
    except scenario.ScenarioError as error:
        raise Refused([_finding(each.where, each.path, each.message, each.hint) for each in error.findings]) from error


def _finding(
    where: scenario.Where | None, path: str, message: str, hint: str, severity: str = "error"
) -> dict[str, Any]:
    line = None if where is None else where.line
    return {"line": line, "path": path, "message": message, "hint": hint, "severity": severity}
