"""The types of the values in `summary.json`, which anybody may have written.

Readers take a number for a number. What the analysis writes under each key is in `docs/metrics.md`, and its form in the
row of the metric. A key that no metric has may be that of a later version, and has any form.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from tailback.analysis.metric import Metric

REAL = frozenset((int, float))
"""The types of numbers in JSON; `True` is none."""


def is_summary(summary: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that the analysis writes."""
    warnings = summary.get("warnings", [])
    metrics = _metrics()
    return (
        isinstance(warnings, list)
        and all(map(_is_warning, warnings))
        and all(key not in metrics or has_form(metrics[key], value) for key, value in summary.items())
    )


def _metrics() -> "Mapping[str, Metric]":
    # Imported here: whoever only lists results reads no summary.
    from tailback.analysis.registry import METRICS

    return {metric.key: metric for metric in METRICS.values() if metric.key is not None}


def has_form(metric: "Metric", value: object) -> bool:
    """Whether a value under the key of a metric has the form that its row says."""
    if metric.form == "number":
        return _is_number(value)
    if metric.form == "names":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    return isinstance(value, dict) and all(_is_part(metric, name, each) for name, each in value.items())


def _is_part(metric: "Metric", name: str, value: object) -> bool:
    """Whether a value may stand under this name in that of a metric."""
    if metric.form == "words":
        return isinstance(value, str)
    if metric.form == "of each":
        return _has_numbers(value) and all(name in value for name in metric.needed)
    apart = metric.form == "mixed" and isinstance(value, dict) and (metric.apart is None or name in metric.apart)
    return _has_numbers(value) if apart else _is_number(value)


def _has_numbers(value: object) -> TypeGuard[dict[str, float]]:
    return isinstance(value, dict) and REAL.issuperset(map(type, value.values()))


def _is_number(value: object) -> bool:
    return type(value) in REAL


def _is_warning(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) <= {"code", "severity", "text", "hint", "extent", "line", "key", "count"}
        and all(isinstance(entry.get(key), str) for key in ("code", "severity", "text", "hint"))
        and _is_number(entry.get("extent", 1.0))
    )
