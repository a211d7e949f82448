"""The space of a search: keys of an experiment file with ranges, `rate=1mbit..100mbit, cc=[reno, bbr]`.

A point of the space is a vector of numbers from 0 to 1, one for each dimension. A range whose ends are a factor of ten
or more apart is logarithmic. A schedule has two dimensions for each of its steps: its time and its value.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from tailback.analysis.digits import significant
from tailback.search.errors import WrongSearch

HINT = "write `rate=1mbit..100mbit, cc=[reno, bbr], links[0].schedule=3 rate 1mbit..50mbit`"

WIDE = 10.0
"""A range of this ratio is logarithmic; a key without a range may be as much smaller or larger than in the file."""

UNITS: Mapping[str, float] = {
    "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "us": 1, "ms": 1e3, "s": 1e6,
    "b": 1, "kb": 1e3, "mb": 1e6, "p": 1, "%": 1, "": 1,
}  # fmt: skip
COUNTED = ("p", "b", "")

_VALUE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z%]*)", re.IGNORECASE)


class Dimension(Protocol):
    """One key of the file."""

    @property
    def key(self) -> str:
        """The key, as for `--set`."""

    @property
    def size(self) -> int:
        """How many numbers choose its value."""

    def at(self, place: Sequence[float]) -> str:
        """Its value at a place, as for `--set`."""


class Range(Struct, frozen=True):
    """A number with a unit between two ends."""

    key: str
    low: float
    high: float
    unit: str
    size: int = 1

    def at(self, place: Sequence[float]) -> str:
        """A number of three digits, in the unit of the lower end."""
        share = min(max(place[0], 0.0), 1.0)
        if self.low > 0 and self.high / self.low >= WIDE:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        whole = self.unit in COUNTED
        return f"{round(value)}{self.unit}" if whole else f"{significant(value, 3)}{self.unit}"


class Choice(Struct, frozen=True):
    """One of some values."""

    key: str
    values: Sequence[str]
    size: int = 1

    def at(self, place: Sequence[float]) -> str:
        """The value whose part of 0 to 1 this is."""
        return self.values[min(int(max(place[0], 0.0) * len(self.values)), len(self.values) - 1)]


class Schedule(Struct, frozen=True):
    """Changes of a key of a link during the run."""

    key: str
    steps: int
    changed: Range
    duration_s: float

    @property
    def size(self) -> int:
        """A time and a value for each step."""
        return 2 * self.steps

    def at(self, place: Sequence[float]) -> str:
        """A list of steps in the order of time."""
        times = sorted(min(max(each, 0.0), 1.0) for each in place[: self.steps])
        values = [self.changed.at([each]) for each in place[self.steps :]]
        steps = dict(zip((f"{0.1 + at * (self.duration_s - 0.2):.1f}s" for at in times), values, strict=True))
        return "[" + ", ".join(f"{{at: {at}, {self.changed.key}: {value}}}" for at, value in steps.items()) + "]"


class Space(Struct, frozen=True):
    """The dimensions of a search."""

    dimensions: Sequence[Dimension]

    @property
    def size(self) -> int:
        """How many numbers a point has."""
        return sum(each.size for each in self.dimensions)

    def settings(self, point: Sequence[float]) -> list[str]:
        """What a point sets, as `KEY=VALUE`."""
        found, begin = [], 0
        for each in self.dimensions:
            found.append(f"{each.key}={each.at(point[begin : begin + each.size])}")
            begin += each.size
        return found


def space(text: str, let: Mapping[str, str], duration_s: float) -> Space:
    """Reads a space; a key without a range is a variable of the file (`let`)."""
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]
    if not parts:
        raise WrongSearch(f"there is nothing to search over\n  hint: {HINT}")
    return Space([_dimension(part, let, duration_s) for part in parts])


def _dimension(part: str, let: Mapping[str, str], duration_s: float) -> Dimension:
    key, gap, words = (each.strip() for each in part.partition("="))
    if not gap:
        return _around(key, let)
    if words.startswith("[") and words.endswith("]"):
        values = [each.strip() for each in words[1:-1].split(",") if each.strip()]
        if len(values) < 2:
            raise WrongSearch(f"`{part}` has no choice\n  hint: {HINT}")
        return Choice(key, values)
    steps = re.fullmatch(r"(\d{1,2})\s+(\w+)\s+(.+)", words)
    if steps is not None and key.endswith("schedule"):
        return Schedule(key, int(steps[1]), _range(steps[2], steps[3]), duration_s)
    return _range(key, words)


def seconds(text: str) -> float:
    """A time as `60s`, `2min` or `60`, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|)", text.strip())
    if match is None:
        raise WrongSearch(f"`{text}` is not a time\n  hint: write `60s` or `2min`")
    return float(match[1]) * {"ms": 1e-3, "min": 60, "m": 60, "h": 3600}.get(match[2], 1)


def _around(key: str, let: Mapping[str, str]) -> Range:
    match = _VALUE.fullmatch(let.get(key, ""))
    if match is None:
        known = ", ".join(f"`{name}`" for name in let) or "none"
        raise WrongSearch(f"`{key}` is no variable with a number\n  hint: {HINT}; variables of the file: {known}")
    middle = float(match[1])
    return Range(key, middle / WIDE, middle * WIDE, match[2])


def _range(key: str, words: str) -> Range:
    low, _, high = words.partition("..")
    ends = [_VALUE.fullmatch(each.strip()) for each in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise WrongSearch(f"`{key}={words}` is not a range\n  hint: {HINT}")
    units = [end[2] or ends[1][2] for end in ends if end is not None]
    if any(unit.lower() not in UNITS for unit in units):
        raise WrongSearch(f"`{key}={words}` has an unknown unit\n  hint: units: {', '.join(filter(None, UNITS))}")
    factor = UNITS[units[1].lower()] / UNITS[units[0].lower()]
    return Range(key, float(ends[0][1]), float(ends[1][1]) * factor, units[0])
