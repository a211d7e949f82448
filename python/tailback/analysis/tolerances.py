"""Tolerances of metrics, and verdicts: how far a metric may be from its reference.

The syntax of tolerances: `3%` of the reference · `10% or 0.5ms`, whichever is larger · `25% over 50`: judged only if
either side is above 50, and 25 % of at least 50 · `0.5ms` · `off`: shown, not judged.

The defaults are in the registry of metrics.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tailback.analysis.differences import METRICS, Compared, differences
from tailback.analysis.equivalence import decision, likenesses
from tailback.analysis.metric import UNITS, Metric
from tailback.analysis.registry import View
from tailback.analysis.rows import records
from tailback.analysis.table import frame
from tailback.analysis.tolerance import Tolerance
from tailback.analysis.wording import in_words

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FIDELITY",
    "JUDGED",
    "LIKENESS",
    "NONE",
    "Outcome",
    "Tolerance",
    "Verdict",
    "WrongTolerance",
    "judged",
    "share_within",
    "tolerance",
    "tolerances",
    "verdict",
]

Outcome = Literal["within", "off", "undecided", "shown", "unknown"]

JUDGED: tuple[Outcome, ...] = ("within", "off", "undecided")
"""The outcomes of cells with a tolerance and a value on both sides."""

LIKENESS = ("alike", "ceiling")


class WrongTolerance(Exception):
    """The text is not a tolerance; the message gives an example."""


_WORDS = re.compile(
    r"(?:(?P<share>\d+(?:\.\d+)?)%)?"
    r"(?:(?(share)\s+or\s+)(?P<absolute>\d+(?:\.\d+)?)(?P<unit>[a-zµ]+))?"
    r"(?:\s+over\s+(?P<over>\d+))?"
)


def tolerance(name: str, words: str) -> Tolerance:
    """Reads the tolerance (`10% or 0.5ms`) of the metric `name` (`rtt`)."""
    metric = _toleranced().get(name)
    if metric is None:
        known = ", ".join(f"`{known}`" for known in _toleranced())
        raise WrongTolerance(f"`{name}` has no tolerance\n  hint: use one of {known}")
    # A percentage is relative to the reference, so it is not a unit here.
    units = {unit: factor for unit, factor in UNITS.get(metric.unit, {}).items() if unit != "%"}
    if words.strip() == "off":
        return Tolerance()
    match = _WORDS.fullmatch(words.strip())
    if match is None or not (match["share"] or match["absolute"]) or match["unit"] not in (None, *units):
        example = f"0.5{next(iter(units), metric.unit)}"
        hint = f"write `3%`, `10% or {example}`, `25% over 50` or `off`; units: {', '.join(units) or metric.unit}"
        raise WrongTolerance(f"`{words}` is not a tolerance of `{name}`\n  hint: {hint}")
    return Tolerance(
        share=float(match["share"]) / 100 if match["share"] else None,
        absolute=float(match["absolute"]) * units[match["unit"]] if match["absolute"] else None,
        over=float(match["over"]) if match["over"] else None,
        words=words.strip(),
    )


def tolerances(words: Mapping[str, str], defaults: Mapping[str, Tolerance]) -> dict[str, Tolerance]:
    """`defaults`, with the tolerances in `words` replaced."""
    return {**defaults, **{name: tolerance(name, text) for name, text in words.items()}}


def _toleranced() -> dict[str, Metric]:
    """The metrics that comparisons use, by the name of their tolerance."""
    return {compared.tolerance: compared.metric for compared in METRICS.values()}


NONE: Mapping[str, Tolerance] = View(lambda: dict.fromkeys(_toleranced(), Tolerance()))
"""Tolerances with which nothing is judged."""

FIDELITY: Mapping[str, Tolerance] = View(
    lambda: {name: tolerance(name, metric.tolerance) for name, metric in _toleranced().items()}
)
"""The tolerances of the simulator relative to a kernel, from the registry."""


class Verdict(Struct, frozen=True):
    """The verdict on a difference. `excess` is the difference in units of the tolerance, signed; NaN if there is no
    verdict.
    """

    outcome: Outcome
    allowed: float
    excess: float


def verdict(difference: float, allowed: float | None, interval: tuple[float, float] | None = None) -> Verdict:
    """Judges a difference. `validate`, `compare` and the conformance campaigns all use this rule.

    `interval` is that of repetitions (`analysis.equivalence`). Without it, the difference is judged as it is, which
    says nothing about other seeds.
    """
    if math.isnan(difference):
        return Verdict("unknown", math.nan, math.nan)
    if allowed is None:
        return Verdict("shown", math.nan, math.nan)
    outcome = decision((difference, difference) if interval is None else interval, allowed)
    return Verdict(outcome, allowed, _excess(difference, allowed))


def judged(
    paired: "pd.DataFrame", by: Mapping[str, Tolerance], metrics: Mapping[str, Compared] = METRICS
) -> "pd.DataFrame":
    """The differences of paired metrics (`analysis.differences`), with `alike` and `ceiling` (`analysis.equivalence`),
    `tolerance`, `excess` (the difference in units of the tolerance, signed), `outcome`, and the `verdict` in words.
    Numbers are NaN if there is no verdict.
    """
    of_metric = {key: by.get(compared.tolerance, Tolerance()) for key, compared in metrics.items()}
    table = differences(paired, metrics).merge(
        likenesses(paired, of_metric), on=["configuration", "metric"], how="left"
    )
    rows = [_judged(row, of_metric[row["metric"]]) for row in records(table)]
    return frame(rows, columns=[*table.columns, "tolerance", "excess", "outcome", "verdict"])


def share_within(table: "pd.DataFrame", metrics: Mapping[str, Compared] = METRICS) -> "pd.DataFrame":
    """The numbers of cells of a judged table that are `within` tolerance, `off`, `undecided`, and `judged` (their sum),
    per tolerance and for `all`; `alike` and `ceiling` are means over these cells (`analysis.equivalence`).
    """
    counted = table[table["outcome"].isin(JUDGED)]
    names = counted["metric"].map(lambda key: metrics[key].tolerance)
    rows = [(name, *_counts(counted[names == name])) for name in dict.fromkeys(names)]
    return frame([*rows, ("all", *_counts(counted))], columns=["tolerance", *JUDGED, "judged", *LIKENESS])


def _counts(cells: "pd.DataFrame") -> tuple[int | float, ...]:
    counts = [int((cells["outcome"] == outcome).sum()) for outcome in JUDGED]
    # A share of the simulator and one of the kernel are compared over the same cells.
    known = cells.dropna(subset=list(LIKENESS))
    return *counts, len(cells), *(float(known[share].mean()) if len(known) else math.nan for share in LIKENESS)


def _judged(row: Mapping[str, Any], by: Tolerance) -> dict[str, Any]:
    allowed = by.allowed(row["reference"], row["candidate"])
    # Of repetitions that are the same on both sides, the spread says nothing about the difference.
    same = row["low"] == row["high"] == 0
    found = verdict(row["difference"], allowed, (0.0, 0.0) if same else (row["least"], row["most"]))
    complete = {**row, "tolerance": found.allowed, "excess": found.excess, "outcome": found.outcome}
    return {**complete, "verdict": in_words(complete)}


def _excess(difference: float, allowed: float) -> float:
    if difference == 0:
        return 0.0
    return difference / allowed if allowed else math.copysign(math.inf, difference)
