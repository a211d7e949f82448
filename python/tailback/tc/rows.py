"""Algorithms and their parameters, from the registries of the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

Unit = Literal["number", "packets", "bytes", "time", "rate", "flag", "percent", "fraction", "gain", "choice"]


class Parameter(Struct, frozen=True):
    """One parameter, with values from `min` to `max`.

    `default` is None if the parameter is `required`, or derived from others. `words`: the values of a choice, by name.
    """

    name: str
    unit: Unit
    default: int | None
    min: int
    max: int
    meaning: str
    words: tuple[str, ...] = ()
    required: bool = False


class Row(Struct, frozen=True):
    """One algorithm. `classful`: it can have a child; `classes`: the options of its classes, if it can have any."""

    name: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    classful: bool = False
    classes: tuple[Parameter, ...] | None = None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with this name, if any."""
        return next((row for row in self.parameters if row.name == name), None)


def rows(tables: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Converts the tables of `_core` to rows."""
    return tuple(_row(table) for table in tables)


def _row(table: Mapping[str, Any]) -> Row:
    classes = table.get("class_parameters")
    return Row(
        table["name"],
        table["summary"],
        table["source"],
        _parameters(table["parameters"]),
        table.get("classful", False),
        None if classes is None else _parameters(classes),
    )


def _parameters(tables: Iterable[Mapping[str, Any]]) -> tuple[Parameter, ...]:
    return tuple(Parameter(**{**table, "words": tuple(table.get("words", ()))}) for table in tables)
