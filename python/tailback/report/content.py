"""The content of a report as one JSON document: the numbers of each configuration, and their origin."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from msgspec import to_builtins

from tailback import scenario
from tailback.analysis import choosing, coverage, effects, sentences
from tailback.analysis.cautions import over
from tailback.analysis.identical import identical
from tailback.analysis.metric import Column
from tailback.analysis.registry import headline_of, of_key
from tailback.analysis.repetitions import configurations
from tailback.limits import FileRefused
from tailback.plots import band, cdf, gaps, layout, style
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Choice
from tailback.results import NotResults, Results, RunDamaged, RunResult
from tailback.results.layout import EXPERIMENT, SOURCE, content_of, read_json
from tailback.results.provenance import tailback_version

MAX_TRACED = 120
"""Maximum number of configurations with samples in the page, to limit its size."""

DIGITS = 5
"""Significant digits of a sample."""

SERIES = ("goodput", "rtt", "cwnd", "queue")
DISTRIBUTIONS = ("rtt", "ping")

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """The experiment file, with settings and warnings."""

    text: str
    settings: Sequence[str]
    warnings: Sequence[str]


def document(results: Results) -> dict[str, Any]:
    """The data of the page."""
    groups = results.configurations
    columns = headline_of(run.summary for run in results.runs)
    table = configurations([(run.axes, run.summary) for run in results.runs], columns)
    shown = [column for column in columns if bool(table[column.title].notna().any())]
    source = source_of(results)
    return {
        "title": results.title,
        **_findings(results),
        "identical": [str(each) for each in identical([(run.axes, run.summary) for run in results.runs])],
        "twin": _twin(results),
        "tailback": tailback_version(),
        "axes": {axis: list(values) for axis, values in results.axes.items()},
        "remarks": coverage.remarks((run.summary for run in results.runs), shown),
        "about": _about(results, shown),
        "columns": [{"title": column.title, "unit": column.unit} for column in shown],
        "configurations": [_configuration(axes, runs, row) for (axes, runs), row in _paired(groups, table, shown)],
        "figures": {
            "series": _figures(results, SERIES, _bands),
            "distributions": _figures(results, DISTRIBUTIONS, _quantiles),
        },
        "traced": min(len(groups), MAX_TRACED),
        "window": [edge / 1e9 for edge in results.runs[0].window_ns],
        "colours": list(style.PALETTE),
        "experiment": source.text,
        "settings": list(source.settings),
        "warnings": [*source.warnings, *map(str, over([(run.axes, run.summary) for run in results.runs]))],
        "manifest": _manifest(results),
    }


def _about(results: Results, shown: Sequence[Column]) -> str:
    """The title of the number that is compared first: the latency that the runs are about, at its farthest percentile
    in the table; else the first number.
    """
    latency = choosing.latency_of(run.summary for run in results.runs)
    same = [column.title for column in shown if latency and of_key(column.key) is of_key(latency.key)]
    return [*(column.title for column in shown[:1]), *same][-1] if shown else ""


def _findings(results: Results) -> dict[str, Any]:
    """The few findings that matter, and all of them."""
    found = effects.findings([effects.Run(run.axes, run.repetition, run.summary) for run in results.runs])
    return {
        "findings": to_builtins(sentences.statements(found)),
        "all_findings": to_builtins(sentences.statements(found, "all")),
    }


def _twin(results: Results) -> str:
    """How far the numbers are from those of one run of a kernel (`run --twin`); empty if there was none."""
    file = results.path / "twin.json"
    if not os.path.lexists(file):
        return ""
    found = read_json(file) or {}
    try:
        words = [str(each["agreement"]) for each in found["distances"]]
        shares = [abs(float(each["share"])) for each in found["distances"] if each["share"] is not None]
    except (KeyError, TypeError, ValueError):
        hint = "remove it, or give the command with `--twin` again"
        raise NotResults(f"`{file}` is not what `tailback run --twin` writes\n  hint: {hint}") from None
    largest = f"; the largest distance is {max(shares):.1%}" if shares else ""
    counts = {"equal": "within tolerance", "chance": "as far as a further run would be", "off": "off"}
    parts = [f"{words.count(key)} {text}" for key, text in counts.items() if key in words]
    return f"Beside one run of {found.get('backend')}, of {len(words)} numbers: {', '.join(parts)}{largest}."


def _paired(
    groups: Sequence[tuple[dict[str, str], list[RunResult]]], table: pd.DataFrame, shown: Sequence[Column]
) -> Iterable[tuple[tuple[dict[str, str], list[RunResult]], list[list[float | None]]]]:
    """Each configuration with its cells: mean and ends of the 95 % interval."""
    for group, (_, row) in zip(groups, table.iterrows(), strict=True):
        names = [(column.title, f"{column.title} low", f"{column.title} high") for column in shown]
        yield group, [[_number(row[name]) for name in each] for each in names]


def _configuration(
    axes: Mapping[str, str], runs: Sequence[RunResult], cells: Sequence[Sequence[float | None]]
) -> dict[str, Any]:
    return {
        "axes": dict(axes),
        "label": ", ".join(axes.values()) or "this experiment",
        "runs": len(runs),
        "cells": cells,
        "steady_from_s": _latest_steady(runs),
    }


def _latest_steady(runs: Sequence[RunResult]) -> float | None:
    found = [at for run in runs for at in run.summary.get("steady_from_s", {}).values()]
    return max(found, default=None)


def _figures(results: Results, names: Sequence[str], read: Any) -> dict[str, Any]:
    """Figures by quantity: title, unit, and the values of each configuration. Quantities without values are absent."""
    firsts = [runs for _, runs in results.configurations[:MAX_TRACED]]
    few = Results(results.path, results.title, results.axes, [run for runs in firsts for run in runs])
    found = {}
    for name in names:
        try:
            found[name] = read(few, name)
        except RunDamaged:
            raise
        except (NotDrawable, NotResults):
            continue
    return found


def _bands(results: Results, name: str) -> dict[str, Any]:
    return _by_configuration(results, band.data(results, Choice(metric=name)), ("t", "mean", "low", "high"))


def _quantiles(results: Results, name: str) -> dict[str, Any]:
    return _by_configuration(results, cdf.data(results, Choice(metric=name)), ("share", "value", "low", "high"))


def _by_configuration(results: Results, table: pd.DataFrame, columns: Sequence[str]) -> dict[str, Any]:
    """The values of each configuration in their order; none of one that has not recorded them, and unknown ones in the
    gaps of a curve over time.
    """
    found = layout.rows_of(table, list(results.axes))
    parts = [found.get(tuple(axes.values()), []) for axes, _ in results.configurations]
    if "t" in columns:
        broken = [gaps.broken(table.iloc[part]) for part in parts]
        rows = [{column: [_number(value) for value in part[column].tolist()] for column in columns} for part in broken]
    else:
        numbers = {column: [_number(value) for value in table[column].tolist()] for column in columns}
        rows = [{column: [numbers[column][row] for row in part] for column in columns} for part in parts]
    return {"title": str(table["panel"].iloc[0]), "unit": str(table["unit"].iloc[0]), "configurations": rows}


def source_of(results: Results) -> Source:
    """The experiment file in the folder, with warnings; empty for the folder of a single run."""
    text, unread = _text(results)
    settings = results.head.get("settings", [])
    if unread is not None:
        return Source("", settings, [f"warning: {unread}"])
    if text is None:
        return Source("", (), ())
    try:
        findings = scenario.lint(scenario.loads(text, settings, file=SOURCE))
    except scenario.ScenarioError:
        # Written by another version with a different file format.
        return Source(text, settings, ())
    return Source(text, settings, [str(each) for each in scenario.alike(findings)])


def unread(results: Results) -> str | None:
    """Why the experiment file in the folder cannot be read, and what to do; `None` if it can, or there is none."""
    return _text(results)[1]


def _text(results: Results) -> tuple[str | None, str | None]:
    """The experiment file in the folder of an experiment, or why it cannot be read."""
    file, head = results.path / SOURCE, results.path / EXPERIMENT
    if not (os.path.lexists(file) and os.path.lexists(head)):
        return None, None
    try:
        return content_of(file).decode("utf-8"), None
    except (OSError, FileRefused, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        hint = "give the command that made the results again: it writes the file, and runs nothing"
        return None, f"`{file}` is left out: {why}\n  hint: {hint}"


def _manifest(results: Results) -> dict[str, str]:
    """Facts about the runs: backend, host, versions, times."""
    manifests = [run.manifest for run in results.runs]
    first = manifests[0]
    host = {"name": "unknown", "machine": "unknown", "cpus": "unknown", **first.get("host", {})}
    return {
        "backend": ", ".join(dict.fromkeys(str(each["backend"]) for each in manifests)),
        "build": ", ".join(dict.fromkeys(str(each["fingerprint"]) for each in manifests)),
        "runs": f"{len(manifests)} in {len(results.configurations)} configurations",
        "seeds": _range([run.seed for run in results.runs]),
        "host": f"{host['name']} ({host['machine']}, {host['cpus']} processors)",
        "kernel": str(first.get("kernel", "unknown")),
        "versions": ", ".join(f"{name} {version}" for name, version in first.get("versions", {}).items()),
        "started": min(str(each.get("started", "unknown")) for each in manifests),
        "computing time": f"{sum(float(each.get('duration_s', 0)) for each in manifests):.1f} s",
        "folder": str(results.path),
    }


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _number(value: Any) -> float | None:
    """A number for JSON, rounded; None for NaN and infinity."""
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None
