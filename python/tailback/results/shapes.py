"""The types of the values in `manifest.json` and `summary.json`, which anybody may have written.

Readers take a number for a number. What the analysis writes under each key is in `docs/metrics.md`. A type of msgspec
is checked in a tenth of the time that Python needs, and a sweep has thousands of these files.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert

from tailback.resolved.fields import Nanoseconds

NUMBERS = frozenset(
    ("flows_unfinished", "jain", "marks", "pages_unloaded", "power_mbps_per_ms", "retransmits")
)  # fmt: skip
"""Keys whose value is one number."""

OF_EACH = frozenset(
    ("ampdu_mpdus", "cwnd_by_ack_segments", "cwnd_segments", "drops", "flow_completion_by_size_s", "held", "marks_by",
     "media_delay_ms", "pings_ms", "sojourn_ms", "udp_delay_ms", "video", "window_thirds")
)  # fmt: skip
"""Keys whose value has, for each of several names, numbers by name."""

MIXED = {"goodput_mbps": ("flows", "groups", "shares"), "retransmission_rate": ("flows",), "slowdown": None}
"""Keys whose value has numbers by name, and under some names (`None`: any) numbers by name."""

WORDS = frozenset(("steadiness",))
"""Keys whose value has words by name."""

STATISTICS = {"cwnd_segments": ("mean", "p50")}
"""What is never missing in each part of a value."""

NAMES = ("flows_without_data", "jain_without")
"""Keys whose value is a list of names."""


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


_Numbers = dict[str, float]
_Mixed = dict[str, float | _Numbers]
_TYPES: Mapping[str, Any] = {
    "warnings": list[_Warning],
    "capture": Any,
    **dict.fromkeys(NAMES, list[str]),
    **dict.fromkeys(NUMBERS, float),
    **dict.fromkeys(WORDS, dict[str, str]),
    **dict.fromkeys(OF_EACH, dict[str, _Numbers]),
    **dict.fromkeys(MIXED, _Mixed),
}
"""The types of the values in a summary; all that are not named here have numbers by name."""


def is_manifest(manifest: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that every run has."""
    return _is(manifest, _Manifest)


def is_summary(summary: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that the analysis writes."""
    return all(_is(value, _TYPES.get(key, _Numbers)) and _has_all(key, value) for key, value in summary.items())


def _is(value: object, of: Any) -> bool:
    try:
        convert(value, of)
    except (ValidationError, OverflowError):
        return False
    return True


def _has_all(key: str, value: Any) -> bool:
    """Whether a value of the right type has the statistics that it must have, and numbers by name only where it may."""
    needed, inner = STATISTICS.get(key), MIXED.get(key)
    if needed is not None:
        return all(name in each for each in value.values() for name in needed)
    return inner is None or all(name in inner for name, each in value.items() if isinstance(each, dict))
