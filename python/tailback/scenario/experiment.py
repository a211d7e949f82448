"""An experiment: a checked file, and its runs.

The stages of reading: YAML with line numbers (`reader`) → overrides (`sets`) → one tree per configuration (`axes`) →
variables replaced (`variables`) → short forms expanded (`shapes`) → typed keys (`schema`) → checks across keys
(`check`) → one resolved scenario per run (`resolve`). The errors of all configurations are collected into one
`ScenarioError`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from tailback.algorithms import CoreRegistry, Registry
from tailback.resolved import Scenario
from tailback.scenario import axes, check, findings, resolve, sets, variables
from tailback.scenario.axes import Variant
from tailback.scenario.document import Node, at, plain, without
from tailback.scenario.errors import Finding, ScenarioError
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.reader import read_file, read_yaml
from tailback.scenario.ready import file_of, similar
from tailback.scenario.repeat import Repeat
from tailback.scenario.schedules import Schedules
from tailback.scenario.schema import Keys
from tailback.scenario.shapes import Expansion
from tailback.scenario.variables import Substitution


class Configuration(Struct, frozen=True):
    """One configuration of the grid: its labels, its checked keys, and the tree they were read from."""

    labels: Mapping[str, str]
    keys: Keys
    tree: Node
    unused: Mapping[str, Node] = {}
    """The variables that it does not use."""

    def repeated(self, count: int) -> Configuration:
        """The configuration with this number of repetitions."""
        return replace(self, keys=self.keys.model_copy(update={"repeat": Repeat(count, count)}))


class Run(Struct, frozen=True):
    """One run of an experiment."""

    axes: Mapping[str, str]
    """Label by axis, in the order of the file; empty without `vary`."""
    repetition: int
    """Starts at 1."""
    seed: int
    """The file's seed + repetition - 1; the same in every configuration."""
    scenario: Scenario
    """The input of a backend (`docs/contracts.md`)."""
    window_ns: tuple[int, int]
    """The measurement window: start and end since the start of the run."""
    directions: Mapping[str, str]
    """`up` (from the users' side) or `down` (to it) by name of the flow; other flows are absent."""
    groups: Mapping[str, str]
    """The group of each flow whose entry names one."""


class Experiment(Struct, frozen=True):
    """A checked experiment file."""

    name: str
    """The name of the file without its suffix."""
    path: str
    """The path as given by the caller."""
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
        """The number of repetitions, which is the same for all configurations."""
        return self.configurations[0].keys.repeat

    def runs(self) -> list[Run]:
        """All runs, in the order of the grid, with the repetitions of a configuration together."""
        return [run for configuration in self.configurations for run in self._repetitions(configuration)]

    def _repetitions(self, configuration: Configuration) -> Iterator[Run]:
        keys = configuration.keys
        for repetition in range(1, keys.repeat.max + 1):
            seed = keys.seed + repetition - 1
            yield Run(
                axes=dict(configuration.labels),
                repetition=repetition,
                seed=seed,
                scenario=resolve.scenario(keys, self.title, seed),
                window_ns=check.window_of(keys),
                directions=resolve.directions(keys, seed),
                groups=resolve.groups(keys, seed),
            )


def load(path: str | Path, overrides: Sequence[str] = (), registry: Registry | None = None) -> Experiment:
    """Reads and checks an experiment file, or an experiment that comes with Tailback (`demo`).

    `overrides` are `KEY=VALUE` as for `--set`. Raises `ScenarioError` with all errors of the file.
    """
    file = file_of(Path(path))
    return loads(read_file(file, lambda: similar(file)), overrides, registry, file=str(file))


def loads(
    text: str, overrides: Sequence[str] = (), registry: Registry | None = None, *, file: str = "experiment"
) -> Experiment:
    """As `load`, from a text; error messages call it `file`."""
    algorithms = registry if registry is not None else CoreRegistry()
    trees = list(_overridden(_top(read_yaml(text, file)), overrides))
    tree = trees[-1]
    grid, wrong = axes.axes(tree)
    wrong = [*wrong, *sets.without_effect(overrides, trees, grid)]
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


def _overridden(tree: Node, overrides: Iterable[str]) -> Iterator[Node]:
    """The file, and the file after each of the overrides."""
    yield tree
    wrong: list[Finding] = []
    for override in overrides:
        try:
            tree = sets.apply(tree, override)
        except ScenarioError as error:
            wrong.extend(error.findings)
        yield tree
    if wrong:
        raise ScenarioError(wrong)


def expanded(configuration: Configuration) -> str:
    """The file of one configuration, without `vary`, variables and short forms, as YAML."""
    text: str = yaml.safe_dump(plain(configuration.tree), sort_keys=False, allow_unicode=True, width=LINE)
    return text


LINE = 120
"""Longest line of an expanded file."""


class _Reading:
    """Reads configurations and collects their errors."""

    def __init__(self, registry: Registry, folder: Path, wrong: Iterable[Finding]) -> None:
        self.registry = registry
        self.folder = folder
        self.findings = list(wrong)
        self.variables: Collection[str] = ()
        """The variables of the configuration that is read."""
        self.told: Collection[str] = ()
        """The paths of values of it whose variables could not be replaced."""

    def configurations(self, variants: Iterable[Variant]) -> Iterator[Configuration]:
        for variant in variants:
            substitution = Substitution(variant.tree.entries().get("let"), tuple(Keys.model_fields))
            tree = substitution.apply(without(without(variant.tree, ("let",)), ("vary",)))
            self.findings.extend(substitution.findings)
            self.told = {finding.path for finding in substitution.findings}
            if any(finding.path.startswith("let") for finding in substitution.findings):
                # What they stand for is unknown: whatever is wrong with it is no message of its own.
                continue
            self.variables = substitution.names
            expansion = Expansion()
            tree = expansion.apply(tree)
            if expansion.findings:
                self.findings.extend(expansion.findings)
                continue
            schedules = Schedules(self.folder)
            tree = schedules.apply(tree)
            self.findings.extend(schedules.findings)
            keys = self._keys(tree)
            if keys is not None:
                yield Configuration(variant.labels, keys, tree, substitution.unused)

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
        """Also reports errors across keys, checked without the invalid values; not that these are absent."""
        pruned = tree
        for problem in wrong:
            pruned = _without_invalid(pruned, problem.loc)
        try:
            keys = self._validated(pruned)
        except ValidationError:
            return
        removed = {problem.loc for problem in wrong}
        self._note([each for each in check.problems(keys) if not _asks_for(each, removed)], tree)

    def _validated(self, tree: Node) -> Keys:
        return Keys.model_validate(plain(tree), context={"registry": self.registry, "folder": self.folder})

    def _note(self, wrong: Iterable[Problem], tree: Node) -> None:
        found = (findings.located(variables.braced(problem, self.variables), tree) for problem in wrong)
        self.findings.extend(each for each in found if each.path not in self.told)


def _asks_for(problem: Problem, removed: Collection[Loc]) -> bool:
    """Whether the hint is to add a key, or to give a value, that is there and invalid."""
    return any(
        (problem.loc[:-1] == loc[:-1] and problem.hint.startswith(f"add `{loc[-1]}:"))
        or (problem.loc == loc[: len(problem.loc)] and problem.hint.startswith("give a new value"))
        for loc in removed
        if loc
    )


def _without_invalid(tree: Node, loc: Loc) -> Node:
    """Removes an invalid value. A host whose value is invalid stays, because links refer to it."""
    rest, hosts = without(tree, loc), at(tree, ("hosts",))
    if loc[0] != "hosts" or len(loc) < 2 or hosts is None:
        return rest
    own = {name: at(rest, ("hosts", name)) for name in hosts.entries()}
    return replace(rest, value={**rest.entries(), "hosts": axes.settings_left(hosts, own)})
