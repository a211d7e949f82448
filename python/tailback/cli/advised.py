"""Prints sensitivities, Pareto fronts and recommendations."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tailback.advice import Front, Recommendation
from tailback.analysis.intervals import spread_in_words
from tailback.analysis.metric import Column
from tailback.analysis.rows import records
from tailback.analysis.sensitivity import Sensitivity
from tailback.analysis.tradeoffs import RELEVANT, SIGNIFICANT, Answer, Candidate, Number
from tailback.cli.console import counted, emit

MOST = {"high": "most", "low": "least"}

MAX_EQUIVALENT = 8
"""Maximum number of settings listed as equivalent to the best."""


def sensitivity(found: Sensitivity) -> None:
    """Prints a row per axis, in the order of decreasing influence."""
    unit = f" ({found.column.unit})" if found.column.unit else ""
    table = _table(f"sensitivity of {found.column.title}{unit}")
    for heading in ("axis", "values", "by itself", "total", "lowest mean", "highest mean"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "axis" else "right")
    for row in records(found.indices):
        shares = [_share(row, name) for name in ("first", "total")]
        ends = [f"{row[end]}: {row[f'{end} mean']:.4g}" for end in ("least", "most")]
        table.add_row(*map(Text, (row["axis"], str(row["values"]), *shares, *ends)))
    emit(table, Text(_remark(found)))


def _share(row: Mapping[str, Any], name: str) -> str:
    """`62 % [60, 64]`."""
    text = f"{100 * row[name]:.1f} %"
    low, high = row[f"{name} low"], row[f"{name} high"]
    return text if math.isnan(low) else f"{text} [{100 * low:.1f}, {100 * high:.1f}]"


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
        table = _table(_under(front.given, "Pareto front"))
        axes = [name for name in map(str, front.table) if _is_axis(name, front)]
        shown = [axis for axis in axes if axis not in front.given]
        for axis in shown:
            table.add_column(str(axis), no_wrap=True)
        for column in (front.cost, front.gain):
            table.add_column(f"{column.title} ({column.unit})", justify="right", no_wrap=True)
        table.add_column("on front", justify="right", no_wrap=True)
        for row in records(front.table[front.table["pareto"].to_numpy(bool)]):
            numbers = [_mean(_number(row, column)) for column in (front.cost, front.gain)]
            share = "–" if math.isnan(row["on front"]) else f"{100 * row['on front']:.0f} %"
            table.add_row(*map(Text, (*(str(row[axis]) for axis in shown), *numbers, share)))
        dominated = int((~front.table["pareto"]).sum())
        emit(table, Text(f"{counted(dominated, 'configuration')} not on the front"))


def recommendations(found: Sequence[Recommendation]) -> None:
    """Prints the recommendation under each condition, with its numbers."""
    for each in found:
        emit(Text(_under(each.given, "")), *map(Text, _sentences(each)), Text(""))


def _sentences(each: Recommendation) -> list[str]:
    answer, given = each.answer, each.given
    bounds = " and ".join(map(str, answer.bounds))
    total = sum(answer.counts.values())
    if answer.best is None:
        lines = [f"none of {counted(total, 'configuration')} meets {bounds}"]
        if answer.nearest is not None:
            lines.append(f"nearest: {_candidate_text(answer.nearest, given)}")
        return lines
    share = f"of {total} settings {answer.counts['surely']} meet it surely, {answer.counts['likely']} likely"
    under = f" with {bounds} ({share})" if bounds else ""
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


def _how_sure(answer: Answer) -> str:
    best = answer.best
    if best is None or best.met == "surely":
        return "  surely: the 95 % intervals meet the bounds"
    if best.repetitions < 2:
        return "  from a single repetition; `--repeat 5` gives intervals"
    return "  likely: the means meet the bounds, but their 95 % intervals do not"


def _candidate_text(candidate: Candidate, given: Mapping[str, str]) -> str:
    chosen = [f"{axis} {value}" for axis, value in candidate.axes.items() if axis not in given]
    settings = ", ".join(chosen) or "the only configuration"
    numbers = [f"{number.column.title} {_mean(number)} {number.column.unit}".rstrip()
               for number in (candidate.wanted, *candidate.bounded)]  # fmt: skip
    return f"{settings}: {', '.join(dict.fromkeys(numbers))}"


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
    text = f"{number.mean:.4g}"
    return text if math.isnan(number.low) else f"{text} {spread_in_words(number.mean, (number.low, number.high))}"


def _table(title: str) -> Table:
    return Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
