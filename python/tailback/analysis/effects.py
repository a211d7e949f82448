"""What each axis of a grid changes, in sentences: the findings under a table.

For each value of an axis, compared with the first one, and for each combination of the other axes: the difference of
the means over the repetitions, with its 95 % interval by Welch [welch1947]. An effect is real if the whole interval is
beyond the tolerance of the metric in the registry (goodput 3 %, latencies 10 % or 0.5 ms), absent if it is inside, and
undecided otherwise. One repetition has no interval, so it gives no findings.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from tailback.analysis.equivalence import Decision, decision, interval_of_means
from tailback.analysis.metric import Column, Summary
from tailback.analysis.quantities import quantity
from tailback.analysis.tolerances import FIDELITY, Tolerance

Runs = Sequence[tuple[Mapping[str, str], Summary]]

LATENCIES = (("ping p50", "rtt"), ("tcp rtt p50", "rtt"))
"""The latency of the findings: the first of these that the runs have. Each has the metric whose tolerance says what is
no effect.
"""

APPLICATIONS = (
    ("page load p50", "page"), ("request p50", "request"), ("completion p50", "completion"), ("rpm", "rpm"),
    ("qoe", "goodput"), ("mos", "mos"),
)  # fmt: skip
"""What users of applications notice."""

GOODPUT = ("goodput", "goodput")
DIRECTIONS = (("goodput up", "goodput"), ("goodput down", "goodput"))

LEVEL = 0.025
"""Level of each side of the interval."""

MOST_VALUES = 6
"""An axis with more values is a curve, of which a figure says more than sentences."""

MOST_SENTENCES = 6

FEW = 2
"""Up to so many combinations are named one by one."""


class Effect(Struct, frozen=True):
    """The difference that a value of an axis makes under one combination of the other axes."""

    place: tuple[str, ...]
    """The values of the other axes that vary, as they are named in a sentence."""
    mean: float
    low: float
    high: float
    decision: Decision

    def words(self, unit: str) -> str:
        """`+112 ms [108, 115] with cubic and pfifo_fast`."""
        where = f" with {' and '.join(self.place)}" if self.place else ""
        return f"{_signed(self.mean, unit)} [{_digits(self.low)}, {_digits(self.high)}]{where}"


class Finding(Struct, frozen=True):
    """What one value of an axis changes, compared with the first value."""

    axis: str
    value: str
    reference: str
    effects: Mapping[str, Sequence[Effect]]
    """By the title of the metric."""
    units: Mapping[str, str]
    tolerances: Mapping[str, str]
    """In words, by the title of the metric."""

    @property
    def size(self) -> float:
        """The number of real effects, for the order."""
        return sum(each.decision == "off" for found in self.effects.values() for each in found)

    def sentence(self) -> str:
        """The finding in words."""
        parts = [
            f"{title} {_of_metric(found, self.units[title], self.tolerances[title])}"
            for title, found in self.effects.items()
        ]
        return f"with {self.axis} {self.value} instead of {self.reference}, {'; '.join(parts)}"


def findings(axes: Mapping[str, Sequence[str]], runs: Runs) -> list[Finding]:
    """What the values of each axis change, in the order of the axes; empty without repetitions."""
    columns = _columns(runs)
    varied = {axis: values for axis, values in axes.items() if len(values) > 1}
    units = {column.title: column.unit for column, _ in columns}
    tolerances = {column.title: re.sub(r"(\d)([%a-zµ])", r"\1 \2", tolerance.words) for column, tolerance in columns}
    return [
        Finding(axis, value, values[0], effects, units, tolerances)
        for axis, values in varied.items() if len(values) <= MOST_VALUES
        for value in values[1:]
        if (effects := _effects(runs, (axis, values[0], value), tuple(varied), columns))
    ]  # fmt: skip


def sentences(found: Sequence[Finding]) -> list[str]:
    """The findings in words, those with the most effects first."""
    ordered = sorted(found, key=lambda each: -each.size)
    rest = len(ordered) - MOST_SENTENCES
    more = [f"and {rest} more: `tailback sensitivity` ranks the axes"] if rest > 0 else []
    return [*(each.sentence() for each in ordered[:MOST_SENTENCES]), *more]


Columns = Sequence[tuple[Column, Tolerance]]


def _columns(runs: Runs) -> Columns:
    """What users of applications notice, the latency and the goodput, if runs have them, with their tolerances. Where
    there are two directions, the goodput is that of each: their sum would say nothing about either.
    """
    noticed = _known_of(runs, APPLICATIONS)
    latency = _known_of(runs, LATENCIES)[:1]
    directions = _known_of(runs, DIRECTIONS)
    goodput = directions if len(directions) > 1 else _known_of(runs, (GOODPUT,))
    tolerances = dict(FIDELITY.items())
    return [(column, tolerances[name]) for column, name in (*noticed, *latency, *goodput)]


def _known_of(runs: Runs, offered: Sequence[tuple[str, str]]) -> list[tuple[Column, str]]:
    """The numbers that some run has, each with the name of its tolerance."""
    columns = [(quantity(title), tolerance) for title, tolerance in offered]
    return [(column, tolerance) for column, tolerance in columns if _has_values(runs, column)]


def _has_values(runs: Runs, column: Column) -> bool:
    return any(column.read(summary) is not None for _, summary in runs)


def _effects(
    runs: Runs, change: tuple[str, str, str], varied: Sequence[str], columns: Columns
) -> dict[str, list[Effect]]:
    """The effects of a change (axis, from, to) by metric; empty if no combination has repetitions on both sides."""
    axis, before, after = change
    others = [each for each in varied if each != axis]
    found: dict[str, list[Effect]] = {}
    for column, allowing in columns:
        sides = [_values(runs, (axis, value), others, column) for value in (before, after)]
        effects = [
            effect
            for place in sides[0] if place in sides[1]
            if (effect := _effect(place, np.array(sides[0][place]), np.array(sides[1][place]), allowing)) is not None
        ]  # fmt: skip
        if effects:
            found[column.title] = effects
    return found


def _values(
    runs: Runs, selected: tuple[str, str], others: Sequence[str], column: Column
) -> dict[tuple[str, ...], list[float]]:
    """The values of the repetitions by the values of the other axes."""
    found: dict[tuple[str, ...], list[float]] = {}
    for axes, summary in runs:
        value = column.read(summary)
        if axes[selected[0]] == selected[1] and value is not None:
            found.setdefault(tuple(_named(axis, axes[axis]) for axis in others), []).append(value)
    return found


def _effect(place: tuple[str, ...], before: np.ndarray, after: np.ndarray, allowing: Tolerance) -> Effect | None:
    if min(len(before), len(after)) < 2:
        return None
    low, high = interval_of_means(before, after, LEVEL)
    allowed = allowing.allowed(float(before.mean()), float(after.mean())) or 0.0
    return Effect(place, float(after.mean() - before.mean()), low, high, decision((low, high), allowed))


def _of_metric(found: Sequence[Effect], unit: str, tolerance: str) -> str:
    """What happens to one metric: the real effects, then how many combinations show none."""
    real = sorted((each for each in found if each.decision == "off"), key=lambda each: abs(each.mean))
    absent = sum(each.decision == "within" for each in found)
    undecided = len(found) - len(real) - absent
    if not real:
        return f"within {tolerance}" if not undecided else _undecided(undecided, found, unit)
    few = ", ".join(each.words(unit) for each in reversed(real))
    text = few if len(real) <= FEW else _range(real, len(found), unit)
    rest = [
        f", {word} in {count} of {len(found)}"
        for word, count in ((f"within {tolerance}", absent), ("undecided", undecided))
        if count
    ]
    return text + "".join(rest)


def _range(real: Sequence[Effect], total: int, unit: str) -> str:
    """`rises in all 7 cases, by 3.07 ms (cubic) to 18.4 ms (bbr)`; `real` begins with the smallest."""
    cases = f"all {total} cases" if len(real) == total else f"{len(real)} of {total} cases"
    signs = {each.mean > 0 for each in real}
    if len(signs) == 1:
        ends = [f"{_with_unit(_digits(abs(each.mean)), unit)}{_place_text(each)}" for each in (real[0], real[-1])]
        return f"{'rises' if signs == {True} else 'falls'} in {cases}, by {' to '.join(ends)}"
    ends = [
        f"{_signed(each.mean, unit)}{_place_text(each)}"
        for each in (min(real, key=lambda each: each.mean), max(real, key=lambda each: each.mean))
    ]
    return f"changes in {cases}, by {' to '.join(ends)}"


def _place_text(effect: Effect) -> str:
    return f" ({', '.join(effect.place)})" if effect.place else ""


def _signed(value: float, unit: str) -> str:
    return _with_unit(f"{'+' if value > 0 else '−'}{_digits(abs(value))}", unit)


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}".rstrip()


def _named(axis: str, value: str) -> str:
    """A value as a sentence names it: `cubic`, but `tsq off` and `flows 4`."""
    return f"{axis} {value}" if value[:1].isdigit() or value in ("on", "off", "true", "false") else value


def _undecided(undecided: int, found: Sequence[Effect], unit: str) -> str:
    """A single effect with its interval: it may be clear that there is one, and open whether it is beyond tolerance."""
    where = f" in {undecided} of {len(found)}" if len(found) > 1 else f", {found[0].words(unit)}"
    return f"undecided{where}: more repetitions would tell"


def _digits(value: float) -> str:
    return f"{value:.0f}".replace("-", "−") if abs(value) >= 1000 else f"{value:.3g}".replace("-", "−")
