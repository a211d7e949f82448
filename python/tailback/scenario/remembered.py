"""Caches what is derived from the keys of a file, because checks, warnings and runs all need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from tailback.scenario.schema import Keys

T = TypeVar("T")

RECENT = 2
"""Keys whose things are kept: a grid may have more configurations than memory has room for what follows from them."""


def remembered(make: Callable[[Keys], T]) -> Callable[[Keys], T]:
    """Caches the result of `make` for keys that never change. The result is shared, so nobody may change it."""
    kept: list[tuple[Keys, T]] = []

    @wraps(make)
    def found(keys: Keys) -> T:
        for known, made in list(kept):
            if known is keys:
                return made
        made = make(keys)
        kept[:] = [(keys, made), *kept[: RECENT - 1]]
        return made

    return found
