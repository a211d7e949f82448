"""Whether the user has said `--trust`: that code which a foreign file names may be executed (SECURITY.md)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal, TypeAlias

Code: TypeAlias = Literal["executed", "untouched"]
"""Whether a check executes the code that an experiment names, or checks the rest."""

_GIVEN: ContextVar[bool] = ContextVar("trust", default=False)


def give(trust: bool) -> bool:  # noqa: FBT001
    """Notes what the command line says."""
    _GIVEN.set(trust)
    return trust


def is_given() -> bool:
    """Whether the user trusts the files that this command reads."""
    return _GIVEN.get()


def code() -> Code:
    """What a command that does not run experiments does with their code."""
    return "executed" if is_given() else "untouched"


@contextlib.contextmanager
def trusting(trust: bool) -> Iterator[None]:  # noqa: FBT001
    """The same for a part of a program."""
    before = _GIVEN.set(trust)
    try:
        yield
    finally:
        _GIVEN.reset(before)
