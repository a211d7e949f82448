"""Errors in values, with suggestions."""

from __future__ import annotations

import difflib
import itertools
import re
import string
from collections.abc import Sequence

from tailback import plain

MAX_COMPARED = 200
"""Maximum number of names that an unknown one is compared with."""


LIKENESS = 0.7
"""How alike a slip and the word that is meant are, from 0 to 1: `cubci` and `cubic` 0.8, `accecn` and `access` 0.67."""


_LETTERS = string.ascii_letters
"""What a unit consists of."""


class WordError(ValueError):
    """A value cannot be read; its position in the file is not known yet."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.message = message
        self.hint = hint


class Needed(WordError):
    """An option lacks another one, by name."""

    def __init__(self, message: str, hint: str, option: str) -> None:
        super().__init__(message, hint)
        self.option = option


def nearest_hint(word: str, known: Sequence[str]) -> str:
    """The hint for an unknown name: the most similar known one, or all of them."""
    in_other_case = [name for name in known if name.lower() == word.lower()]
    if in_other_case:
        return f"did you mean `{in_other_case[0]}`?"
    with_unit = [name for name in known if re.fullmatch(r"[0-9.]+", word) and name.rstrip(_LETTERS) == word]
    if len(with_unit) == 1:
        return f"did you mean `{with_unit[0]}`?"
    likely = _likely(word, known)
    # What all names begin with says nothing about which of them is meant: 802.11be is not 802.11n.
    beginning = _common_beginning(likely) if len(likely) > 1 else ""
    same = beginning if word.startswith(beginning) else ""
    by_rest = {name.removeprefix(same): name for name in likely}
    rest_of_word = _without_beginning(word, same)
    close = [by_rest[rest] for rest in _alike(rest_of_word, list(by_rest))]
    # A name that differs in its number only is another thing and not a slip: linux-7.0 is not linux-5.0.
    if close and not _differs_in_number(word, close[0]):
        return f"did you mean `{close[0]}`?"
    return f"use one of: {plain.listed(known)}" if known else "there are none"


def _alike(word: str, known: Sequence[str]) -> list[str]:
    """The name that is most like the word, if it is like enough or has the same letters in another order: `tqs`."""
    exchanged = [name for name in known if len(word) > 1 and sorted(name) == sorted(word)]
    return exchanged[:1] or difflib.get_close_matches(word, known, n=1, cutoff=LIKENESS)


def _common_beginning(names: Sequence[str]) -> str:
    pairs = zip(min(names), max(names), strict=False)
    return "".join(one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _without_beginning(word: str, beginning: str) -> str:
    return plain.shortened(word.removeprefix(beginning))


def _differs_in_number(word: str, other: str) -> bool:
    """Whether two names have the same words and other numbers: 30MHz and 80MHz."""
    digits = [re.sub(r"[0-9]", "", name).lower() for name in (word, other)]
    return digits[0] == digits[1] and any(letter.isdigit() for letter in word)


def _likely(word: str, known: Sequence[str]) -> Sequence[str]:
    """The names to compare with; of very many, the first ones with the same first letter."""
    if len(known) <= MAX_COMPARED:
        return known
    return list(itertools.islice((name for name in known if name[:1] == word[:1]), MAX_COMPARED))
