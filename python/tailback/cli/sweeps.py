"""Prints a sweep: its table, its failures, or its preview."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis import coverage
from tailback.analysis.choosing import chosen
from tailback.analysis.digits import significant
from tailback.analysis.identical import identical
from tailback.analysis.intervals import DIGITS
from tailback.analysis.metric import Column, Summary
from tailback.analysis.repetitions import means
from tailback.analysis.sentences import Extent
from tailback.analysis.window import Window
from tailback.cli import found, sheets, tables
from tailback.cli.console import counted, line, stderr
from tailback.cli.lines import Lines
from tailback.cli.means import of_configurations
from tailback.cli.sheets import Cell, Field, Interval, Sheet
from tailback.cli.show import time_span
from tailback.results.layout import ASIDE
from tailback.sweep import programs, warned

if TYPE_CHECKING:
    from tailback.results import Results, RunResult
    from tailback.sweep import Preview, SweepResult, Verdict


def _summaries(done: SweepResult) -> list[tuple[Mapping[str, str], Summary]]:
    return [(outcome.run.axes, outcome.summary) for outcome in done.outcomes if outcome.summary is not None]


class Printing(Struct, frozen=True):
    """What is printed of a sweep."""

    columns: str | None = None
    by: str | None = None
    findings: Extent = "few"


def table(done: SweepResult, title: str, printing: Printing) -> None:
    """Prints the table of an experiment, one row per configuration, and if it is asked for one with a row per part of
    the traffic; the results folder goes to stderr.
    """
    rows = _summaries(done)
    if rows:
        print_ = tables.show if printing.by is None else tables.beside
        print_(_means_of(rows, title, printing.columns))
        _findings(done, printing.findings)
        _programs(rows)
    if printing.by is not None:
        _by_parts(done.results, printing.by, printing.columns)
    reused = f", {done.reused} of them reused" if done.reused else ""
    stderr().print(f"{counted(len(rows), 'complete run')}{reused}: {done.folder}")
    for caution in warned.cautions(done):
        stderr().print(str(caution), markup=False)


def _findings(done: SweepResult, extent: Extent) -> None:
    """Prints what each axis changes."""
    if extent != "none":
        found.sentences(done.findings, extent, _identical(_summaries(done)))


MOST_TOLD = 8
"""Runs whose programs are printed; `programs` of each `summary.json` has them all."""


def _programs(rows: Sequence[tuple[Mapping[str, str], Summary]]) -> None:
    """Prints how the programs of each run ended."""
    for axes, summary in rows[:MOST_TOLD]:
        which = ", ".join(axes.values())
        for each in programs.told(summary):
            line(f"{which}: {each}" if which else each)


def _identical(rows: Sequence[tuple[Mapping[str, str], Summary]]) -> list[str]:
    return [f"• {each}" for each in identical(rows)]


def expectations(done: SweepResult) -> None:
    """Prints the verdicts on what the file expects, one row each."""
    if not done.verdicts:
        return
    fields = [
        *sheets.keys(done.verdicts[0].axes),
        Field("condition", "name"),
        Field("mean", spread=True),
        Field("verdict", "text"),
    ]
    rows = [_expectation(verdict) for verdict in done.verdicts]
    tables.beside(Sheet("expected", fields, rows), _how_many_hold(len(done.verdicts), len(done.unmet)))


def _how_many_hold(total: int, unmet: int) -> str:
    if total == 1:
        return f"the condition {'does not hold' if unmet else 'holds'}"
    if not unmet:
        return f"all {total} conditions hold"
    return f"{unmet} of {total} conditions {'does' if unmet == 1 else 'do'} not hold"


def _expectation(verdict: Verdict) -> list[Cell]:
    style = "" if verdict.holds else "bold"
    places = sheets.words(*verdict.axes.values(), str(verdict.bound), style=style)
    return [*places, _mean_of(verdict), Cell(_verdict_words(verdict), style=style)]


def _mean_of(verdict: Verdict) -> Cell:
    ends, style = (verdict.low, verdict.high), "" if verdict.holds else "bold"
    if math.isnan(verdict.mean):
        return Cell(sheets.UNKNOWN, verdict.mean, ends, style)
    interval = Interval(verdict.mean, ends, DIGITS, verdict.bound.column.unit)
    return Cell(significant(verdict.mean, 4), verdict.mean, ends, style, interval)


def _verdict_words(verdict: Verdict) -> str:
    if math.isnan(verdict.mean):
        return f"FAILS: no run has {verdict.bound.column.title}"
    word = "holds" if verdict.holds else "FAILS"
    return f"{word}, but the 95 % interval crosses the bound" if verdict.crosses else word


def set_aside(done: SweepResult) -> None:
    """Reports damaged runs that were repeated, on stderr."""
    for names_, what in _by_cause(done.damaged):
        text = f"damaged: run {names_}: {what}; repeated, and the old files are in {done.folder / ASIDE}"
        stderr().print(text, markup=False)


def _by_cause(found: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each cause once, with the first run that it befell, and how many more."""
    names: dict[str, list[str]] = {}
    for name, cause in found.items():
        names.setdefault(cause, []).append(name)
    return [(first + (f" and {len(more)} more" if more else ""), cause) for cause, (first, *more) in names.items()]


def qdiscs_at_end(found: Results) -> None:
    """Prints the disciplines at the end of each run."""
    from tailback.cli import qdiscs

    for run in found.runs:
        line(f"\n# {run.name}\n{qdiscs.text(run.qdiscs)}")


def failed(done: SweepResult, watch: object = None) -> None:
    """Reports failed runs on stderr, grouped by error; an error of one run alone only if the observer has not."""
    printed = watch.printed if isinstance(watch, Lines) else set()
    alike: dict[tuple[str, str | None], list[str]] = {}
    for outcome in done.failed:
        alike.setdefault((outcome.status, outcome.error), []).append(outcome.run.name)
    for (status, error), names_ in alike.items():
        if len(names_) == 1 and (status, error) in printed:
            continue
        others = f" and {len(names_) - 1} more" if len(names_) > 1 else ""
        stderr().print(f"{status}: run {names_[0]}{others}: {error}")


def will_be_repeated(found: Preview) -> None:
    """Reports damaged runs that will be repeated, on stderr."""
    for names_, what in _by_cause(found.damaged):
        stderr().print(f"damaged: run {names_}: {what}; to be repeated", markup=False)


def ahead(found: Preview) -> None:
    """Prints a preview."""
    fields = [Field("run", "name"), Field("seed"), Field("state", "name"), Field("time", unit="s")]
    rows = [
        [
            *sheets.words(planned.run.name),
            Cell(str(planned.run.seed), planned.run.seed),
            *sheets.words(STATES[planned.state]),
            sheets.number(math.nan if planned.seconds is None else planned.seconds, "{:.2f}".format),
        ]
        for planned in found.runs
    ]
    tables.show(Sheet(found.plan.title, fields, rows), *_totals(found))


STATES = {"complete": "complete", "elsewhere": "complete elsewhere", "missing": "to be run"}
BASES = {
    "measured": "from the times of earlier runs",
    "trial": "from trials of some configurations",
    "duration": "the duration of the runs, because they take place in real time",
}


def _totals(found: Preview) -> list[str]:
    configurations_ = len({tuple(planned.run.axes.items()) for planned in found.runs})
    there = {state: found.count(state) for state in ("complete", "elsewhere", "missing")}
    runs = f"{counted(len(found.runs), 'run')} of {counted(configurations_, 'configuration')} in {found.folder}: "
    states = f"{there['complete']} complete, {there['elsewhere']} complete elsewhere, {there['missing']} to be run"
    if not there["missing"]:
        return [runs + states]
    if found.span is None or found.basis is None:
        return [runs + states, "time: unknown, because no similar run has been measured"]
    return [
        runs + states,
        f"time: about {time_span(found.span.low, found.span.high)}, {found.jobs} at a time, {BASES[found.basis]}",
    ]


def _by_parts(found: Results, by: str, columns: str | None) -> None:
    """Prints a table with a row per configuration and part of its traffic."""
    from tailback.analysis.parts import AIRTIME

    rows = [({**run.axes, by: part}, summary) for run in found.runs for part, summary in _parts(run, by)]
    if rows:
        tables.show(_means_of(rows, f"by {by}", columns, beside=[AIRTIME]))


def _means_of(
    rows: Sequence[tuple[Mapping[str, str], Summary]], title: str, columns: str | None, beside: Sequence[Column] = ()
) -> Sheet:
    shown = chosen((summary for _, summary in rows), columns, beside)
    made = of_configurations(means(rows, [each.column for each in shown]), shown, title)

    def about(titles: Collection[str]) -> list[str]:
        named = [each.column for each in shown if each.column.title in titles]
        return coverage.remarks((summary for _, summary in rows), named)

    return replace(made, about=about)


def _parts(run: RunResult, by: str) -> list[tuple[str, dict[str, Any]]]:
    from tailback.analysis.parts import TABLES, measured, members, summary_of

    flows = list(run.summary.get("goodput_mbps", {}).get("flows", {}))
    tables = {name: run.table(name) for name in TABLES if run.has(name)}
    whole = measured(run.scenario, tables, Window(*run.window_ns), flows)
    found = members(run.scenario, flows, run.manifest["measure"], by)
    return [(part, summary_of(theirs, run.summary, whole)) for part, theirs in found.items()]
