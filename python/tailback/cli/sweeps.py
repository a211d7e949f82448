"""Prints a sweep: its table, its failures, or its preview."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tailback.analysis import effects, sentences
from tailback.analysis.intervals import spread_in_words
from tailback.analysis.metric import Column, Summary
from tailback.analysis.registry import headline, headline_of
from tailback.analysis.repetitions import Configuration, Mean, means
from tailback.analysis.window import Window
from tailback.cli.console import PIPE_WIDTH, counted, emit, line, stderr, stdout
from tailback.cli.show import duration
from tailback.results.layout import ASIDE
from tailback.sweep import warned

if TYPE_CHECKING:
    from tailback.results import Results, RunFolder
    from tailback.sweep import Preview, SweepResult, Verdict


def table(done: SweepResult, title: str) -> None:
    """Prints the table of an experiment, one row per configuration; the results folder goes to stderr."""
    rows = [(outcome.run.axes, outcome.summary) for outcome in done.outcomes if outcome.summary is not None]
    if rows:
        columns = headline_of(summary for _, summary in rows)
        emit(_fitting(means(rows, columns), title, columns))
        _findings(rows)
    reused = f", {done.reused} of them reused" if done.reused else ""
    stderr().print(f"{counted(len(rows), 'complete run')}{reused}: {done.folder}")
    for caution in warned.cautions(done):
        stderr().print(str(caution), markup=False)


def _findings(rows: Sequence[tuple[Mapping[str, str], Summary]]) -> None:
    """Prints what each axis changes."""
    axes: dict[str, list[str]] = {}
    for place, _ in rows:
        for axis, value in place.items():
            if value not in axes.setdefault(axis, []):
                axes[axis].append(value)
    said = sentences.lines(sentences.statements(effects.findings(axes, rows)))
    if said:
        emit("", *map(Text, said))


def expectations(done: SweepResult) -> None:
    """Prints the verdicts on what the file expects, one row each."""
    if not done.verdicts:
        return
    axes = list(done.verdicts[0].axes)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="expected", title_justify="left", padding=(0, 1, 0, 0))
    for heading in (*axes, "condition", "mean", "verdict"):
        table.add_column(heading, no_wrap=heading != "verdict", justify="right" if heading == "mean" else "left")
    for verdict in done.verdicts:
        cells = (*verdict.axes.values(), str(verdict.bound), _mean_of(verdict), _verdict_words(verdict))
        table.add_row(*map(Text, cells), style="" if verdict.holds else "bold")
    emit(table, Text(f"{counted(len(done.unmet), 'condition')} of {len(done.verdicts)} not met"))


def _mean_of(verdict: Verdict) -> str:
    if math.isnan(verdict.mean):
        return "–"
    spread = "" if math.isnan(verdict.low) else f" {spread_in_words(verdict.mean, (verdict.low, verdict.high))}"
    return f"{verdict.mean:.4g}{spread} {verdict.bound.column.unit}".rstrip()


def _verdict_words(verdict: Verdict) -> str:
    if math.isnan(verdict.mean):
        return f"FAILS: no run has {verdict.bound.column.title}"
    word = "holds" if verdict.holds else "FAILS"
    return f"{word}, but the 95 % interval crosses the bound" if verdict.crosses else word


def set_aside(done: SweepResult) -> None:
    """Reports damaged runs that were repeated, on stderr."""
    for name, what in done.damaged.items():
        text = f"damaged: run {name}: {what}; it was repeated, and the old files are in {done.folder / ASIDE}"
        stderr().print(text, markup=False)


def qdiscs_at_end(found: Results) -> None:
    """Prints the disciplines at the end of each run."""
    from tailback.cli import qdiscs

    for run in found.runs:
        line(f"\n# {run.name}\n{qdiscs.text(run.qdiscs)}")


def failed(done: SweepResult) -> None:
    """Reports failed runs on stderr, grouped by error."""
    alike: dict[tuple[str, str | None], list[str]] = {}
    for outcome in done.failed:
        alike.setdefault((outcome.status, outcome.error), []).append(outcome.run.name)
    for (status, error), names_ in alike.items():
        others = f" and {len(names_) - 1} more" if len(names_) > 1 else ""
        stderr().print(f"{status}: run {names_[0]}{others}: {error}")


def will_be_repeated(found: Preview) -> None:
    """Reports damaged runs that will be repeated, on stderr."""
    for name, what in found.damaged.items():
        stderr().print(f"damaged: run {name}: {what}; it will be repeated", markup=False)


def ahead(found: Preview) -> None:
    """Prints a preview."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=found.plan.title, title_justify="left")
    for heading in ("run", "seed", "state", "seconds"):
        table.add_column(heading, no_wrap=True, justify="right" if heading in {"seed", "seconds"} else "left")
    for planned in found.runs:
        seconds = "–" if planned.seconds is None else f"{planned.seconds:.2f}"
        table.add_row(*map(Text, (planned.run.name, str(planned.run.seed), STATES[planned.state], seconds)))
    emit(table, *map(Text, _totals(found)))


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
    if found.seconds is None or found.basis is None:
        return [runs + states, "time: unknown, because no similar run has been measured"]
    return [runs + states, f"time: about {duration(found.seconds)}, {found.jobs} at a time, {BASES[found.basis]}"]


def by_parts(found: Results, by: str) -> None:
    """Prints a table with a row per configuration and part of its traffic."""
    from tailback.analysis.parts import AIRTIME

    rows = [({**run.axes, by: part}, summary) for run in found.runs for part, summary in _parts(run, by)]
    columns = (*headline(), AIRTIME)
    if rows:
        emit(_fitting(means(rows, columns), f"by {by}", columns))


def _parts(run: RunFolder, by: str) -> list[tuple[str, dict[str, Any]]]:
    from tailback.analysis.parts import TABLES, measured, members, summary_of

    flows = list(run.summary.get("goodput_mbps", {}).get("flows", {}))
    tables = {name: run.table(name) for name in TABLES if run.has(name)}
    whole = measured(run.scenario, tables, Window(*run.window_ns), flows)
    found = members(run.scenario, flows, run.manifest["measure"], by)
    return [(part, summary_of(theirs, run.summary, whole)) for part, theirs in found.items()]


def _fitting(rows: Sequence[Configuration], title: str, offered: Sequence[Column]) -> Table:
    """The table, reduced to the width of the terminal: first without intervals, then without columns on the right."""
    columns = _headings(rows, offered)
    repeated = any(row.runs > 1 for row in rows)
    table = _table(rows, columns, with_spread=repeated)
    remarks = ["means over repetitions, ± half their 95 % interval"] if repeated else []
    for shown in range(len(columns), 0, -1):
        if _fits(table):
            break
        table = _table(rows, columns[:shown], with_spread=False)
        left = ["95 % intervals"] * repeated + [column.title for column in columns[shown:]]
        remarks = ["means over repetitions"] * repeated + [f"a wider terminal also shows {', '.join(left)}"] * bool(
            left
        )
    table.title, table.caption = title, "; ".join(remarks) or None
    return table


def _fits(table: Table) -> bool:
    console = stdout()
    if console.width >= PIPE_WIDTH:
        return True
    return Measurement.get(console, console.options.update(max_width=PIPE_WIDTH), table).maximum <= console.width


def _table(rows: Sequence[Configuration], columns: Sequence[Column], *, with_spread: bool) -> Table:
    axes = list(rows[0].axes)
    counts = len({row.runs for row in rows}) > 1
    table = Table(
        box=box.SIMPLE_HEAD, title_justify="left", caption_justify="left", pad_edge=False, padding=(0, 1, 0, 0)
    )
    for axis in (*axes, *["runs"] * counts):
        table.add_column(axis, no_wrap=True, vertical="bottom")
    for column in columns:
        heading = "\n".join(filter(None, (*column.title.rsplit(" ", 1), column.unit)))
        table.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    for row in rows:
        cells = [_cell(row.means[column.title], column, with_spread=with_spread) for column in columns]
        table.add_row(*(Text(row.axes[axis]) for axis in axes), *[str(row.runs)] * counts, *cells)
    return table


def _headings(rows: Sequence[Configuration], shown: Sequence[Column]) -> list[Column]:
    """The columns that have a number in at least one configuration."""
    return [column for column in shown if not all(math.isnan(row.means[column.title].mean) for row in rows)]


def _cell(found: Mean, column: Column, *, with_spread: bool) -> str:
    if math.isnan(found.mean):
        return "–"
    decimals = _decimals(found.mean) if column.decimals is None else column.decimals
    if not with_spread or math.isnan(found.high):
        return f"{found.mean:.{decimals}f}"
    return f"{found.mean:.{decimals}f} {spread_in_words(found.mean, (found.low, found.high), f'.{decimals}f')}"


def _decimals(value: float) -> int:
    """Decimal places for three significant digits, at most three."""
    if value == 0:
        return 0
    return min(max(0, 2 - math.floor(math.log10(abs(value)))), 3)
