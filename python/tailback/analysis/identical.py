"""Which values of an axis give the same results to the last digit: the setting did nothing in these runs.

Two runs are compared that differ in this axis alone, by their summaries without `cost`, which is time of the machine.
What differs by chance never agrees in all digits, so that there is nothing to test.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from tailback.analysis.metric import Summary

Row: TypeAlias = tuple[Mapping[str, str], Summary]
"""The axes of a run and its summary."""

APART = frozenset({"cost", "warnings"})
"""Keys that do not belong to the results: the time of the machine, and words about the others."""


class Identical(Struct, frozen=True):
    """Values of an axis whose runs are the same, in all configurations of the others."""

    axis: str
    values: Sequence[str]
    runs: int
    """Runs of each value."""

    def __str__(self) -> str:
        *first, last = self.values
        runs = "the one run" if self.runs == 1 else f"all {self.runs} runs"
        return (
            f"{self.axis} {', '.join(first)} and {last} gave identical results in {runs} of each: what they set apart "
            f"had no effect here; `tailback explain {last.split()[0]}` says what it does"
        )


def identical(rows: Sequence[Row]) -> list[Identical]:
    """The values of each axis with the same results; runs of a configuration are paired in their order."""
    axes = list(dict.fromkeys(axis for place, _ in rows for axis in place))
    written = [(place, _digits(summary)) for place, summary in rows]
    return [found for axis in axes for found in _of_axis(axis, written)]


def _of_axis(axis: str, rows: Sequence[tuple[Mapping[str, str], str]]) -> Iterator[Identical]:
    results: dict[str, dict[tuple[tuple[str, str], ...], list[str]]] = {}
    for place, digits in rows:
        others = tuple((name, value) for name, value in place.items() if name != axis)
        results.setdefault(place[axis], {}).setdefault(others, []).append(digits)
    alike: dict[tuple[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], ...], list[str]] = {}
    for value, runs in results.items():
        of_all = tuple((others, tuple(digits)) for others, digits in sorted(runs.items()))
        alike.setdefault(of_all, []).append(value)
    for values in alike.values():
        if len(values) > 1:
            yield Identical(axis, values, sum(map(len, results[values[0]].values())))


def _digits(summary: Mapping[str, Any]) -> str:
    return json.dumps({key: value for key, value in summary.items() if key not in APART}, sort_keys=True)
