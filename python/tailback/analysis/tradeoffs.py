"""Goodput against latency over the configurations of a grid: the Pareto front, and the choice under a bound.

The Pareto front consists of the configurations that no other dominates, that is, has at least as much gain and at most
as much cost, and is better in one of them. Gain that is larger by less than half a percent does not justify a higher
cost: going up in cost, a configuration is on the front if it has half a percent more than those before. The front is
subject to chance: `on front` is the share of bootstrap samples (resampled repetitions of each configuration [efron1993
§13.3]) in which a configuration is on it.

A configuration meets bounds *surely* if the whole 95 % interval of each mean does (`analysis.intervals`), and *likely*
if the means do but an interval does not, or if there is no interval because there is one repetition. Of the sure ones
(or the likely ones if none is sure), the ones with the best mean of the wanted quantity (the largest or the smallest,
as asked) are equivalent: those within
half a percent of it, or not significantly different (Welch's test [welch1947], two-sided, p ≥ 0.05). The best of these
is the one farthest from the bounds.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec import Struct

from tailback.analysis import student
from tailback.analysis.bounds import Bound
from tailback.analysis.intervals import t_interval
from tailback.analysis.metric import Better, Column, Summary
from tailback.analysis.repetitions import configurations

RESAMPLES = 999
SEED = 1
SIGNIFICANT = 0.05
RELEVANT = 0.005
"""Relative differences of the wanted quantity, or of the gain along a front, below this are irrelevant."""

Values = npt.NDArray[np.float64]
Runs = Sequence[tuple[Mapping[str, str], Summary]]
Met = Literal["surely", "likely", "not"]

RANKS: Mapping[Met, int] = {"surely": 2, "likely": 1, "not": 0}


def front(runs: Runs, cost: Column, gain: Column) -> pd.DataFrame:
    """The configurations with both numbers (`repetitions.configurations`), `pareto` (whether their means are on the
    front) and `on front` (share of bootstrap samples; unknown with one repetition), sorted by cost.
    """
    table = configurations(runs, (cost, gain))
    table = table[table[cost.title].notna() & table[gain.title].notna()].reset_index(drop=True)
    table["pareto"] = undominated(table[cost.title].to_numpy(np.float64), table[gain.title].to_numpy(np.float64))
    table["on front"] = _shares(_samples(runs, cost, gain), len(table))
    return table.sort_values([cost.title, gain.title], ascending=[True, False], kind="stable", ignore_index=True)


def undominated(cost: Values, gain: Values) -> npt.NDArray[np.bool_]:
    """Which points no other point dominates; equal points do not dominate each other. A point that costs more than
    another needs a relevant increase of gain.
    """
    kept = np.zeros(len(cost), dtype=np.bool_)
    last = (-np.inf, -np.inf)
    for place in np.lexsort((-gain, cost)):
        point = (float(cost[place]), float(gain[place]))
        if point == last or point[1] > last[1] * (1 + RELEVANT) or np.isneginf(last[1]):
            kept[place], last = True, point
    return kept


def _samples(runs: Runs, cost: Column, gain: Column) -> list[tuple[Values, Values]]:
    """Both numbers of each repetition, by configuration."""
    groups: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for axes, summary in runs:
        pair = (cost.read(summary), gain.read(summary))
        if pair[0] is not None and pair[1] is not None:
            groups.setdefault(tuple(axes.items()), []).append((pair[0], pair[1]))
    pairs = [np.array(group, dtype=np.float64) for group in groups.values()]
    return [(pair[:, 0], pair[:, 1]) for pair in pairs]


def _shares(samples: Sequence[tuple[Values, Values]], count: int) -> Values:
    if len(samples) != count or not any(len(cost) > 1 for cost, _ in samples):
        return np.full(count, np.nan)
    draws = np.random.default_rng(SEED)
    hits = np.zeros(count)
    for _ in range(RESAMPLES):
        chosen = [draws.integers(0, len(cost), len(cost)) for cost, _ in samples]
        cost = np.array([each[0][rows].mean() for each, rows in zip(samples, chosen, strict=True)])
        gain = np.array([each[1][rows].mean() for each, rows in zip(samples, chosen, strict=True)])
        hits += undominated(cost, gain)
    return hits / RESAMPLES


class Number(Struct, frozen=True):
    """A mean over repetitions with its interval, which is NaN for a single repetition."""

    column: Column
    mean: float
    low: float
    high: float


class Candidate(Struct, frozen=True):
    """One configuration, and whether it meets the bounds."""

    axes: Mapping[str, str]
    repetitions: int
    wanted: Number
    bounded: Sequence[Number]
    """In the order of the bounds."""
    met: Met
    samples: Values
    """The wanted quantity in each repetition."""


class Answer(Struct, frozen=True):
    """The configuration to choose under the bounds."""

    bounds: Sequence[Bound]
    wanted: Column
    better: Better
    """Whether the highest or the lowest value of `wanted` is asked for."""
    best: Candidate | None
    """`None` if no configuration meets the bounds."""
    alike: Sequence[Candidate]
    """Configurations that cannot be told from the best one, in the order of their means."""
    nearest: Candidate | None
    """The configuration closest to the bounds, if none meets them."""
    counts: Mapping[Met, int]


def best_under(runs: Runs, bounds: Sequence[Bound], wanted: Column, better: Better = "high") -> Answer:
    """The configuration with the highest (or lowest) `wanted` among those that meet all bounds."""
    bounds = [_absolute(bound, runs) for bound in bounds]
    groups: dict[tuple[tuple[str, str], ...], list[Summary]] = {}
    for axes, summary in runs:
        groups.setdefault(tuple(axes.items()), []).append(summary)
    judged = [_judged(dict(axes), group, (bounds, wanted)) for axes, group in groups.items()]
    candidates = [candidate for candidate in judged if candidate is not None]
    meeting = [candidate for candidate in candidates if candidate.met != "not"]
    counts: dict[Met, int] = {met: sum(each.met == met for each in candidates) for met in RANKS}
    if not meeting:
        nearest = min(candidates, key=lambda each: _excess(each, bounds), default=None)
        return Answer(bounds, wanted, better, None, [], nearest, counts)
    sign = 1 if better == "high" else -1
    first = max(meeting, key=lambda each: (RANKS[each.met], sign * each.wanted.mean))
    alike = [each for each in meeting if each.met == first.met and (each is first or not distinguishable(first, each))]
    best = min((each for each in alike if _are_alike(first, each)), key=lambda each: _excess(each, bounds))
    others = sorted((each for each in alike if each is not best), key=lambda each: -sign * each.wanted.mean)
    return Answer(bounds, wanted, better, best, others, None, counts)


def _absolute(bound: Bound, runs: Runs) -> Bound:
    """The bound with a share of the best mean over the configurations as a value."""
    if not bound.of_best:
        return bound
    means = configurations(runs, (bound.column,))[bound.column.title].to_numpy(np.float64)
    return bound.against(float(np.nanmin(means) if bound.from_above else np.nanmax(means)))


def _are_alike(one: Candidate, other: Candidate) -> bool:
    """Whether the difference of two means is too small to matter."""
    return abs(one.wanted.mean - other.wanted.mean) <= RELEVANT * abs(one.wanted.mean)


def distinguishable(one: Candidate, other: Candidate) -> bool:
    """Whether two means differ by a relevant amount and significantly. With one repetition, significance is assumed."""
    if _are_alike(one, other):
        return False
    sides = [(each.wanted.mean, float(each.samples.std(ddof=1)), len(each.samples))
             for each in (one, other) if len(each.samples) > 1]  # fmt: skip
    if len(sides) < 2 or not any(spread for _, spread, _ in sides):
        return True
    return _chance(*sides) < SIGNIFICANT


def _chance(one: tuple[float, float, int], other: tuple[float, float, int]) -> float:
    """Two-sided p of Welch's test of two means, each with the standard deviation and number of its samples."""
    variances = [spread**2 / count for _, spread, count in (one, other)]
    weights = [variance**2 / (count - 1) for variance, (_, _, count) in zip(variances, (one, other), strict=True)]
    t = abs(one[0] - other[0]) / math.sqrt(sum(variances))
    return 2 * student.exceeded(sum(variances) ** 2 / sum(weights), t)


def _judged(
    axes: Mapping[str, str], group: Sequence[Summary], asked: tuple[Sequence[Bound], Column]
) -> Candidate | None:
    """`None` if a number is not known."""
    bounds, column = asked
    wanted = _values(group, column)
    samples = [_values(group, bound.column) for bound in bounds]
    if not len(wanted) or not all(map(len, samples)):
        return None
    bounded = [_number(bound.column, values) for bound, values in zip(bounds, samples, strict=True)]
    return Candidate(axes, len(group), _number(column, wanted), bounded, _met(bounds, bounded), wanted)


def _met(bounds: Sequence[Bound], bounded: Sequence[Number]) -> Met:
    pairs = list(zip(bounds, bounded, strict=True))
    if not all(bound.holds(number.mean) for bound, number in pairs):
        return "not"
    sure = all(bound.holds(number.high if bound.from_above else number.low) for bound, number in pairs)
    return "surely" if sure else "likely"


def _values(group: Sequence[Summary], column: Column) -> Values:
    return np.array([value for value in map(column.read, group) if value is not None], dtype=np.float64)


def _number(column: Column, values: Values) -> Number:
    low, high = t_interval(values, column.least, column.most)
    return Number(column, float(values.mean()), low, high)


def _excess(candidate: Candidate, bounds: Sequence[Bound]) -> float:
    """The largest ratio of a mean to its bound; above 1 it misses the bound."""
    ratios = [
        number.mean / bound.value if bound.from_above else bound.value / max(number.mean, 1e-9)
        for bound, number in zip(bounds, candidate.bounded, strict=True)
        if bound.value
    ]
    return max(ratios, default=0.0)
