"""The warnings of an experiment that was run: about its file, its runs, and how it went.

`run` prints them, and `--json` has them as `warnings`; those about a run stand in its `summary.json`, too.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tailback.analysis.cautions import Caution, over
from tailback.scenario import Alike, LintWarning, alike
from tailback.sweep.session import SweepResult

MAX_NAMED = 5
"""The largest number of configurations or runs that a warning names."""


def cautions(done: SweepResult) -> list[Caution]:
    """What is to be said about the runs, one for each kind."""
    rows = [(outcome.run.axes, outcome.summary) for outcome in done.outcomes if outcome.summary is not None]
    return [*_analysed_again(done), *_wide(done), *over(rows)]


def entries(done: SweepResult) -> list[dict[str, Any]]:
    """The same as a JSON document, with what is said while the runs take place."""
    return [_entry(each) for each in (*_damaged(done), *cautions(done))]


def of_files(findings: Iterable[LintWarning]) -> list[dict[str, Any]]:
    """The warnings about files as a JSON document, with their places as in `check --json`."""
    return [_of_file(each) for each in alike(each for each in findings if each.severity == "warning")]


def _of_file(kind: Alike) -> dict[str, Any]:
    worst = kind.worst
    return {
        "code": worst.code,
        "severity": worst.severity,
        "text": worst.text,
        "hint": worst.remedy,
        "file": worst.where.file,
        **({} if worst.where.line is None else {"line": worst.where.line}),
        "key": worst.path,
        "count": len(kind.all),
    }


def _entry(each: Caution) -> dict[str, Any]:
    places = [dict(place) for place in each.places if place]
    counts = {"count": each.count, "runs": each.runs, "axes": dict(each.axes), "configurations": places}
    said = {"code": each.code, "severity": each.severity, "text": each.text, "hint": each.hint, **counts}
    return {name: value for name, value in said.items() if value not in ({}, [])}


def _analysed_again(done: SweepResult) -> Iterator[Caution]:
    if done.analysed_again:
        made = done.analysed_again
        whose = "the summary of 1 run was" if made == 1 else f"the summaries of {made} runs were"
        text = f"the analysis has changed: {whose} made again from the tables"
        hint = "numbers of an earlier version may be defined differently: compare with those made by one version"
        yield Caution("analysed-again", "info", text, hint, count=done.analysed_again, runs=len(done.outcomes))


def _wide(done: SweepResult) -> Iterator[Caution]:
    if done.wide:
        named = _named([", ".join(axes.values()) or "the only configuration" for axes in done.wide])
        text = f"intervals still too wide after the last repetition: {named}"
        hint = "raise the largest number of repetitions in `repeat`, or the width in `until`"
        yield Caution("interval-too-wide", "warning", text, hint, count=len(done.wide), axes=done.wide[0])


def _damaged(done: SweepResult) -> Iterator[Caution]:
    if done.damaged:
        said = _named([f"run {name}: {what}" for name, what in done.damaged.items()])
        hint = "the old files are in the folder of results; a full disk or a power cut damages runs"
        yield Caution("damaged", "warning", f"damaged and repeated: {said}", hint, count=len(done.damaged))


def _named(places: list[str]) -> str:
    more = f" and {len(places) - MAX_NAMED} more" if len(places) > MAX_NAMED else ""
    return "; ".join(places[:MAX_NAMED]) + more
