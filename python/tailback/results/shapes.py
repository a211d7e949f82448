"""The types of the values in `summary.json`, which anybody may have written.

Readers take a number for a number. What the analysis writes under each key is in `docs/metrics.md`.
"""

from collections.abc import Mapping
from typing import Any

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

REAL = frozenset((int, float))
"""The types of numbers in JSON; `True` is none."""

NAMES = ("flows_without_data", "jain_without")
"""Keys whose value is a list of names."""

OTHERS = frozenset(("capture", "warnings", *NAMES))
"""Keys that no metric reads as numbers; all that are not named here have numbers by name."""


def is_summary(summary: Mapping[str, Any]) -> bool:
    """Whether the values have the types of those that the analysis writes."""
    warnings = summary.get("warnings", [])
    return (
        isinstance(warnings, list)
        and all(map(_is_warning, warnings))
        and all(_are_names(summary.get(key, [])) for key in NAMES)
        and all(_has_form(key, value) for key, value in summary.items() if key not in OTHERS)
    )


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _has_form(key: str, value: object) -> bool:
    if key in NUMBERS or not isinstance(value, dict):
        return key in NUMBERS and _is_number(value)
    if key in WORDS:
        return all(isinstance(each, str) for each in value.values())
    if key in OF_EACH:
        needed = STATISTICS.get(key, ())
        return all(_has_numbers(each) and all(name in each for name in needed) for each in value.values())
    if key in MIXED:
        inner = MIXED[key]
        apart = {name for name in value if isinstance(value[name], dict) and (inner is None or name in inner)}
        return all(_has_numbers(each) if name in apart else _is_number(each) for name, each in value.items())
    return _has_numbers(value)


def _has_numbers(value: object) -> bool:
    return isinstance(value, dict) and set(map(type, value.values())) <= REAL


def _is_number(value: object) -> bool:
    return type(value) in REAL


def _is_warning(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) <= {"code", "severity", "text", "hint", "extent", "line", "key", "count"}
        and all(isinstance(entry.get(key), str) for key in ("code", "severity", "text", "hint"))
        and _is_number(entry.get("extent", 1.0))
    )
