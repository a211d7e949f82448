"""Writes options in a syntax that all versions of `tc` read; the inverse of `options.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tailback.tc.options import WHOLE
from tailback.tc.rows import Unit

Units = Mapping[str, Unit]
"""The unit of each option."""


def word_of(value: int, unit: Unit) -> str:
    """Writes one value. Sizes have no unit, because some options of `tc` do not accept one."""
    if unit == "time":
        return time_word(value)
    if unit == "percent":
        return f"{value / WHOLE * 100:.10g}%"
    if unit == "fraction":
        return f"{value / WHOLE:.10g}"
    if unit == "gain":
        return f"{value / 256:.10g}"
    return f"{value}bit" if unit == "rate" else str(value)


def time_word(nanoseconds: int) -> str:
    """Writes a time in µs, because old versions of `tc` do not accept `ns`."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03}us"


def plain(options: Mapping[str, int], units: Units, opposites: Mapping[str, str] | None = None) -> Iterator[str]:
    """Writes options as `NAME VALUE`, or as flags; `opposites`: the keywords that turn flags off."""
    for name, value in options.items():
        if units[name] != "flag":
            yield from (name, word_of(value, units[name]))
        elif value:
            yield name
        elif name in (opposites or {}):
            yield (opposites or {})[name]


def positions(options: Mapping[str, int], units: Units, names: Sequence[str]) -> Iterator[str]:
    """Writes positional values, up to the last one that is given."""
    last = max((place for place, name in enumerate(names) if name in options), default=-1)
    for name in names[: last + 1]:
        yield word_of(options.get(name, 0), units[name])


def without(options: Mapping[str, int], *names: str) -> dict[str, int]:
    """`options` without `names`."""
    return {name: value for name, value in options.items() if name not in names}
