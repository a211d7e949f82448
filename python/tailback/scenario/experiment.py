"""An experiment: a checked file, and its runs.

The way of a file: YAML with line numbers (`reader`) → overrides (`sets`) → one tree per configuration (`axes`) →
variables replaced (`variables`) → typed keys (`schema`) → what spans several keys (`check`) → one resolved scenario
per run (`resolve`). Everything wrong in any configuration is collected into one `ScenarioError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tailback.algorithms import CoreRegistry, Registry
from tailback.resolved import Scenario
from tailback.scenario import axes, check, findings, resolve, sets
from tailback.scenario.axes import Variant
from tailback.scenario.document import Node, plain, put, without
from tailback.scenario.errors import Finding, ScenarioError
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.reader import read_file, read_yaml
from tailback.scenario.ready import file_of
from tailback.scenario.repeat import Repeat
from tailback.scenario.schema import Keys
from tailback.scenario.variables import Substitution


@dataclass(frozen=True)
class Configuration:
    """One configuration of the grid: its labels, its checked keys, and the tree that they come from."""

    labels: Mapping[str, str]
    keys: Keys
    tree: Node


@dataclass(frozen=True)
class Run:
    """One run to be made."""

    axes: Mapping[str, str]
    """Label by axis, in the order of the file; empty without `vary`."""
    repetition: int
    """Counted from 1."""
    seed: int
    """The file's seed + repetition - 1: a repetition has the same seed in every configuration."""
    scenario: Scenario
    """What a backend runs (`docs/contracts.md`)."""
    window_ns: tuple[int, int]
    """The measurement window, in time of the run."""
    directions: Mapping[str, str]
    """`up` (from the first host of the file) or `down` (to it) by TCP flow; a flow that is neither is absent."""


@dataclass(frozen=True)
class Experiment:
    """A checked experiment file."""

    name: str
    """The file's name without its ending."""
    path: str
    """The file as it was named."""
    title: str
    source: str
    """The text of the file, before overrides."""
    configurations: tuple[Configuration, ...]
    registry: Registry

    @property
    def axes(self) -> dict[str, list[str]]:
        """The labels of each axis, in the order of the file."""
        labels: dict[str, dict[str, None]] = {}
        for configuration in self.configurations:
            for axis, label in configuration.labels.items():
                labels.setdefault(axis, {})[label] = None
        return {axis: list(values) for axis, values in labels.items()}

    @property
    def repeat(self) -> Repeat:
        """How often each configuration is repeated; it cannot vary."""
        return self.configurations[0].keys.repeat

    def runs(self) -> list[Run]:
        """All runs: the configurations in the order of the grid, each with all its repetitions."""
        return [run for configuration in self.configurations for run in self._repetitions(configuration)]

    def _repetitions(self, configuration: Configuration) -> Iterator[Run]:
        keys = configuration.keys
        for repetition in range(1, keys.repeat.most + 1):
            seed = keys.seed + repetition - 1
            yield Run(
                axes=dict(configuration.labels),
                repetition=repetition,
                seed=seed,
                scenario=resolve.scenario(keys, self.title, seed),
                window_ns=check.window_of(keys),
                directions=resolve.directions(keys),
            )


def load(path: str | Path, overrides: Sequence[str] = (), registry: Registry | None = None) -> Experiment:
    """The experiment in a file, or the ready one of this name (`demo`), with `KEY=VALUE` overrides; raises
    `ScenarioError` with everything wrong.
    """
    file = file_of(Path(path))
    return loads(read_file(file), overrides, registry, file=str(file))


def loads(
    text: str, overrides: Sequence[str] = (), registry: Registry | None = None, *, file: str = "experiment"
) -> Experiment:
    """The experiment in a text; `file` is what errors call it."""
    algorithms = registry if registry is not None else CoreRegistry()
    tree = _overridden(_top(read_yaml(text, file)), overrides)
    grid, wrong = axes.axes(tree)
    reading = _Reading(algorithms, Path(file).parent, wrong)
    configurations = tuple(reading.configurations(axes.variants(tree, grid)))
    if reading.findings:
        raise ScenarioError(reading.findings)
    name = Path(file).stem
    title = configurations[0].keys.title
    return Experiment(name, file, name if title is None else title, text, configurations, algorithms)


def _top(tree: Node) -> Node:
    if isinstance(tree.value, dict):
        return tree
    message = f"{findings.quoted(plain(tree))} is not an experiment"
    raise ScenarioError([Finding(tree.where, "", message, "write keys and values: duration: 40s")])


def _overridden(tree: Node, overrides: Iterable[str]) -> Node:
    wrong: list[Finding] = []
    for override in overrides:
        try:
            tree = sets.apply(tree, override)
        except ScenarioError as error:
            wrong.extend(error.findings)
    if wrong:
        raise ScenarioError(wrong)
    return tree


class _Reading:
    """Reads configurations, keeping what is wrong with each."""

    def __init__(self, registry: Registry, folder: Path, wrong: Iterable[Finding]) -> None:
        self.registry = registry
        self.folder = folder
        self.findings = list(wrong)

    def configurations(self, variants: Iterable[Variant]) -> Iterator[Configuration]:
        for variant in variants:
            substitution = Substitution(variant.tree.entries().get("let"), tuple(Keys.model_fields))
            tree = substitution.apply(without(without(variant.tree, ("let",)), ("vary",)))
            self.findings.extend(substitution.findings)
            keys = self._keys(tree)
            if keys is not None:
                yield Configuration(variant.labels, keys, tree)

    def _keys(self, tree: Node) -> Keys | None:
        try:
            keys = self._validated(tree)
        except ValidationError as error:
            wrong = findings.problems(error)
            self._note(wrong, tree)
            self._note_rest(wrong, tree)
            return None
        wrong = check.problems(keys)
        self._note(wrong, tree)
        return None if wrong else keys

    def _note_rest(self, wrong: Iterable[Problem], tree: Node) -> None:
        """Also what spans several keys, judged without the values that are wrong by themselves."""
        pruned = tree
        for problem in wrong:
            pruned = _excused(pruned, problem.loc)
        try:
            keys = self._validated(pruned)
        except ValidationError:
            return
        self._note(check.problems(keys), tree)

    def _validated(self, tree: Node) -> Keys:
        return Keys.model_validate(plain(tree), context={"registry": self.registry, "folder": self.folder})

    def _note(self, wrong: Iterable[Problem], tree: Node) -> None:
        self.findings.extend(findings.located(problem, tree) for problem in wrong)


def _excused(tree: Node, loc: Loc) -> Node:
    """The tree without a wrong value; a wrong host stays as a host without settings, for links name it."""
    match loc:
        case ("hosts", str()):
            return put(without(tree, loc), loc, Node({}, tree.where))
    return without(tree, loc)
