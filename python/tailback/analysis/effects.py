"""What each axis of a grid changes: the findings under a table (`analysis.sentences` puts them into words).

For each value of an axis, compared with the first one, and for each combination of the other axes: the difference of
the means over the repetitions, with its 95 % interval by Welch [welch1947]. An effect is real if the whole interval is
beyond the tolerance of the metric (goodput 3 %, latencies 10 % or 0.5 ms, Jain's index 0.05), absent if it is inside,
and undecided otherwise. One repetition has no interval, so it gives no findings.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tailback.analysis.equivalence import Decision, decision, interval_of_means
from tailback.analysis.metric import Column, Summary
from tailback.analysis.quantities import quantity
from tailback.analysis.tolerances import FIDELITY, Tolerance

Runs = Sequence[tuple[Mapping[str, str], Summary]]

LATENCIES = (("ping p50", "rtt"), ("tcp rtt p50", "rtt"))
"""Each has the metric whose tolerance says what is no effect. A discipline that keeps flows apart spares the ping what
a flow does to its own round-trip time, so the findings have both.
"""

APPLICATIONS = (
    ("page load p50", "page"), ("request p50", "request"), ("completion p50", "completion"), ("rpm", "rpm"),
    ("qoe", "goodput"), ("mos", "mos"),
)  # fmt: skip
"""What users of applications notice."""

GOODPUT = ("goodput", "goodput")
DIRECTIONS = (("goodput up", "goodput"), ("goodput down", "goodput"))

FAIR = Tolerance(absolute=0.05, words="0.05")
"""Two flows have a Jain's index of 0.95 if one has 1.6 times the goodput of the other."""

LEVEL = 0.025
"""Level of each side of the interval."""

MOST_VALUES = 6
"""An axis with more values is a curve, of which a figure says more than sentences."""


class Effect(Struct, frozen=True):
    """The difference that a value of an axis makes under one combination of the other axes."""

    place: tuple[str, ...]
    """The values of the other axes that vary, as they are named in a sentence."""
    mean: float
    low: float
    high: float
    decision: Decision


class Judged(Struct, frozen=True):
    """A number of the findings."""

    subject: str
    """Its name in a sentence."""
    unit: str
    column: Column
    tolerance: Tolerance
    mentioned: Literal["always", "where it changes"] = "always"


class Outcome(Struct, frozen=True):
    """What a change does to one number, under each combination of the other axes."""

    judged: Judged
    effects: Sequence[Effect]

    def having(self, decision: Decision) -> list[Effect]:
        """The effects with this decision, the smallest first."""
        return sorted((each for each in self.effects if each.decision == decision), key=lambda each: abs(each.mean))


class Finding(Struct, frozen=True):
    """What one value of an axis changes, compared with the first value."""

    axis: str
    value: str
    reference: str
    outcomes: Sequence[Outcome]

    @property
    def size(self) -> int:
        """The number of real effects, for the order."""
        return sum(len(outcome.having("off")) for outcome in self.outcomes)


def findings(axes: Mapping[str, Sequence[str]], runs: Runs) -> list[Finding]:
    """What the values of each axis change, in the order of the axes; empty without repetitions."""
    judged = _judged(runs)
    varied = {axis: values for axis, values in axes.items() if len(values) > 1}
    return [
        Finding(axis, value, values[0], outcomes)
        for axis, values in varied.items() if len(values) <= MOST_VALUES
        for value in values[1:]
        if (outcomes := _outcomes(runs, (axis, values[0], value), tuple(varied), judged))
    ]  # fmt: skip


def _judged(runs: Runs) -> list[Judged]:
    """What users of applications notice, latency and goodput; fairness and retransmits only where they change. Where
    there are two directions, the goodput is that of each: their sum would say nothing about either.
    """
    directions = _known_of(runs, DIRECTIONS)
    goodput = directions if len(directions) > 1 else _known_of(runs, (GOODPUT,))
    retransmits = Judged(
        "the number of retransmits", "", quantity("retransmits"), FIDELITY["retransmits"], "where it changes"
    )
    fairness = Judged("Jain's index", "", quantity("jain"), FAIR, "where it changes")
    return [*_known_of(runs, (*APPLICATIONS, *LATENCIES)), *goodput, fairness, retransmits]


def _known_of(runs: Runs, offered: Sequence[tuple[str, str]]) -> list[Judged]:
    """The numbers that some run has, each with the tolerance of this name."""
    known = [(quantity(title), FIDELITY[name]) for title, name in offered]
    return [Judged(column.title, column.unit, column, name) for column, name in known if _has_values(runs, column)]


def _has_values(runs: Runs, column: Column) -> bool:
    return any(column.read(summary) is not None for _, summary in runs)


def _outcomes(
    runs: Runs, change: tuple[str, str, str], varied: Sequence[str], judged: Sequence[Judged]
) -> list[Outcome]:
    """The outcomes of a change (axis, from, to); empty if no combination has repetitions on both sides."""
    others = [each for each in varied if each != change[0]]
    found = [Outcome(each, _effects(runs, change, others, each)) for each in judged]
    return [each for each in found if each.effects and (each.judged.mentioned == "always" or each.having("off"))]


def _effects(runs: Runs, change: tuple[str, str, str], others: Sequence[str], judged: Judged) -> list[Effect]:
    axis, *ends = change
    before, after = (_values(runs, (axis, value), others, judged.column) for value in ends)
    return [
        effect
        for place in before if place in after
        if (effect := _effect(place, np.array(before[place]), np.array(after[place]), judged.tolerance))
    ]  # fmt: skip


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
    allowed = allowing.allowed(float(before.mean()), float(after.mean()))
    # Too few of something for a difference to mean anything.
    found = "within" if allowed is None else decision((low, high), allowed)
    return Effect(place, float(after.mean() - before.mean()), low, high, found)


def _named(axis: str, value: str) -> str:
    """A value as a sentence names it: `cubic`, but `tsq off` and `flows 4`."""
    return f"{axis} {value}" if value[:1].isdigit() or value in ("on", "off", "true", "false") else value
