"""Judges results by what their file expects (`expect:`): one verdict per configuration and condition.

A condition is about a metric in the measurement window or in another part of the run (`after`, `until`), or about an
expression over the samples of the sockets (`analysis.overtime`). It holds if the mean over the repetitions meets it.
The verdict also says whether the 95 % interval of that mean crosses the bound: then other repetitions may decide
otherwise. A number that no repetition has does not hold.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec import Struct, structs

from tailback.analysis import overtime
from tailback.analysis.bounds import SIGNS, Bound, WrongBound, bounds
from tailback.analysis.intervals import t_interval
from tailback.analysis.metric import Column, Summary
from tailback.analysis.table import Table
from tailback.results import soundness, tables
from tailback.scenario import Experiment
from tailback.scenario.expect import Condition
from tailback.sweep.local import Outcome
from tailback.sweep.work import summary_of_tables

Place = tuple[tuple[str, str], ...]
Expected = Mapping[Place, Sequence["Wanted"]]
"""The conditions of each configuration, by its axes."""


class Wanted(Struct, frozen=True):
    """A bound, and on what."""

    bound: Bound
    window_ns: tuple[int, int] | None = None
    """The part of the run that it is about; `None`: the measurement window."""
    over_time: str = ""
    """The expression over samples that it is about, in place of a metric."""

    def value(self, outcome: Outcome) -> float | None:
        """The number of a complete run that the bound is on; `None` if the run lacks it."""
        if self.over_time:
            return overtime.number(self.over_time, samples(outcome, self.window_ns))
        summary = outcome.summary or {}
        return self.bound.column.read(summary if self.window_ns is None else _in_window(outcome, self.window_ns))


class Verdict(Struct, frozen=True):
    """Whether one configuration meets one condition; unknown numbers are NaN."""

    axes: Mapping[str, str]
    bound: Bound
    mean: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the mean meets the condition."""
        return not math.isnan(self.mean) and self.bound.holds(self.mean)

    @property
    def crosses(self) -> bool:
        """Whether the interval of the mean crosses the bound."""
        return not math.isnan(self.low) and self.bound.holds(self.low) != self.bound.holds(self.high)


Judgement = Literal["good", "bad", "cannot tell"]


def judgement(found: Sequence[Verdict]) -> tuple[Judgement, str]:
    """Whether all conditions hold, with the reason: bad if one does not hold for certain, undecided if the interval of
    one crosses its bound. Without an interval (one repetition), the mean decides.
    """
    if not found:
        return "cannot tell", "the file has no `expect`"
    certain = [each for each in found if not each.crosses and not math.isnan(each.mean)]
    failing = next((each for each in certain if not each.holds), None)
    if failing is not None:
        return "bad", f"{failing.bound} does not hold{_where(failing)}"
    unknown = next((each for each in found if math.isnan(each.mean)), None)
    if unknown is not None:
        return "cannot tell", f"no run has {unknown.bound.column.title}{_where(unknown)}"
    crossing = next((each for each in found if each.crosses), None)
    if crossing is not None:
        return "cannot tell", f"the 95 % interval crosses {crossing.bound}{_where(crossing)}: add repetitions"
    return "good", f"{len(found)} conditions hold" if len(found) > 1 else f"{found[0].bound} holds"


def _where(verdict: Verdict) -> str:
    return f" with {', '.join(verdict.axes.values())}" if verdict.axes else ""


def expected(experiment: Experiment) -> Expected:
    """The conditions of an experiment; raises `WrongBound` if a metric or a unit is unknown."""
    return {
        tuple(configuration.labels.items()): [
            _wanted(metric, condition, configuration.keys.duration, experiment.path)
            for metric, condition in configuration.keys.expect.items()
        ]
        for configuration in experiment.configurations
    }


def verdicts(wanted: Expected, outcomes: Sequence[Outcome]) -> list[Verdict]:
    """The verdicts on the complete runs."""
    if not any(wanted.values()):
        return []
    groups: dict[Place, list[Outcome]] = {place: [] for place in wanted}
    for outcome in outcomes:
        if outcome.summary is not None:
            groups.setdefault(tuple(outcome.run.axes.items()), []).append(outcome)
    return [
        _verdict(dict(place), _absolute(each, groups), _values(each, groups[place]))
        for place, conditions in wanted.items()
        for each in conditions
    ]


def entry(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a JSON document; unknown values are absent."""
    numbers = {"mean": verdict.mean, "low": verdict.low, "high": verdict.high}
    return {
        "axes": dict(verdict.axes),
        "metric": verdict.bound.column.title,
        "condition": str(verdict.bound),
        "unit": verdict.bound.column.unit,
        **{name: value for name, value in numbers.items() if not math.isnan(value)},
        "holds": verdict.holds,
    }


def samples(outcome: Outcome, window_ns: tuple[int, int] | None = None) -> overtime.Samples:
    """The samples of the sockets of a complete run, or those of a part of it."""
    links = outcome.run.scenario.links
    if outcome.folder is None:
        return overtime.NONE
    found = Table.of(tables.of_run(outcome.folder, "tcp_info"))
    return overtime.Samples(found if window_ns is None else found.between(*window_ns), links)


def _in_window(outcome: Outcome, window_ns: tuple[int, int]) -> Summary:
    """The summary of a complete run in another window; empty if its tables are not kept."""
    if outcome.folder is None:
        return {}
    run = structs.replace(outcome.run, window_ns=window_ns)
    manifest = json.loads(soundness.content(outcome.folder, "manifest.json"))
    return summary_of_tables(run, outcome.folder, manifest)


def _wanted(metric: str, condition: Condition, duration_ns: int, file: str) -> Wanted:
    window = condition.window_ns(duration_ns)
    if window is not None and window[0] >= window[1]:
        raise WrongBound(
            f"{file}: expect: `{metric}` is wanted{condition.when}, and the run ends at {duration_ns / 1e9:g}s\n"
            "  hint: give an earlier `after`, or make `duration` longer"
        )
    over_time = metric if overtime.is_over_time(metric) else ""
    bound = _bound_over_time(metric, condition.text, file) if over_time else _bound(f"{metric} {condition.text}", file)
    column = structs.replace(bound.column, title=bound.column.title + condition.when)
    return Wanted(structs.replace(bound, column=column), window, over_time)


def _bound_over_time(expression: str, condition: str, file: str) -> Bound:
    match = re.fullmatch(r"(<=|>=|[<>≤≥])\s*([0-9]+(?:\.[0-9]+)?)", condition)
    if match is None:
        raise WrongBound(
            f"{file}: expect: `{expression} {condition}` is not a bound\n"
            "  hint: write a number without a unit: rates are in Mbit/s, times in ms, times of the run in s"
        )
    try:
        overtime.check(expression)
    except overtime.WrongExpression as error:
        raise WrongBound(f"{file}: expect: {error}") from None
    column = Column(title=expression, unit="", read=lambda _: None, key=expression)
    return Bound(column, SIGNS[match[1]], float(match[2]))


def _bound(text: str, file: str) -> Bound:
    try:
        [bound] = bounds(text)
    except WrongBound as error:
        raise WrongBound(f"{file}: expect: {error}") from None
    return bound


def _absolute(wanted: Wanted, groups: Mapping[Place, Sequence[Outcome]]) -> Bound:
    """The bound with a share of the best mean over all configurations as a value."""
    bound = wanted.bound
    if not bound.of_best:
        return bound
    means = [float(values.mean()) for group in groups.values() if len(values := _values(wanted, group))]
    return bound.against((min if bound.from_above else max)(means, default=math.nan))


def _values(wanted: Wanted, group: Sequence[Outcome]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([value for value in map(wanted.value, group) if value is not None], dtype=np.float64)


def _verdict(axes: Mapping[str, str], bound: Bound, values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Verdict:
    if not len(values):
        return Verdict(axes, bound, math.nan, math.nan, math.nan)
    return Verdict(axes, bound, float(values.mean()), *t_interval(values, bound.column.least, bound.column.most))
