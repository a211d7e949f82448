"""Numbers of a summary for figures: title, unit, and path in the summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis import quantities, registry, t_interval
from tailback.analysis.metric import Metric, Read, Summary
from tailback.plots import capacity, labels
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Choice
from tailback.results import Results, RunResult
from tailback.results.reading import flatten


@dataclass(frozen=True)
class Quantity:
    """One number of each run."""

    key: str
    """The path of the number in `summary.json`."""
    title: str
    unit: str
    read_by: Read | None = None
    """Reads it from a summary, if it is not at its path."""
    least: float | None = None
    """The smallest possible value."""
    most: float | None = None
    """The largest possible value."""

    def read(self, summary: Summary) -> float | None:
        """The value of the number in the summary of a run; `None` if it is not known."""
        if self.read_by is not None:
            return self.read_by(summary)
        value = _at(summary, self.key)
        return None if value is None else float(value)

    @property
    def label(self) -> str:
        """For an axis: `TCP RTT (ms)`, `Drops`; names of variables of the kernel stay small: `cwnd (segments)`."""
        return labels.quantity(self.title, self.unit)


def _at(summary: Mapping[str, Any], path: str) -> float | None:
    """The number at `path`, which `flatten` would give it; a key may contain dots (`goodput_mbps.flows.upload.1`)."""
    value = summary.get(path)
    if isinstance(value, int | float):
        return value
    for place in (place for place, letter in enumerate(path) if letter == "."):
        inside = summary.get(path[:place])
        found = _at(inside, path[place + 1 :]) if isinstance(inside, Mapping) else None
        if found is not None:
            return found
    return None


def of_key(key: str) -> Quantity:
    """The number at this path of a summary, as the registry of metrics has it."""
    label = next((number.label for _, number in registry.numbers() if number.key == key and number.label), None)
    metric = registry.of_key(key)
    least, most = (None, None) if metric is None else (metric.least, metric.most)
    head, *statistic = key.split(".")
    stem = head if metric is None else metric.stem
    name = stem.replace("_", " ")
    if label is None and statistic[:1] in (["flows"], ["groups"]):
        label = f"{name} of {'.'.join(statistic[1:])}"
    title = " ".join([name, *statistic]) if label is None else label
    return Quantity(key, title, registry.unit_of(key), None, least, most)


GOODPUT, TCP_RTT, PING = map(of_key, ("goodput_mbps.total", "tcp_rtt_ms.p50", "ping_ms.p50"))
EACH_WAY = (of_key("goodput_mbps.up"), of_key("goodput_mbps.down"))


def goodput(results: Results) -> tuple[Quantity, ...]:
    """The goodput of each direction if a run has flows in both, because different directions share no link."""
    both = any({"up", "down"} <= set(run.summary.get("goodput_mbps", {})) for run in results.runs)
    return EACH_WAY if both else (GOODPUT,)


def chosen(results: Results, choice: Choice, without: Sequence[Quantity]) -> list[Quantity]:
    """The quantity of `--metric`; else those of `without` that the results have."""
    if choice.metric is None:
        found = [quantity for quantity in without if _has(results, quantity.key)]
        if found:
            return found
        titles = " and no ".join(labels.within(quantity.title) for quantity in without)
        hint = f"name a number that it has, with `--metric`: {_having(results)}"
        raise NotDrawable(f"`{results.path}` has no {titles}\n  hint: {hint}")
    if _has(results, choice.metric) and any(number.key == choice.metric for _, number in registry.numbers()):
        return [of_key(choice.metric)]
    row = quantities.metric(choice.metric)
    if row is not None and row.key is None:
        quantities.quantity(choice.metric)
    named = _named(choice.metric)
    if row is not None and not any(row.key in run.summary for run in results.runs):
        raise NotDrawable(f"no run of `{results.path}` has `{choice.metric}`\n  hint: {_missing(row, results)}")
    if named is None or not any(named.read(run.summary) is not None for run in results.runs):
        raise NotDrawable(
            f"no summary of `{results.path}` has `{choice.metric}`\n"
            f"  hint: {quantities.meant(choice.metric)}there is {_near(choice.metric, results)}"
        )
    return [named]


def _missing(row: Metric, results: Results) -> str:
    """Why no run has a metric."""
    said = f"`tailback explain {row.key}`"
    if any(run.has(table) for run in results.runs for table in row.tables):
        return f"there was nothing to measure in the window: {said}"
    return (
        f"it is computed from the table {' or '.join(f'`{table}`' for table in row.tables)}, which no run has: {said}"
    )


def _named(words: str) -> Quantity | None:
    """The quantity with this name (`analysis.quantities`)."""
    try:
        column = quantities.quantity(words)
    except quantities.WrongBound:
        return None
    computed = any(number.read_by is not None and number.key == column.key for _, number in registry.numbers())
    if not computed and column.key and column.label is None and column.title == column.key:
        return of_key(column.key)
    return Quantity(column.key, column.label or column.title, column.unit, column.read, column.least, column.most)


def _has(results: Results, path: str) -> bool:
    """Whether a summary has a number at this path."""
    return any(_at(run.summary, path) is not None for run in results.runs)


def _paths(results: Results) -> set[str]:
    """The paths of all numbers in the summaries."""
    return {
        key for run in results.runs for key, value in flatten(run.summary).items() if isinstance(value, int | float)
    }


def _near(words: str, results: Results) -> str:
    """What these results have, for a hint: paths that resemble the words, else the names of quantities."""
    row = quantities.metric(words)
    stem = words.split(".", maxsplit=1)[0] if row is None else str(row.key)
    near = [key for key in sorted(_paths(results)) if stem in key]
    return ", ".join(f"`{name}`" for name in near) if near else _having(results)


def _having(results: Results) -> str:
    """The names of the quantities that these results have."""
    columns = ((name, quantities.quantity(name)) for name in quantities.names())
    found = [name for name, each in columns if any(each.read(run.summary) is not None for run in results.runs)]
    return ", ".join(f"`{name}`" for name in found)


def values(results: Results, quantity: Quantity) -> pd.DataFrame:
    """One row per run that has the number: axes, repetition, panel, unit, value."""
    rows: list[dict[str, Any]] = []
    for run in results.runs:
        value = quantity.read(run.summary)
        if value is not None:
            place = {**run.axes, "repetition": run.repetition}
            rows.append({**place, "panel": quantity.title, "unit": quantity.unit, "value": value})
    return pd.DataFrame(rows)


def means(results: Results, quantities: Sequence[Quantity]) -> pd.DataFrame:
    """One row per configuration and quantity: axes, panel, unit, n, mean, and the ends of its 95 % interval over the
    repetitions (low, high; unknown with one).
    """
    rows = []
    for quantity in quantities:
        table = values(results, quantity)
        axes = [str(name) for name in table if name in results.axes]
        limits = {tuple(each.values()): _most(quantity, runs) for each, runs in results.configurations}
        groups = table.groupby(axes, sort=False) if axes else [((), table)]
        for place, part in groups:
            samples = part["value"].to_numpy(dtype=np.float64)
            named = dict(zip(axes, place if isinstance(place, tuple) else (place,), strict=True))
            mean, limit = float(samples.mean()), limits[tuple(map(str, named.values()))]
            low, high = capacity.bounded(t_interval(samples, quantity.least, quantity.most), mean, limit)
            head = {**named, "panel": quantity.title, "unit": quantity.unit, "n": len(samples)}
            rows.append({**head, "mean": mean, "low": low, "high": high})
    return pd.DataFrame(rows)


def _most(quantity: Quantity, runs: Sequence[RunResult]) -> float | None:
    """What the links allow of a goodput; `None` for other quantities."""
    head, _, way = quantity.key.partition(".")
    if head != "goodput_mbps" or way not in ("total", "up", "down"):
        return None
    return capacity.most_mbps(runs, None if way == "total" else way)
