"""Prints sensitivities, Pareto fronts and recommendations."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from tailback.advice import ALONE, ASKED, Front, Recommendation
from tailback.analysis.digits import significant
from tailback.analysis.intervals import DIGITS, spread_in_words
from tailback.analysis.metric import Column
from tailback.analysis.rows import records
from tailback.analysis.sensitivity import Sensitivity
from tailback.analysis.tradeoffs import RELEVANT, SIGNIFICANT, Answer, Candidate, Number
from tailback.cli import sheets, tables
from tailback.cli.console import counted, emit, form
from tailback.cli.sheets import Cell, Field, Interval, Sheet

MOST = {"high": "most", "low": "least"}

MAX_EQUIVALENT = 8
"""Maximum number of settings listed as equivalent to the best."""


def sensitivity(found: Sensitivity) -> None:
    """Prints a row per axis, in the order of decreasing influence."""
    column = found.column
    fields = [
        Field("axis", "name"),
        Field("values"),
        Field("by itself", spread=True),
        Field("total", spread=True),
        *(field for end in ("lowest", "highest") for field in (Field(f"{end} at", "name"), Field(f"{end} mean"))),
    ]
    rows = [
        [
            *sheets.words(row["axis"]),
            Cell(str(row["values"]), int(row["values"])),
            *(_share(row, name) for name in ("first", "total")),
            *(
                cell
                for end in ("least", "most")
                for cell in (Cell(str(row[end])), sheets.number(float(row[f"{end} mean"])))
            ),
        ]
        for row in records(found.indices)
    ]
    unit = f" ({column.unit})" if column.unit else ""
    tables.show(Sheet(f"sensitivity of {column.title}{unit}", fields, rows), _remark(found))


def _share(row: Mapping[str, Any], name: str) -> Cell:
    """`62 % [60, 64]`."""
    text = f"{100 * row[name]:.1f} %"
    low, high = row[f"{name} low"], row[f"{name} high"]
    ends = "" if math.isnan(low) else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return Cell(f"{text}{ends}", float(row[name]), (float(low), float(high)))


def _remark(found: Sensitivity) -> str:
    parts = [f"shares of the variance; between repetitions: {100 * found.between:.1f} %"]
    if math.isnan(found.indices["first low"].iloc[0]):
        parts.append("one repetition: no intervals; `--repeat 5` gives them")
    if found.missing:
        parts.append(f"{counted(found.missing, 'configuration')} without a value")
    return "; ".join(parts)


def fronts(found: Sequence[Front]) -> None:
    """Prints the configurations on each front, sorted by latency."""
    for front in found:
        shown = [name for name in map(str, front.table) if _is_axis(name, front) and name not in front.given]
        columns = (front.cost, front.gain)
        fields = [
            *sheets.keys(shown),
            *(Field(column.title, unit=column.unit, spread=True) for column in columns),
            Field("on front"),
        ]
        rows = [
            [
                *sheets.words(*(str(row[axis]) for axis in shown)),
                *(_number_cell(_number(row, column)) for column in columns),
                sheets.number(float(row["on front"]), "{:.0%}".format),
            ]
            for row in records(front.table[front.table["pareto"].to_numpy(bool)])
        ]
        dominated = int((~front.table["pareto"]).sum())
        tables.show(
            Sheet(_under(front.given, "Pareto front"), fields, rows),
            f"{counted(dominated, 'configuration')} not on the front",
        )


def recommendations(found: Sequence[Recommendation]) -> None:
    """Prints the recommendation under each condition, with its numbers; in a form, as a table."""
    if form() is not None:
        tables.show(_candidates(found))
    for each in found:
        emit(Text(_under(each.given, "")), *map(Text, _sentences(each)), Text(""))
    _given(found)


def _given(found: Sequence[Front | Recommendation]) -> None:
    """Prints which axes were taken as given, and why."""
    for axis, reason in found[0].because.items() if found else ():
        compare = "" if reason in (ALONE, ASKED) else f"; --choose {axis} compares its values"
        emit(Text(f"{axis} is given, {reason if reason == ASKED else f'because {reason}'}{compare}"))


def _candidates(found: Sequence[Recommendation]) -> Sheet:
    """What is recommended under each condition, what is alike, and if nothing meets the bounds what is nearest."""
    listed = [
        (each, role, candidate)
        for each in found
        for role, candidates in (
            ("best", [each.answer.best]), ("alike", each.answer.alike), ("nearest", [each.answer.nearest])
        )
        for candidate in candidates
        if candidate is not None and (role != "nearest" or each.answer.best is None)
    ]  # fmt: skip
    axes = list(dict.fromkeys(axis for each, _, one in listed for axis in (*each.given, *one.axes)))
    titles = {number.column.title: number.column for _, _, one in listed for number in (one.wanted, *one.bounded)}
    fields = [
        *sheets.keys(axes),
        Field("recommended", "name"),
        Field("bounds met", "name"),
        Field("runs"),
        *(Field(title, unit=column.unit, spread=True) for title, column in titles.items()),
    ]
    return Sheet("recommended", fields, [_candidate_cells(*one, axes, list(titles)) for one in listed])


def _candidate_cells(
    each: Recommendation, role: str, candidate: Candidate, axes: Sequence[str], titles: Sequence[str]
) -> list[Cell]:
    places = {**each.given, **candidate.axes}
    numbers = {number.column.title: number for number in (candidate.wanted, *candidate.bounded)}
    return [
        *sheets.words(*(places.get(axis, "") for axis in axes), role, candidate.met if each.answer.bounds else ""),
        Cell(str(candidate.repetitions), candidate.repetitions),
        *(_number_cell(numbers[title]) if title in numbers else Cell("", math.nan) for title in titles),
    ]


def _sentences(each: Recommendation) -> list[str]:
    answer, given = each.answer, each.given
    bounds = " and ".join(map(str, answer.bounds))
    total = sum(answer.counts.values())
    if answer.best is None:
        none = f"none of {total} settings meets" if total > 1 else "the only setting does not meet"
        nearest = [] if answer.nearest is None else [_candidate_text(answer.nearest, given)]
        return [f"{none} {bounds}", *(f"{'nearest:' if total > 1 else 'it has'} {each}" for each in nearest)]
    under = f" with {bounds} ({_how_many_meet(answer, total)})" if bounds else ""
    lines = [
        f"{MOST[answer.better]} {answer.wanted.title}{under}:",
        f"  {_candidate_text(answer.best, given)}",
        *([_how_sure(answer)] if bounds else []),
    ]
    if answer.alike:
        alike = [f"    {_candidate_text(other, given)}" for other in answer.alike[:MAX_EQUIVALENT]]
        more = [f"    and {len(answer.alike) - MAX_EQUIVALENT} more"] if len(answer.alike) > MAX_EQUIVALENT else []
        lines += [
            f"  no difference of {answer.wanted.title} was found with (Welch's test: p ≥ {SIGNIFICANT:g}; or below "
            f"{100 * RELEVANT:g} %):",
            *alike,
            *more,
        ]
    return lines


def _how_many_meet(answer: Answer, total: int) -> str:
    """How many settings meet the bounds: `2 of 21 settings surely meet them, and 1 more likely`."""
    counts = answer.counts
    if total == 1:
        return f"the only setting {'surely' if counts['surely'] else 'likely'} meets it"
    more = f", and {counts['likely']} more likely" if counts["likely"] else ""
    return f"{counts['surely']} of {total} settings surely meet{'s' if counts['surely'] == 1 else ''} it{more}"


def _how_sure(answer: Answer) -> str:
    best = answer.best
    if best is None or best.met == "surely":
        return "  surely: the 95 % intervals meet the bounds"
    if best.repetitions < 2:
        return "  from a single repetition; `--repeat 5` gives intervals"
    return "  likely: the means meet the bounds, but their 95 % intervals do not"


def _candidate_text(candidate: Candidate, given: Mapping[str, str]) -> str:
    chosen = [f"{axis} {value}" for axis, value in candidate.axes.items() if axis not in given]
    settings = f"{', '.join(chosen)}: " if chosen else ""
    numbers = [f"{number.column.title} {_mean(number)} {number.column.unit}".rstrip()
               for number in (candidate.wanted, *candidate.bounded)]  # fmt: skip
    return f"{settings}{', '.join(dict.fromkeys(numbers))}"


def _under(given: Mapping[str, str], otherwise: str) -> str:
    return ", ".join(f"{axis} {value}" for axis, value in given.items()) or otherwise


def _is_axis(name: str, front: Front) -> bool:
    numbers = {f"{column.title}{end}" for column in (front.cost, front.gain) for end in ("", " low", " high")}
    return name not in numbers | {"runs", "pareto", "on front"}


def _number(row: Mapping[str, Any], column: Column) -> Number:
    name = column.title
    return Number(column, float(row[name]), float(row[f"{name} low"]), float(row[f"{name} high"]))


def _mean(number: Number) -> str:
    """`95.6 ±0.1`."""
    text = significant(number.mean, 4)
    return text if math.isnan(number.low) else f"{text} {spread_in_words(number.mean, (number.low, number.high))}"


def _number_cell(number: Number) -> Cell:
    ends = (number.low, number.high)
    if math.isnan(number.mean):
        return Cell(sheets.UNKNOWN, math.nan)
    interval = Interval(number.mean, ends, DIGITS)
    return Cell(significant(number.mean, 4), number.mean, ends, interval=interval)
