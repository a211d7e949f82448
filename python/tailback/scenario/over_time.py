"""What holds when: values of the file that a schedule changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")

NEVER = 2**63


def over_time(first: T, changes: Iterable[tuple[int, T | None]]) -> dict[int, T]:
    """A value by the time (ns) from which it holds, in the order of time; of changes at one time the last counts, so
    that a change at 0 s takes the place of the first value.
    """
    return {0: first} | {at: value for at, value in changes if value is not None}


def during(values: Mapping[int, T], window: tuple[int, int]) -> list[tuple[int, T]]:
    """The values that hold at some time of a window, each with the time from which it holds."""
    start, stop = window
    return [(at, values[at]) for at, end in pairwise((*values, NEVER)) if at < stop and end > start]
