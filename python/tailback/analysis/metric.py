"""The fields of a metric: one row of the registry (`analysis.registry`)."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tailback.analysis.measured import Measured

Summary = Mapping[str, Any]
"""The numbers of one run, `summary.json`."""

Read = Callable[[Summary], float | None]
"""Finds a number in a summary; `None` if it is not known."""

Test = Literal["permutation", "Mann–Whitney"]

ABBREVIATIONS = {"Mbit/s": "mbps", "ms": "ms", "s": "s", "segments": "segments"}
"""How keys of a summary end for each unit."""

UNITS: Mapping[str, Mapping[str, float]] = {
    "ms": {"ms": 1.0, "us": 1e-3, "µs": 1e-3, "s": 1e3},
    "Mbit/s": {"mbit": 1.0, "kbit": 1e-3, "gbit": 1e3},
    "segments": {"p": 1.0},
    "packets": {"p": 1.0},
    "": {"%": 0.01},
}
"""What a value of each unit may be written in, and how much of the unit that is."""


@dataclass(frozen=True)
class Column:
    """One number of a summary, as it is shown."""

    title: str
    unit: str
    read: Read
    decimals: int | None = None
    """Digits after the point; without it three digits in all."""


def at(*keys: str) -> Read:
    """Reads the number at this path of a summary."""

    def read(summary: Summary) -> float | None:
        value: Any = summary
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return float(value)

    return read


@dataclass(frozen=True)
class Heading:
    """A column of the table after a run."""

    place: int
    """From the left; on a narrow terminal the columns on the right are left out."""
    title: str | None = None
    """If it is shorter than that of the number."""
    unit: str | None = None
    """If it is not that of the metric: counts show none."""
    decimals: int | None = None


@dataclass(frozen=True)
class Number:
    """A statistic of a metric: one number per run."""

    title: str
    key: str
    """Its path in `summary.json`, or a name of its own if it is made of several numbers there."""
    read_by: Read | None = None
    """Reads it, if it is not a path."""
    heading: Heading | None = None
    """Its column in the table after a run; `None` if it has none."""
    test: Test | None = None
    """Results are compared by it, with this test; `None` if they are not."""
    bounds: tuple[str, ...] = ()
    """Its names in bounds and questions (`goodput up > 50mbit`)."""
    label: str | None = None
    """Its name on the axis of a figure; without one it is made of the key."""

    @property
    def read(self) -> Read:
        """Reads it from a summary."""
        return self.read_by or at(*self.key.split("."))


@dataclass(frozen=True)
class Metric:
    """A metric: its place, its meaning, and its uses."""

    name: str
    """As users call it."""
    key: str | None
    """Its key in `summary.json`; `None` if it is a series that only a function gives."""
    unit: str
    tables: tuple[str, ...]
    """The tables it is made of."""
    defined_by: Callable[..., Any]
    """The function whose docstring is its definition."""
    source: str
    """Where the definition is from, by keys of `references/sources.toml`."""
    value: Callable[[Measured], Any] | None = None
    """Its value in a summary; the summary leaves out `None`. Not for series."""
    numbers: tuple[Number, ...] = ()
    """Its statistics that tables, comparisons, bounds or figures name. The first is the one that repetitions may wait
    for (`until ci95 of WORD`)."""
    word: str | None = None
    """Its name in tolerances and in `until`."""
    tolerance: str = "off"
    """How far a simulator may be from a kernel (`analysis.tolerances`)."""
    sampled: tuple[str, ...] = ()
    """Its names in bounds, where a statistic follows (`ping p99 < 10ms`), if its value is that of many samples."""

    @property
    def definition(self) -> str:
        """The docstring of its function."""
        return " ".join((inspect.getdoc(self.defined_by) or "").split())

    @property
    def place(self) -> str:
        """`analysis.metrics.goodput`."""
        return f"{self.defined_by.__module__.removeprefix('tailback.')}.{self.defined_by.__name__}"

    @property
    def stem(self) -> str:
        """Its key without the unit."""
        ending = ABBREVIATIONS.get(self.unit)
        return (self.key or "").removesuffix(f"_{ending}" if ending else "")

    def column(self, number: Number) -> Column:
        """One of its numbers in the table after a run."""
        heading = number.heading or Heading(0)
        title = number.title if heading.title is None else heading.title
        return Column(title, self.unit if heading.unit is None else heading.unit, number.read, heading.decimals)
