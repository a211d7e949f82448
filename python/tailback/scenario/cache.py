"""A cache for values derived from the keys of a file, which checks, warnings and runs all need."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from tailback.scenario.schema import Keys

T = TypeVar("T")

RECENT = 2
"""Number of configurations in the cache; all configurations of a large grid would need too much memory."""


def cached(make: Callable[[Keys], T]) -> Callable[[Keys], T]:
    """Caches the results of `make` by identity of the keys. Results are shared and must not be modified."""
    recent: list[tuple[Keys, T]] = []

    @wraps(make)
    def lookup(keys: Keys) -> T:
        for known, value in list(recent):
            if known is keys:
                return value
        value = make(keys)
        recent[:] = [(keys, value), *recent[: RECENT - 1]]
        return value

    return lookup
