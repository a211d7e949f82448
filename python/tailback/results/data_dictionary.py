"""What the tables of a run are: the row of each, and the unit and meaning of its columns (`data_dictionary.toml`)."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct


class DataColumn(Struct, frozen=True, forbid_unknown_fields=True):
    """A column of a table."""

    name: str
    text: str
    unit: str = ""
    """As in the metadata of the Parquet file; empty for words and plain numbers."""
    words: bool = False
    """Whether its cells are words instead of numbers."""
    always: bool = False
    """Whether every table of this name has it, whatever backend or import made it."""
    only: Literal["simulator", ""] = ""
    """The backend that alone can observe it."""


class DataTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a run."""

    name: str
    row: str
    """What one row is."""
    columns: Sequence[DataColumn]


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    table: Sequence[DataTable]


@functools.cache
def tables() -> Mapping[str, DataTable]:
    """The tables by name, in the order of the page."""
    text = resources.files("tailback.results").joinpath("data_dictionary.toml").read_text("utf-8")
    return {each.name: each for each in msgspec.convert(tomllib.loads(text), _File).table}


@functools.cache
def words() -> frozenset[str]:
    """The columns of words; all others are numbers. A name is of one kind in all tables."""
    return frozenset(column.name for table in tables().values() for column in table.columns if column.words)
