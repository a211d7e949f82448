"""The fields of a metric: one row of the registry (`analysis.registry`)."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis.measured import Measured
from tailback.analysis.tails import enough

Summary = Mapping[str, Any]
"""The numbers of one run, `summary.json`."""

Read = Callable[[Summary], float | None]
"""Reads a number from a summary; `None` if it is not known."""

Test = Literal["permutation", "Mann–Whitney"]

Rank = Literal["outcome", "network", "tcp", "detail"]
"""What a metric is about: what a user of an application sees, what the network gives it, what TCP makes of that, or a
detail that explains the others. Narrow tables leave out details first (`analysis.choosing`).
"""

Better = Literal["high", "low"]
"""Which values of a metric are better."""

Sampling = Literal["none", "instants", "intervals", "process"]
"""How a metric depends on `measure.interval`:

    none        not at all
    instants    of a value that changes with time, the samples are those at the ends of intervals
    intervals   it is made from sums over intervals, and cannot tell what happened within one
    process     of the program, not of the network
"""

Form = Literal["by name", "number", "of each", "mixed", "words", "names"]
"""What a metric writes into `summary.json`:

    by name     numbers by name
    number      one number
    of each     for each of several names, numbers by name
    mixed       numbers by name, and under some names (`Metric.apart`) numbers by name
    words       words by name
    names       a list of names
"""

SAMPLING: Mapping[Sampling, str] = {
    "instants": "Sampled at the end of each `measure.interval`: with n samples of a flow, percentile p lies between "
    "the percentiles p ± 136/√n of the value over time (with a probability of 95 % if samples are independent), and a "
    "mean is off by at most 1.36/√n of the range of the values.",
    "intervals": "Made from what happened in each `measure.interval`, and does not tell what happened within one.",
    "process": "Sampling is a part of it.",
}
"""What the definition of a metric says about it."""

ABBREVIATIONS = {"Mbit/s": "mbps", "ms": "ms", "s": "s", "segments": "segments"}
"""Suffixes of the keys of a summary, by unit."""

UNITS: Mapping[str, Mapping[str, float]] = {
    "ms": {"ms": 1.0, "us": 1e-3, "µs": 1e-3, "s": 1e3},
    "s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6},
    "Mbit/s": {"mbit": 1.0, "kbit": 1e-3, "gbit": 1e3},
    "segments": {"p": 1.0},
    "packets": {"p": 1.0},
    "": {"%": 0.01},
    "%": {"%": 1.0},
}
"""For each unit, the units in which a value may be written, and their factors."""


class Column(Struct, frozen=True):
    """One number of a summary, and how it is displayed."""

    title: str
    unit: str
    read: Read
    decimals: int | None = None
    """Digits after the decimal point; by default three significant digits."""
    better: Better | None = None
    """Which values are better; `None` if that depends."""
    least: float | None = None
    """The smallest possible value."""
    most: float | None = None
    """The largest possible value."""
    key: str = ""
    """The path of the number in `summary.json`, or its unique name."""
    label: str | None = None
    """The name of the quantity on the axis of a figure, if it is not the title."""
    needless: float | None = None
    """If no run has more than this, a table of them leaves the column out."""
    beside: str = ""
    """The key of another number; if no run has that, a table of them leaves the column out."""
    of: str = ""
    """Of which flow, direction or device it is, if it is that of one of several: `the worst flow`."""
    most_meant: float | None = None
    """The largest value that a bound can mean, if larger ones are possible."""


def steps(path: str) -> list[str]:
    """The keys of a path. A dot before a digit belongs to a key: `ping_ms.p99.9`, `goodput_mbps.flows.upload.1`."""
    return re.split(r"\.(?!\d)", path)


def at(*keys: str) -> Read:
    """A function that reads the number at this path of a summary."""

    def read(summary: Summary) -> float | None:
        value: Any = summary
        for key in keys:
            if not isinstance(value, Mapping) or key not in value:
                return None
            value = value[key]
        return float(value) if isinstance(value, int | float) else None

    return read


def of_each(key: str, statistic: str, extreme: Callable[[Iterable[float]], float]) -> Read:
    """A function that reads a statistic of each device, flow or direction, and returns the extreme one."""

    def read(summary: Summary) -> float | None:
        group = summary.get(key)
        each = group.values() if isinstance(group, Mapping) else ()
        found = [one[statistic] for one in each if isinstance(one, Mapping) and statistic in one]
        return float(extreme(found)) if found else None

    return read


def tail(key: str, statistic: str, extreme: Callable[[Iterable[float]], float] | None = None) -> Read:
    """A function that reads a percentile such as `p99` if there are enough samples for it (`analysis.tails`); with
    `extreme`, as `of_each` of those devices, flows or directions that have enough.
    """
    quantile = float(statistic.removeprefix("p")) / 100

    def read(summary: Summary) -> float | None:
        samples = summary.get(key) or {}
        each = [samples] if extreme is None else list(samples.values())
        found = [one[statistic] for one in each if statistic in one and enough(one["n"], quantile)]
        return float((extreme or max)(found)) if found else None

    return read


class Heading(Struct, frozen=True):
    """A column of the table after a run."""

    place: float
    """Position from the left."""
    title: str | None = None
    """Default: the title of the number."""
    unit: str | None = None
    """Default: the unit of the metric. Counts show none."""
    decimals: int | None = None
    needless: float | None = None
    """If no run has more than this, a table of them leaves the column out."""
    beside: str = ""
    """The key of another number; if no run has that, a table of them leaves the column out."""


class Number(Struct, frozen=True):
    """A statistic of a metric: one number per run."""

    title: str
    key: str
    """The path of the number in `summary.json`; any unique name if `read_by` is given."""
    read_by: Read | None = None
    """Computes it from a summary, if it is not at a path."""
    heading: Heading | None = None
    """The column of the number in the table after a run; `None` if it has none."""
    test: Test | None = None
    """The test that comparisons use for it; `None` if they leave it out."""
    bounds: tuple[str, ...] = ()
    """The names of the number in bounds and questions (`goodput up > 50mbit`)."""
    label: str | None = None
    """The name of the number on the axis of a figure; by default derived from the key."""

    @property
    def read(self) -> Read:
        """Reads it from a summary."""
        return self.read_by or at(*steps(self.key))


class Metric(Struct, frozen=True):
    """A metric: its key, its definition, and its uses."""

    name: str
    """The name of the metric for users."""
    key: str | None
    """The key of the metric in `summary.json`; `None` if it is a series that is only available as a function."""
    unit: str
    tables: tuple[str, ...]
    """The tables from which it is computed."""
    defined_by: Callable[..., Any]
    """The function whose docstring is its definition."""
    source: str
    """The source of the definition, as keys of `references/sources.toml`."""
    value: Callable[[Measured], Any] | None = None
    """Computes its value for a summary, which omits `None`. Series have none."""
    numbers: tuple[Number, ...] = ()
    """Statistics of the metric that tables, comparisons, bounds or figures use. `until ci95 of WORD` uses the first."""
    word: str | None = None
    """The name of the metric in tolerances and in `until`."""
    tolerance: str = "off"
    """The largest acceptable difference between simulator and kernel (`analysis.tolerances`)."""
    sampled: tuple[str, ...] = ()
    """The names of the metric in bounds if it has many samples; a statistic follows (`ping p99 < 10ms`)."""
    of_each: Callable[[Iterable[float]], float] | None = None
    """If each device, flow or direction has samples of its own: which of their statistics is that of the run."""
    better: Better | None = None
    """Which values are better; `None` if that depends."""
    least: float | None = 0.0
    """The smallest possible value."""
    most: float | None = None
    """The largest possible value."""
    most_meant: float | None = None
    """The largest value that a bound can mean, if larger ones are possible."""
    rank: Rank = "detail"
    """What it is about, by which narrow tables choose."""
    of: str = ""
    """Of which flow, direction or device its numbers are, if there are several; tables say it."""
    sampling: Sampling = "none"
    """How it depends on `measure.interval`."""
    form: Form = "by name"
    """What stands under its key."""
    needed: tuple[str, ...] = ()
    """The numbers of each part that are never missing."""
    apart: tuple[str, ...] | None = ()
    """If its form is mixed, the names under which numbers by name stand; `None`: any."""

    @property
    def definition(self) -> str:
        """The docstring of its function."""
        return " ".join((inspect.getdoc(self.defined_by) or "").split())

    @property
    def place(self) -> str:
        """The path of its function, such as `analysis.metrics.goodput`."""
        return f"{self.defined_by.__module__.removeprefix('tailback.')}.{self.defined_by.__name__}"

    @property
    def stem(self) -> str:
        """The key of the metric without the unit."""
        ending = ABBREVIATIONS.get(self.unit)
        return (self.key or "").removesuffix(f"_{ending}" if ending else "")

    def column(self, number: Number) -> Column:
        """The column of one of its numbers in the table after a run."""
        heading = number.heading or Heading(0)
        title = number.title if heading.title is None else heading.title
        unit = self.unit if heading.unit is None else heading.unit
        return replace(
            self.quantity(number),
            title=title,
            unit=unit,
            decimals=heading.decimals,
            needless=heading.needless,
            beside=heading.beside,
        )

    def quantity(self, number: Number) -> Column:
        """One of its numbers, by its title."""
        found = self.at(number.title, number.key)
        # The numbers of a video have units of their own.
        unit = self.unit or (number.heading.unit if number.heading else None) or ""
        return replace(found, unit=unit, read=number.read, label=number.label)

    def statistic(self, name: str) -> Column:
        """A statistic of its samples, such as `p99`."""
        found = self.at(f"{self.name} {name}", f"{self.key}.{name}")
        return found if self.of_each is None else replace(found, read=of_each(str(self.key), name, self.of_each))

    def at(self, title: str, path: str) -> Column:
        """The number at this path of a summary, which belongs to this metric."""
        return Column(
            title, self.unit, at(*steps(path)), None, self.better, self.least, self.most, path, of=self.of,
            most_meant=self.most_meant,
        )  # fmt: skip
