"""The document of `compare --json` and `validate --json`; unknown values are absent.

    {"tailback", "title", "reference": {"dir", "backend"}, "candidate": …, "apart": {AXIS: [there, here]},
     "tolerances": {NAME: WORDS}, "within": {NAME: {"within", "off", "undecided", "judged", "alike", "ceiling"}},
     "overall": SENTENCE, "findings": [{"axis", "value", "reference", "text", "effects"}],
     "configurations": [{"axes", "repetitions",
        "metrics": {METRIC: {"unit", "reference", "candidate", "difference", "interval", "relative",
                             "interval_of_means", "effect", "tolerance", "excess", "alike", "ceiling", "outcome",
                             "verdict"}},
        "distances": {QUANTITY: {"unit", "n_reference", "n_candidate", "wasserstein", "relative", "ks"}},
        "divergences": [{"repetition", "flow", "column", "t", "reference", "candidate"}],
        "first_divergence": {"repetition", "flow", "column", "t", "between", "rows", "events"}}],
     "unpaired": {SIDE: [RUN]},
     "warnings": [{"code", "severity", "text", "hint", "side", "count", "axes"}]}

A validation adds `"left_out": [{"axes", "backend", "reason"}]` and `"failed": [{"axes", "repetition", "backend",
"error"}]` if there are any.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tailback.analysis import sentences
from tailback.analysis.rows import records
from tailback.analysis.tolerances import JUDGED, LIKENESS
from tailback.results import Results
from tailback.results.provenance import tailback_version
from tailback.validation.comparison import Comparison, Divergence, divergence
from tailback.validation.warned import entries

if TYPE_CHECKING:
    import pandas as pd

    from tailback.sweep import Outcome
    from tailback.validation.session import Validated

METRIC = (
    "unit",
    "reference",
    "candidate",
    "difference",
    "relative",
    "effect",
    "test",
    "p",
    "paired_p",
    "q",
    "tolerance",
    "excess",
    "alike",
    "ceiling",
)
DISTANCE = ("unit", "n_reference", "n_candidate", "wasserstein", "relative", "ks")
DIVERGENCE = ("repetition", "flow", "column", "t", "reference", "candidate")

DIGITS = 9
"""Significant digits, few enough to hide rounding differences between machines."""


def document(comparison: Comparison, extent: sentences.Extent = "few") -> dict[str, Any]:
    """The document of a comparison, with so many findings."""
    pairing = comparison.pairing
    criteria = comparison.criteria.tolerances
    found = {
        "tailback": tailback_version(),
        "title": pairing.candidate.title,
        "reference": _side(pairing.reference),
        "candidate": _side(pairing.candidate),
        "apart": {axis: list(values) for axis, values in pairing.apart.items()},
        "tolerances": {name: by.words for name, by in criteria.items() if by.words != "off"},
        "within": _within(comparison.share_within),
        "overall": comparison.overall,
        "findings": sentences.document(comparison.findings, extent),
        "configurations": [_configuration(comparison, place) for place in range(len(pairing.configurations))],
        "unpaired": {side: [run.name for run in runs] for side, runs in pairing.unpaired.items() if runs},
        "warnings": entries(comparison),
    }
    return {key: value for key, value in found.items() if value not in ({}, [])}


def validation_document(done: "Validated") -> dict[str, Any]:
    """The document of a validation; without configurations if no run is complete on both sides."""
    found = document(done.comparison) if done.comparison is not None else {"tailback": tailback_version()}
    extra = {
        "left_out": [{"axes": dict(out.axes), "backend": out.backend, "reason": out.reason} for out in done.left_out],
        "failed": [_failure(outcome, side.backend) for side in done.carried for outcome in side.failed],
    }
    return {**found, **{key: value for key, value in extra.items() if value}}


def _failure(outcome: "Outcome", backend: str) -> dict[str, Any]:
    run = outcome.run
    return {"axes": dict(run.axes), "repetition": run.repetition, "backend": backend, "error": outcome.error}


def known(row: Mapping[str, Any], columns: tuple[str, ...]) -> dict[str, Any]:
    """The known columns of `row`, as JSON."""
    plain = {column: _plain(row[column]) for column in columns if column in row}
    return {column: value for column, value in plain.items() if value is not None}


def _side(results: Results) -> dict[str, Any]:
    backends = list(dict.fromkeys(run.backend for run in results.runs))
    return {"dir": str(results.path.resolve()), "backend": ", ".join(backends)}


def _within(shares: "pd.DataFrame") -> dict[str, Any]:
    rows = records(shares[shares["judged"] > 0])
    return {str(row["tolerance"]): known(row, (*JUDGED, "judged", *LIKENESS)) for row in rows}


def _configuration(comparison: Comparison, place: int) -> dict[str, Any]:
    rows = comparison.rows
    metrics, distances, divergences = (
        of_each.get(place, ()) for of_each in (rows.judged, rows.distances, rows.divergences)
    )
    first = divergence(comparison, place)
    found = {
        "axes": dict(comparison.pairing.configurations[place]),
        "repetitions": [pair.repetition for pair in comparison.pairing.of(place)],
        "metrics": {row["metric"]: _metric(row) for row in metrics},
        "distances": {row["quantity"]: known(row, DISTANCE) for row in distances},
        "divergences": [known(row, DIVERGENCE) for row in divergences],
    }
    return found if first is None else {**found, "first_divergence": _divergence(first)}


def _metric(row: Mapping[str, Any]) -> dict[str, Any]:
    intervals = {
        "interval": [_plain(row["low"]), _plain(row["high"])],
        "interval_of_means": [_plain(row["least"]), _plain(row["most"])],
    }
    ends = {name: interval for name, interval in intervals.items() if None not in interval}
    return {**known(row, METRIC), **ends, "outcome": row["outcome"], "verdict": row["verdict"]}


def _divergence(first: Divergence) -> dict[str, Any]:
    events = {side: _rows(table) for side, table in first.events.items() if len(table)}
    found = {
        "repetition": first.pair.repetition,
        "flow": first.flow,
        "column": first.column,
        "t": _plain(first.t),
        "between": [_plain(edge) for edge in first.between],
        "rows": _rows(first.rows),
    }
    return {**found, "events": events} if events else found


def _rows(table: "pd.DataFrame") -> list[dict[str, Any]]:
    columns = tuple(str(column) for column in table)
    return [known(row, columns) for row in records(table)]


def _plain(value: Any) -> Any:
    """A value for JSON; `None` if it is unknown or infinite."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else float(f"{number:.{DIGITS}g}")
