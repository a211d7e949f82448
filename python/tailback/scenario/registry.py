"""What the simulator has: queue disciplines, congestion controls and Wi-Fi drivers, with their parameters.

The rows come from the Rust core, one per algorithm file, so that a new algorithm needs no change here. No default
value of an algorithm is kept in Python: a scenario carries only what the file gave.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

Unit = Literal["number", "packets", "bytes", "time", "rate", "flag", "percent", "fraction", "gain", "choice"]


@dataclass(frozen=True)
class Parameter:
    """One settable number. `default` is None where it is derived from other values, or has to be given.

    `words`: what the numbers of a choice stand for.
    """

    name: str
    unit: Unit
    default: int | None
    least: int
    most: int
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """There is no value but one that is given: the core says so in the meaning of the row."""
        return self.default is None and "must be given" in self.meaning


@dataclass(frozen=True)
class Row:
    """One algorithm. `classful`: it holds a child; `classes`: what each of its classes takes, if it has any."""

    name: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    classful: bool = False
    classes: tuple[Parameter, ...] | None = None

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        return next((row for row in self.parameters if row.name == name), None)


class Registry(Protocol):
    """The algorithms there are."""

    @property
    def qdiscs(self) -> Sequence[Row]:
        """Queue disciplines."""

    @property
    def congestion_controls(self) -> Sequence[Row]:
        """Congestion controls."""

    @property
    def drivers(self) -> Sequence[Row]:
        """Wi-Fi drivers."""


class CoreRegistry:
    """The registry of the compiled simulator, `tailback._core`."""

    @cached_property
    def qdiscs(self) -> tuple[Row, ...]:
        return rows(_core().qdiscs())

    @cached_property
    def congestion_controls(self) -> tuple[Row, ...]:
        return rows(_core().congestion_controls())

    def resolved_qdisc(self, kind: str, given: Mapping[str, int], mtu: int) -> dict[str, int]:
        """All that a discipline is set to on a device of that MTU; ValueError if it cannot be so."""
        resolved: dict[str, int] = _core().resolved_qdisc(kind, dict(given), mtu)
        return resolved

    @cached_property
    def drivers(self) -> tuple[Row, ...]:
        return rows(_core().drivers())


#: The device that parameters are resolved for where none is given.
ETHERNET_MTU = 1500


def rows(tables: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """Rows from the mappings that `_core` hands out."""
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


def _core() -> Any:
    return importlib.import_module("tailback._core")
