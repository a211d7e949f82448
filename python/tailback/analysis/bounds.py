"""Reads bounds such as `ping p99 < 10ms and goodput > 50mbit`.

A quantity is a metric by its name in the registry (`ping`, `tcp rtt`, `goodput`, `jain`, `drops`), followed by a
statistic if the metric has many samples (`p99`, `mean`, `max`; by default the median), or the path of a number in
`summary.json` (`tcp_rtt_up_ms.p90`).
"""

import re
from dataclasses import dataclass
from typing import Literal

from tailback.analysis.metric import UNITS, Column, at
from tailback.analysis.metrics import PERCENTILES
from tailback.analysis.registry import METRICS, numbers, unit_of

Sign = Literal["<", ">"]

HINT = 'write a quantity, `<` or `>`, and a value: "ping p99 < 10ms", "goodput up > 50mbit and jain > 0.9"'

STATISTICS = ("mean", "min", "max", *(f"p{percent}" for percent in PERCENTILES))

_BOUND = re.compile(r"(?P<words>[a-zA-Z][\w. ]*?)\s*(?P<sign>[<>])=?\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[a-zµ%]*)")


class WrongBound(Exception):
    """The text is not a bound, or not a quantity; the message gives the remedy."""


@dataclass(frozen=True)
class Bound:
    """A bound on a quantity."""

    column: Column
    sign: Sign
    value: float
    """In the unit of the column."""

    def holds(self, value: float) -> bool:
        """Whether a value meets the bound."""
        return value < self.value if self.sign == "<" else value > self.value

    def __str__(self) -> str:
        return f"{self.column.title} {self.sign} {self.value:g} {self.column.unit}".rstrip()


def bounds(text: str) -> list[Bound]:
    """Reads bounds that are joined by `and`."""
    return [_bound(part) for part in re.split(r"\s+and\s+|\s*,\s*", text.strip())]


def quantity(words: str) -> Column:
    """The number of a summary with this name."""
    text = " ".join(words.lower().split())
    single = {name: (metric.unit, number) for metric, number in numbers() for name in number.bounds}
    if text in single:
        unit, number = single[text]
        return Column(text, unit, number.read)
    sampled = {name: metric for metric in METRICS.values() for name in metric.sampled}
    name, _, statistic = text.rpartition(" ")
    if statistic in sampled or text in sampled:
        name, statistic = text, "p50"
    if name in sampled and statistic in STATISTICS:
        metric = sampled[name]
        return Column(f"{metric.name} {statistic}", metric.unit, at(str(metric.key), statistic))
    keys = words.strip().split(".")
    if len(keys) > 1 or "_" in keys[0]:
        return Column(words.strip(), unit_of(keys[0]), at(*keys))
    known = ", ".join((*sampled, *single))
    hint = f"use one of {known}, with {', '.join(STATISTICS)} for samples; or a path in `summary.json`: ping_ms.p99"
    raise WrongBound(f"`{words}` is not a quantity\n  hint: {hint}")


def _bound(text: str) -> Bound:
    match = _BOUND.fullmatch(text.strip())
    if match is None:
        raise WrongBound(f"`{text}` is not a bound\n  hint: {HINT}")
    column = quantity(match["words"])
    factors = UNITS.get(column.unit, {})
    if match["unit"] and match["unit"] != column.unit and match["unit"] not in factors:
        known = ", ".join(name for name in factors if name != column.unit) or "none"
        raise WrongBound(f"`{match['unit']}` is not a unit of {column.title}\n  hint: units: {known}")
    sign: Sign = "<" if match["sign"] == "<" else ">"
    return Bound(column, sign, float(match["value"]) * factors.get(match["unit"], 1.0))
