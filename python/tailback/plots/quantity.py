"""Numbers of a summary for figures: title, unit, and path in the summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tailback.analysis import registry, t_interval
from tailback.plots.errors import NotDrawable
from tailback.plots.layout import Choice
from tailback.results import Results
from tailback.results.reading import flatten


@dataclass(frozen=True)
class Quantity:
    """One number of each run."""

    key: str
    """Its path in `summary.json`."""
    title: str
    unit: str

    @property
    def label(self) -> str:
        """For an axis: `TCP RTT (ms)`."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def of_key(key: str) -> Quantity:
    """The number at this path of a summary, as the registry of metrics has it."""
    label = next((number.label for _, number in registry.numbers() if number.key == key and number.label), None)
    metric = registry.of_key(key)
    head, *statistic = key.split(".")
    stem = head if metric is None else metric.stem
    title = " ".join([stem.replace("_", " "), *statistic]) if label is None else label
    return Quantity(key, title, registry.unit_of(key))


GOODPUT, TCP_RTT, PING = map(of_key, ("goodput_mbps.total", "tcp_rtt_ms.p50", "ping_ms.p50"))


def chosen(results: Results, choice: Choice, without: Sequence[Quantity]) -> list[Quantity]:
    """The quantity of `--metric`; else those of `without` that the results have."""
    there = {
        key for run in results.runs for key, value in flatten(run.summary).items() if isinstance(value, int | float)
    }
    if choice.metric is None:
        found = [quantity for quantity in without if quantity.key in there]
        if found:
            return found
        raise NotDrawable(f"`{results.path}` has neither goodput nor RTT\n  hint: name a number with `--metric`")
    if choice.metric not in there:
        near = (
            ", ".join(f"`{key}`" for key in sorted(there) if choice.metric.split(".")[0] in key) or "`ping_ms.p50`, ..."
        )
        raise NotDrawable(f"no summary of `{results.path}` has `{choice.metric}`\n  hint: there is {near}")
    return [of_key(choice.metric)]


def values(results: Results, quantity: Quantity) -> pd.DataFrame:
    """One row per run that has the number: axes, repetition, panel, unit, value."""
    rows: list[dict[str, Any]] = []
    for run in results.runs:
        value = flatten(run.summary).get(quantity.key)
        if value is not None:
            place = {**run.axes, "repetition": run.repetition}
            rows.append({**place, "panel": quantity.title, "unit": quantity.unit, "value": float(value)})
    return pd.DataFrame(rows)


def means(results: Results, quantities: Sequence[Quantity]) -> pd.DataFrame:
    """One row per configuration and quantity: axes, panel, unit, n, mean, and the ends of its 95 % interval over the
    repetitions (low, high; unknown with one).
    """
    rows = []
    for quantity in quantities:
        table = values(results, quantity)
        axes = [str(name) for name in table if name in results.axes]
        groups = table.groupby(axes, sort=False) if axes else [((), table)]
        for place, part in groups:
            samples = part["value"].to_numpy(dtype=np.float64)
            low, high = t_interval(samples)
            labels = dict(zip(axes, place if isinstance(place, tuple) else (place,), strict=True))
            head = {**labels, "panel": quantity.title, "unit": quantity.unit, "n": len(samples)}
            rows.append({**head, "mean": float(samples.mean()), "low": low, "high": high})
    return pd.DataFrame(rows)
