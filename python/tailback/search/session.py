"""Searches a space for an experiment that meets a condition, and shrinks it.

The search is CMA-ES [hansen2016], of the library cma: it needs no gradient, bears noise, and its only state is a seed,
so that the same seed proposes the same experiments. A proposal that meets the condition is tried with further seeds of
the simulator, and is a finding if it meets it with each. The search ends with the first finding.
"""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from tailback import extras, scenario, sweep
from tailback.backends import Unsuitable
from tailback.scenario import Experiment, ScenarioError, paths
from tailback.scenario.document import plain
from tailback.scenario.reader import read_file, read_value, read_yaml
from tailback.search import shrink
from tailback.search.condition import UNKNOWN, Condition
from tailback.search.errors import WrongSearch
from tailback.search.space import space

if TYPE_CHECKING:
    from tailback.results import Results, RunResult

SEEDS = 3
"""The seeds with which a finding must show."""

PATIENCE = 12
"""The runs after which a search without any number ends."""

STEP = 0.3
"""The first step of CMA-ES, as a share of the space."""

LINES = 120
"""The longest line of a file."""


class Wanted(Struct, frozen=True):
    """What is searched for, where, and for how long."""

    file: Path
    condition: Condition
    over: str
    settings: Sequence[str] = ()
    budget_s: float = 60.0
    """CPU time of the search; shrinking takes as long again at most. A busy machine ends no search sooner."""
    evaluations: int | None = None
    seed: int = 1
    kept: Sequence[str] = ()
    """Keys that shrinking leaves as they are."""


class Found(Struct, frozen=True):
    """What a search found, if it did."""

    settings: Sequence[str]
    score: float
    evaluations: int
    """Runs of the search."""
    shrinking: int
    """Runs of the shrinking."""
    cpu_s: float
    text: str = ""
    """The smallest file that shows it; empty if nothing was found."""

    @property
    def lines(self) -> int:
        """The lines of the file."""
        return len(self.text.splitlines())

    @property
    def per_cpu_s(self) -> float:
        """Evaluations per second of CPU time."""
        return (self.evaluations + self.shrinking) / self.cpu_s if self.cpu_s else 0.0


Watch = Callable[[int, float, float], None]
"""Called after each run with their number, the best score, and the share of the budget that is spent."""


def search(wanted: Wanted, watch: Watch) -> Found:
    """Searches and shrinks; raises `WrongSearch`, and `ScenarioError` if the file is wrong as it stands."""
    extras.need("cma")
    first = scenario.load(wanted.file, wanted.settings)
    document = document_of(wanted.file, wanted.settings)
    kept_places(wanted, document)
    where = space(wanted.over, _let(document), _duration_s(first))
    cpu = time.process_time()
    trials = _Trials(document, wanted.condition)
    best, settings = UNKNOWN, where.settings([0.5] * where.size)
    for point in _proposals(where.size, wanted.seed, trials):
        proposed = where.settings(point)
        score = trials.tried(proposed)
        best, settings = max((best, settings), (score, proposed))
        if trials.count == PATIENCE and best == UNKNOWN:
            raise WrongSearch(_nothing(wanted))
        spent = (time.process_time() - cpu) / wanted.budget_s
        watch(trials.count, best, min(spent, 1.0))
        if score > 0 and trials.shows(trials.changed(proposed), SEEDS):
            return _shrunk(trials, proposed, wanted, cpu)
        if spent >= 1 or trials.count >= (wanted.evaluations or trials.count + 1):
            break
    return Found(settings, best, trials.count, 0, time.process_time() - cpu)


def _shrunk(trials: "_Trials", settings: Sequence[str], wanted: Wanted, cpu: float) -> Found:
    before, end = trials.count, time.process_time() + wanted.budget_s

    def shows(document: Any) -> bool:
        return time.process_time() < end and trials.shows(document, SEEDS)

    small = shrink.shrunk(
        trials.changed(settings), shows, kept_places(wanted, document_of(wanted.file, wanted.settings))
    )
    score = trials.score(small, 1)
    used = trials.count - before
    return Found(settings, score, before, used, time.process_time() - cpu, written(small))


def kept_places(wanted: Wanted, document: Any) -> list[shrink.Loc]:
    """The places of the keys that shrinking leaves as they are; raises `WrongSearch` if the file lacks one."""
    try:
        places = [paths.parse(key) for key in wanted.kept]
    except ValueError as error:
        raise WrongSearch(f"--keep: {error}") from None
    for key, place in zip(wanted.kept, places, strict=True):
        if shrink.found(document, place) is None:
            raise WrongSearch(f"--keep: `{wanted.file}` has no `{key}`\n  hint: name a key of the file: traffic[0].cc")
    return places


def _nothing(wanted: Wanted) -> str:
    return (
        f"none of {PATIENCE} settings runs and has every number of `{wanted.condition.text}`\n"
        f"  hint: `tailback run {wanted.file} --json` prints the numbers of a run; are all values of --over possible?"
    )


class _Trials:
    """Simulates changes of a document, and counts."""

    def __init__(self, document: dict[str, Any], condition: Condition) -> None:
        self._document = document
        self._condition = condition
        self.count = 0
        self.told: list[float] = []

    def changed(self, settings: Sequence[str]) -> dict[str, Any]:
        """The document with these values."""
        return with_settings(self._document, settings)

    def tried(self, settings: Sequence[str]) -> float:
        """The score of a proposal."""
        score = self.score(self.changed(settings), 1)
        self.told.append(score)
        return score

    def shows(self, document: dict[str, Any], seeds: int) -> bool:
        """Whether a document meets the condition with each seed."""
        return all(self.score(document, seed) > 0 for seed in range(1, seeds + 1))

    def score(self, document: dict[str, Any], seed: int) -> float:
        """The score of a document; that of one which cannot run is the worst."""
        self.count += 1
        try:
            experiment = scenario.loads(written(document), [f"seed={seed}", "repeat=1"], file="search.yaml")
            outcomes, found = sweep.simulate(experiment, 1, sweep.Silent())
        except (ScenarioError, Unsuitable):
            return UNKNOWN
        if any(each.summary is None for each in outcomes):
            return UNKNOWN
        return score_of(self._condition, found)


def score_of(condition: Condition, found: "Results") -> float:
    """The best score of the runs of an experiment."""
    runs: Sequence[RunResult] = found.runs
    return max((condition.score(run) for run in runs), default=UNKNOWN)


def _proposals(size: int, seed: int, trials: _Trials) -> Iterator[Sequence[float]]:
    """Points of the unit cube, the middle first, each generation chosen by the scores of the one before."""
    import cma

    yield [0.5] * size
    trials.told.clear()
    # It needs two dimensions: of one, the second decides nothing.
    dimensions = max(size, 2)
    options = {"bounds": [0, 1], "seed": seed, "verbose": -9, "tolfun": 0, "tolstagnation": 10**6}
    while True:
        strategy = cma.CMAEvolutionStrategy([0.5] * dimensions, STEP, options)
        while not strategy.stop():
            points = strategy.ask()
            trials.told.clear()
            for point in points:
                yield list(point[:size])
            strategy.tell(points, [-score for score in trials.told])
        options = {**options, "seed": int(options["seed"]) + 1000}  # type: ignore[call-overload]


def document_of(file: Path, settings: Sequence[str]) -> dict[str, Any]:
    """An experiment file as plain values, with settings."""
    found: Any = plain(read_yaml(read_file(scenario.file_of(file)), str(file)))
    if found.get("vary"):
        raise WrongSearch(
            f"`{file}` varies {', '.join(found['vary'])}\n  hint: remove `vary`, and search over it instead"
        )
    return with_settings(found, settings)


def with_settings(document: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A copy of a document with the values of `KEY=VALUE`; a variable of the file takes precedence over a key."""
    changed = copy.deepcopy(dict(document))
    for setting in settings:
        key, _, word = setting.partition("=")
        value = plain(read_value(word, setting))
        loc = paths.parse(key)
        if key in changed.get("let", {}):
            loc = ("let", key)
        whole: Any = changed
        for step in loc[:-1]:
            whole = whole.setdefault(step, {}) if isinstance(whole, dict) else whole[int(step)]
        whole[loc[-1]] = value
    return changed


def written(document: Mapping[str, Any]) -> str:
    """A document as YAML, the innermost parts on one line."""
    text: str = yaml.safe_dump(
        dict(document), default_flow_style=None, sort_keys=False, width=LINES, allow_unicode=True
    )
    return text


def _let(document: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in document.get("let", {}).items()}


def _duration_s(experiment: Experiment) -> float:
    run = next(iter(experiment.runs()))
    return run.scenario.duration_ns / 1e9
