"""What each axis of a grid changes: the findings under a table (`analysis.sentences` puts them into words).

For each value of an axis, compared with the first one, and for each combination of the other axes: the differences
between the runs of the same repetition, as `compare` pairs them, and the 95 % interval of their mean by Student's
paired test [law2015 §10.2.1]. Runs of one repetition have the same seed, so what chance does to both alike, such as the
times at which flows start, is no difference. One repetition has no interval, so it gives no findings.

A number changes if the whole interval is beyond its tolerance (`analysis.news`), stays if the interval is inside, and
is undecided otherwise. There may be hundreds of comparisons. Those that change are only those that also have a
false discovery rate of at most 5 % [benjamini1995] for the hypothesis that the difference is within tolerance: of all
changes that are said, at most one in twenty is expected to be due to chance. What misses only this is undecided.

The size of a change is the number of tolerances between the two values, which compares goodput with latencies: from 10
to 20 ms with a tolerance of 10 % it is ln(2) / 0.1 = 7, as it is from 20 to 10. The size of a finding under several
combinations is the mean, where those that do not change count as 0.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis import student
from tailback.analysis.intervals import CONFIDENCE
from tailback.analysis.metric import Summary
from tailback.analysis.news import APPLICATIONS, Judged, Kind, judged
from tailback.analysis.tolerance import Tolerance

LEVEL = (1 - CONFIDENCE) / 2
"""Level of each side of the interval."""

DISCOVERIES = 0.05
"""The false discovery rate."""

MOST_VALUES = 6
"""An axis with more values is a curve, of which a figure says more than sentences."""

FOLDERS = "results"
"""The axis of a comparison of folders, if no other tells them apart: its values are their paths."""

Decision = Literal["changes", "stays", "undecided"]


class Run(Struct, frozen=True):
    """What findings need of a run."""

    axes: Mapping[str, str]
    repetition: int
    summary: Summary


class Effect(Struct, frozen=True):
    """The difference that a value of an axis makes under one combination of the other axes."""

    place: Mapping[str, str]
    """The values of the other axes that vary."""
    before: float
    after: float
    difference: float
    low: float
    high: float
    """The ends of the 95 % interval of the difference."""
    size: float
    """The number of tolerances between the two values."""
    decision: Decision
    p: float
    """The probability of a difference as far beyond the tolerance by chance; 1 if it is not beyond it."""


class Outcome(Struct, frozen=True):
    """What a change does to one number, under each combination of the other axes."""

    judged: Judged
    effects: Sequence[Effect]

    def having(self, decision: Decision) -> list[Effect]:
        """The effects with this decision, the smallest first."""
        return sorted((each for each in self.effects if each.decision == decision), key=lambda each: each.size)

    @property
    def size(self) -> float:
        """How large the change is."""
        return fmean(each.size if each.decision == "changes" else 0.0 for each in self.effects)

    @property
    def stays(self) -> bool:
        """Whether the number stays under every combination."""
        return all(each.decision == "stays" for each in self.effects)


class Family(Struct, frozen=True):
    """What a change does to the statistics of one metric."""

    outcomes: Sequence[Outcome]
    """In the order p50, p90, p95, p99."""

    @property
    def name(self) -> str:
        """The name of the metric in a sentence."""
        return self.outcomes[0].judged.family

    @property
    def kind(self) -> Kind:
        """What the metric is about."""
        return self.outcomes[0].judged.kind

    @property
    def is_of_users(self) -> bool:
        """Whether it is what a user of an application sees."""
        return self.name in APPLICATIONS

    @property
    def largest(self) -> Outcome:
        """The statistic that changes most; of those that change about as much, the median or else the farthest tail."""
        first, *_ = self.outcomes
        most = max(outcome.size for outcome in self.outcomes)
        if first.size >= ABOUT * most:
            return first
        return next(outcome for outcome in reversed(self.outcomes) if outcome.size >= ABOUT * most)

    @property
    def size(self) -> float:
        """The size of its largest change."""
        return max(outcome.size for outcome in self.outcomes)

    @property
    def decision(self) -> Decision:
        """It stays only if all of its statistics do, everywhere."""
        if self.size:
            return "changes"
        return "stays" if all(outcome.stays for outcome in self.outcomes) else "undecided"


ABOUT = 0.7
"""A smaller statistic is said instead of a larger one if its change is this share of the other's."""


class Finding(Struct, frozen=True):
    """What one value of an axis changes, compared with the first value."""

    axis: str
    value: str
    reference: str
    families: Sequence[Family]
    """The largest change first, of results before those of their causes. What is only said where it changes is absent
    where it does not.
    """
    open: frozenset[str] = frozenset()
    """The names of those families that are absent and undecided."""

    @property
    def size(self) -> float:
        """The size of its first change."""
        return self.families[0].size


def findings(runs: Sequence[Run], of: Sequence[str] | None = None) -> list[Finding]:
    """What the values of each axis, or of those in `of`, change, the largest change first; empty without repetitions.
    Axes and their values are in the order of the runs.
    """
    varied = {axis: values for axis, values in _axes(runs).items() if len(values) > 1}
    changes = [
        (axis, values[0], value)
        for axis, values in varied.items() if len(values) <= MOST_VALUES and (of is None or axis in of)
        for value in values[1:]
    ]  # fmt: skip
    numbers = judged([run.summary for run in runs]) if changes else []
    tables = [(number, _table(runs, number)) for number in numbers]
    found = [
        (change, [Outcome(number, _effects(change, list(varied), number, table)) for number, table in tables])
        for change in changes
    ]
    return sorted(filter(None, map(_finding, _controlled(found))), key=lambda each: -each.size)


def _axes(runs: Sequence[Run]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for axis, value in run.axes.items():
            found.setdefault(axis, {})[value] = None
    return {axis: list(values) for axis, values in found.items()}


Change = tuple[str, str, str]
"""An axis, its reference and the value that is compared with it."""

Place = tuple[tuple[str, str], ...]
Table = Mapping[Place, Mapping[int, float]]
"""The values of a number by the values of all axes and by repetition."""


def _table(runs: Sequence[Run], number: Judged) -> Table:
    found: dict[Place, dict[int, float]] = {}
    for run in runs:
        value = number.read(run.summary)
        if value is not None:
            found.setdefault(tuple(run.axes.items()), {})[run.repetition] = value
    return found


def _effects(change: Change, varied: Sequence[str], number: Judged, table: Table) -> list[Effect]:
    axis, reference, value = change
    found = []
    for place, before in table.items():
        values = dict(place)
        if values.get(axis) != reference:
            continue
        after = table.get(tuple((name, value if name == axis else there) for name, there in place))
        if after is None:
            continue
        pairs = [(before[repetition], after[repetition]) for repetition in before if repetition in after]
        others = {name: values[name] for name in varied if name != axis}
        effect = _effect(others, pairs, number.tolerance)
        found += [] if effect is None else [effect]
    return found


def _effect(place: Mapping[str, str], pairs: Sequence[tuple[float, float]], allowing: Tolerance) -> Effect | None:
    """`None` if there are fewer than two repetitions, or if a run has too few samples for the number (NaN)."""
    if len(pairs) < 2 or any(math.isnan(before) or math.isnan(after) for before, after in pairs):
        return None
    before, after = (fmean(side) for side in zip(*pairs, strict=True))
    apart = [after - before for before, after in pairs]
    difference, error = fmean(apart), stdev(apart) / math.sqrt(len(apart))
    half = student.quantile(len(apart) - 1, LEVEL) * error
    low, high = difference - half, difference + half
    allowed = allowing.allowed(before, after)
    if allowed is None:
        # Too few of something for a difference to mean anything.
        return Effect(place, before, after, difference, low, high, 0.0, "stays", 1.0)
    return Effect(
        place, before, after, difference, low, high, tolerances_between(before, after, allowing),
        _decision((low, high), allowed), _chance(abs(difference) - allowed, error, len(apart) - 1),
    )  # fmt: skip


def _decision(interval: tuple[float, float], allowed: float) -> Decision:
    low, high = interval
    if -allowed <= low and high <= allowed:
        return "stays"
    return "changes" if low > allowed or high < -allowed else "undecided"


def _chance(beyond: float, error: float, freedom: int) -> float:
    """One-sided p of a mean so far beyond the tolerance."""
    if beyond <= 0:
        return 1.0
    return student.exceeded(freedom, beyond / error) if error > 0 else 0.0


def tolerances_between(before: float, after: float, allowing: Tolerance) -> float:
    """The number of tolerances between two values: the integral of 1 / tolerance, which is the same both ways."""
    share, floor = allowing.share or 0.0, allowing.absolute or 0.0
    flat = max(floor, share * (allowing.over or 0.0))
    if min(before, after) < 0 or not share or (not flat and not min(before, after)):
        allowed = allowing.allowed(max(abs(before), abs(after)), min(abs(before), abs(after)))
        return abs(after - before) / allowed if allowed else 0.0
    low, high = sorted((before, after))
    bend = flat / share
    linear = (min(high, bend) - min(low, bend)) / flat if flat else 0.0
    return linear + math.log(max(high, bend) / max(low, bend)) / share


def _controlled(
    found: Sequence[tuple[Change, Sequence[Outcome]]],
) -> list[tuple[Change, list[Outcome]]]:
    """The outcomes, where what does not meet the false discovery rate is undecided [benjamini1995]."""
    chances = sorted(effect.p for _, outcomes in found for outcome in outcomes for effect in outcome.effects)
    passing = [p for rank, p in enumerate(chances, 1) if p <= DISCOVERIES * rank / len(chances)]
    highest = max(passing, default=-1.0)

    def checked(effect: Effect) -> Effect:
        if effect.decision != "changes" or effect.p <= highest:
            return effect
        return replace(effect, decision="undecided")

    return [
        (change, [Outcome(each.judged, [checked(effect) for effect in each.effects]) for each in outcomes])
        for change, outcomes in found
    ]


def _finding(found: tuple[Change, Sequence[Outcome]]) -> Finding | None:
    (axis, reference, value), outcomes = found
    known = [outcome for outcome in outcomes if outcome.effects]
    families = [Family(list(group)) for _, group in groupby(known, key=lambda each: each.judged.family)]
    said = [each for each in families if each.size or each.outcomes[0].judged.mentioned == "always"]
    open_ = frozenset(each.name for each in families if each not in said and each.decision == "undecided")
    return Finding(axis, value, reference, sorted(said, key=_order), open_) if said else None


def _order(family: Family) -> tuple[bool, bool, float]:
    """What changes, the results before their causes, by size."""
    return not family.size, family.kind == "cause", -family.size
