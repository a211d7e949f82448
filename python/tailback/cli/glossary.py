"""The words of the field that tables, messages and pages use, or that users ask for: `field.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources

import msgspec
from msgspec import Struct


class Absent(Struct, frozen=True, forbid_unknown_fields=True):
    """What Tailback does not have, under one or several names in small letters."""

    words: Sequence[str]
    what: str
    because: str
    nearest: str


class Field(Struct, frozen=True, forbid_unknown_fields=True):
    """The words of the field."""

    words: Mapping[str, str]
    """Definition by word, in small letters."""
    same: Mapping[str, str]
    """The word that is explained, by another one for it, in small letters."""
    absent: Sequence[Absent]


@functools.cache
def field() -> Field:
    """The words of the field, from their file."""
    text = resources.files("tailback.cli").joinpath("field.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Field)


def plain(word: str) -> str:
    """`Slow-Start` and `slow start` as `slowstart`."""
    return word.lower().replace("-", "").replace(" ", "").replace("_", "")


def defined(word: str) -> str | None:
    """The definition of a word, however its parts are joined."""
    return _definitions().get(plain(word))


def absent(word: str) -> Absent | None:
    """What Tailback does not have under that name, if it is known."""
    return _absent().get(plain(word))


def another_word(word: str) -> str:
    """The word that is explained for `word`, or itself."""
    return _same().get(plain(word), word)


@functools.cache
def _definitions() -> Mapping[str, str]:
    return {plain(word): text for word, text in field().words.items()}


@functools.cache
def _same() -> Mapping[str, str]:
    return {plain(word): other for word, other in field().same.items()}


@functools.cache
def _absent() -> Mapping[str, Absent]:
    return {plain(word): each for each in field().absent for word in each.words}
