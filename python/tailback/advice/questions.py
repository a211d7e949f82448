"""Answers questions about results, once for each condition (`analysis.conditions`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tailback.analysis import bounds as words
from tailback.analysis import conditions, sensitivity, tradeoffs
from tailback.analysis.choosing import latency_of
from tailback.analysis.metric import Better, Column
from tailback.results import Results

GOODPUT = "goodput"
LATENCY = "latency"
"""The name of the latency that the results are about (`analysis.choosing`): of requests, pings, ..."""


class WrongQuestion(Exception):
    """These results cannot answer the question; the message says why."""


@dataclass(frozen=True)
class Front:
    """The trade-off under one condition."""

    given: Mapping[str, str]
    because: Mapping[str, str]
    """Why each axis of `given` is taken as given."""
    cost: Column
    gain: Column
    table: pd.DataFrame
    """The result of `analysis.tradeoffs.front`."""


@dataclass(frozen=True)
class Recommendation:
    """The recommendation under one condition."""

    given: Mapping[str, str]
    because: Mapping[str, str]
    """Why each axis of `given` is taken as given."""
    answer: tradeoffs.Answer


def sensitivities(results: Results, metric: str, *, logarithmic: bool = False) -> sensitivity.Sensitivity:
    """The sensitivity of `metric` (a name, or a path in `summary.json`) to each axis."""
    column = _named(results, metric)
    runs = [(run.axes, run.summary) for run in results.runs]
    known = [value for value in (column.read(summary) for _, summary in runs) if value is not None]
    if not known:
        raise _unknown(results, column)
    if not any(len(values) > 1 for values in results.axes.values()):
        raise WrongQuestion(f"no axis of `{results.path}` has more than one value\n  hint: vary something in the file")
    if logarithmic and min(known) <= 0:
        raise WrongQuestion(f"{column.title} is 0 in some runs, so it has no logarithm\n  hint: remove --log")
    return sensitivity.sensitivity(results.axes, runs, column, logarithmic=logarithmic)


def fronts(
    results: Results, latency: str | None = None, given: Sequence[str] = (), choose: Sequence[str] = ()
) -> list[Front]:
    """The Pareto front of goodput and `latency` under each condition; `given` names further conditions,
    `choose` takes axes out of them.
    """
    cost, gain = _named(results, latency or LATENCY), words.quantity(GOODPUT)
    if cost.better == "high":
        raise WrongQuestion(f"{cost.title} is not a cost: high values are better\n  hint: choose a latency: ping p99")
    because, parts = _parts(results, given, choose)
    found = [
        Front(place, because, cost, gain, tradeoffs.front([(run.axes, run.summary) for run in part.runs], cost, gain))
        for place, part in parts
        if any(cost.read(run.summary) is not None for run in part.runs)
    ]
    if not found:
        raise _unknown(results, cost)
    return found


def _named(results: Results | None, name: str) -> Column:
    """The number with this name; raises `WrongQuestion` if `latency` is asked for and there is none."""
    if results is None or name.strip().lower() != LATENCY:
        return words.quantity(name)
    found = latency_of(run.summary for run in results.runs)
    if found is None:
        hint = "record one, such as that of `traffic: [{ping: client -> server}]`, or name another number"
        raise WrongQuestion(f"no run of `{results.path}` has a latency\n  hint: {hint}")
    return found


def _limits(results: Results, bounds: str) -> list[words.Bound]:
    """The bounds, where `latency` is that of the results."""
    begins = re.compile(rf"(^|\band\b|,)\s*{LATENCY}\s*(?=[<>≤≥])", re.IGNORECASE)
    named = begins.sub(lambda found: f"{found[1]} {_named(results, LATENCY).key} ", bounds)
    return words.bounds(named) if named.strip() else []


@dataclass(frozen=True)
class Wish:
    """The quantity of which the best value is wanted."""

    column: Column
    better: Better


def wish(
    best: str | None = None, maximise: str | None = None, minimise: str | None = None, of: Results | None = None
) -> Wish:
    """What the user wants: one of a metric whose better direction is known, one to maximise, one to minimise; `latency`
    is that of the results `of`.
    """
    asked = [name for name in (best, maximise, minimise) if name is not None]
    if len(asked) > 1:
        raise WrongQuestion(
            f"there are two wishes, `{asked[0]}` and `{asked[1]}`\n  hint: keep one, and put the other into `--for`"
        )
    if maximise is not None or minimise is not None:
        return Wish(_named(of, str(maximise or minimise)), "high" if maximise is not None else "low")
    column = _named(of, best or GOODPUT)
    if column.better is None:
        hint = f'say which: `--maximise "{best}"` or `--minimise "{best}"`'
        raise WrongQuestion(f"neither high nor low values of {column.title} are better by themselves\n  hint: {hint}")
    return Wish(column, column.better)


def recommend(
    results: Results,
    bounds: str = "",
    asked: Wish | str | None = None,
    given: Sequence[str] = (),
    choose: Sequence[str] = (),
) -> list[Recommendation]:
    """The setting with the best value of what is wanted among those that meet `bounds`, for each condition; `given`
    names further conditions, `choose` takes axes out of them.
    """
    limits = _limits(results, bounds)
    wished = asked if isinstance(asked, Wish) else wish(asked, of=results)
    wanted = wished.column
    for column in (*(limit.column for limit in limits), wanted):
        if all(column.read(run.summary) is None for run in results.runs):
            raise _unknown(results, column)
    because, parts = _parts(results, given, choose)
    return [
        Recommendation(place, because, tradeoffs.best_under(_numbers(part), limits, wanted, wished.better))
        for place, part in parts
    ]


def _numbers(results: Results) -> list[tuple[Mapping[str, str], Mapping[str, Any]]]:
    return [(run.axes, run.summary) for run in results.runs]


ASKED = "as asked"
ALONE = "it has one value"


def _parts(
    results: Results, given: Sequence[str], choose: Sequence[str]
) -> tuple[dict[str, str], list[tuple[dict[str, str], Results]]]:
    """Why each axis that is taken as given is, and the results under each condition."""
    _check_axes(results, (*given, *choose))
    both = next((axis for axis in given if axis in choose), None)
    if both is not None:
        raise WrongQuestion(
            f"`{both}` is both given and to be chosen\n  hint: leave out --given {both} or --choose {both}"
        )
    varied = [axis for axis, values in results.axes.items() if len(values) > 1]
    # The network of imported results is unknown, so all their axes count as settings.
    runs = [(run.axes, run.scenario) for run in results.runs if run.repetition == 1 and run.scenario.hosts]
    found = conditions.reasons(varied, runs)
    because = {
        axis: ASKED if axis in given else ALONE if axis not in varied else found[axis]
        for axis in results.axes
        if axis in given or axis not in varied or (axis in found and axis not in choose)
    }
    places = list(dict.fromkeys(tuple((axis, run.axes[axis]) for axis in because) for run in results.runs))
    return because, [(dict(place), results.select(**dict(place))) for place in places]


def _check_axes(results: Results, named: Sequence[str]) -> None:
    unknown = next((axis for axis in named if axis not in results.axes), None)
    if unknown is not None:
        known = ", ".join(f"`{axis}`" for axis in results.axes) or "none"
        raise WrongQuestion(f"`{unknown}` is not an axis of `{results.path}`\n  hint: there is {known}")


def _unknown(results: Results, column: Column) -> WrongQuestion:
    hint = "choose a path from a `summary.json`, for example ping_ms.p99"
    return WrongQuestion(f"no run of `{results.path}` has {column.title}\n  hint: {hint}")
