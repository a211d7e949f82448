"""Errors about words, with suggestions."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence

from tailback import plain

MOST_COMPARED = 200
"""Names that an unknown word is compared with."""


class WordError(ValueError):
    """A value that cannot be read, before its place in a file is known."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.message = message
        self.hint = hint


def nearest_hint(word: str, known: Sequence[str]) -> str:
    """The remedy for an unknown word: the known word it most resembles, or all of them."""
    close = difflib.get_close_matches(plain.shortened(word), _likely(word, known), n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there are: {plain.listed(known)}" if known else "there are none"


def _likely(word: str, known: Sequence[str]) -> Sequence[str]:
    """Those worth a comparison: of very many the first that begin alike."""
    if len(known) <= MOST_COMPARED:
        return known
    return list(itertools.islice((name for name in known if name[:1] == word[:1]), MOST_COMPARED))
