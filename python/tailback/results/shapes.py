"""The types of the values in `manifest.json` and `summary.json`, which anybody may have written.

Readers take a number for a number. What the analysis writes under each key is in `docs/metrics.md`, and its form in the
row of the metric. A key that no metric has may be that of a later version, and has any form. A type of msgspec is
checked in a tenth of the time that Python needs, and a sweep has thousands of these files.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from tailback.resolved.fields import Nanoseconds

if TYPE_CHECKING:
    from tailback.analysis.metric import Form, Metric


class _Size(Struct, frozen=True):
    bytes: Annotated[int, Meta(ge=0)]


class _Rows(Struct, frozen=True):
    rows: int


class _Host(Struct, frozen=True):
    name: str
    machine: str


class _Measure(Struct, frozen=True):
    window_ns: tuple[Nanoseconds, Nanoseconds]
    directions: dict[str, str] = {}


class _Manifest(Struct, frozen=True):
    """What every manifest has, and what old ones lack."""

    name: str
    title: str
    backend: str
    fingerprint: str
    identity: str
    repetition: int
    seed: int
    measure: _Measure
    axes: dict[str, str]
    scenario: dict[str, Any]
    tables: dict[str, _Rows]
    files: dict[str, _Size] = {}
    tailback: str = ""
    analysis: str = ""
    versions: dict[str, Any] = {}
    host: _Host = _Host("", "")
    kernel: str = ""
    started: str = ""
    cost: dict[str, float] = {}
    duration_s: float = 0.0


class _Warning(Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    severity: str
    text: str
    hint: str
    extent: float = 1.0
    line: Any = None
    key: Any = None
    count: Any = None


Numbers = dict[str, float]
TYPES: "Mapping[Form, Any]" = {
    "by name": Numbers,
    "number": float,
    "of each": dict[str, Numbers],
    "mixed": dict[str, float | Numbers],
    "words": dict[str, str],
    "names": list[str],
}


def is_manifest(manifest: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that every run has."""
    return _is(manifest, _Manifest)


def is_summary(summary: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that the analysis writes."""
    metrics = _metrics()
    return _is(summary.get("warnings", []), list[_Warning]) and all(
        key not in metrics or has_form(metrics[key], value) for key, value in summary.items()
    )


def _metrics() -> "Mapping[str, Metric]":
    # Imported here: whoever only lists results reads no summary.
    from tailback.analysis.registry import METRICS

    return {metric.key: metric for metric in METRICS.values() if metric.key is not None}


def has_form(metric: "Metric", value: Any) -> bool:
    """Whether a value under the key of a metric has the form that its row says."""
    if not _is(value, TYPES[metric.form]):
        return False
    if metric.form == "of each":
        return all(name in each for each in value.values() for name in metric.needed)
    apart = metric.apart if metric.form == "mixed" else None
    return apart is None or all(name in apart for name, each in value.items() if isinstance(each, dict))


def _is(value: object, of: Any) -> bool:
    try:
        convert(value, of)
    except (ValidationError, OverflowError):
        return False
    return True
