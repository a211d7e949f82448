"""Registries: rows by name, each once; rows in files of their own are imported when a command needs them."""

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any, Protocol, TypeVar

Row = TypeVar("Row")


class Named(Protocol):
    """A row that has its name."""

    @property
    def name(self) -> str:
        """The name, which no other row has."""


NamedRow = TypeVar("NamedRow", bound=Named)


class NameTwice(ValueError):
    """Two rows of a registry have one name; the message says which."""


def by_name(rows: Iterable[NamedRow]) -> dict[str, NamedRow]:
    """The rows by name, in their order; raises `NameTwice` instead of losing one of two that have the same."""
    listed = tuple(rows)
    _refuse_twice(row.name for row in listed)
    return {row.name: row for row in listed}


def _refuse_twice(names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        told = ", ".join(f"`{name}`" for name in twice)
        raise NameTwice(f"two rows of a registry are called {told}\n  hint: give the new row a name of its own")


class OnDemand(MutableMapping[str, Row]):
    """Rows by name; each is `ROW` in the file of that name in a package, and is imported when it is used."""

    def __init__(self, package: str, *names: str) -> None:
        _refuse_twice(names)
        self._package = package
        self._rows: dict[str, Row | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Row:
        found = self._rows[name]
        if found is None:
            module: Any = importlib.import_module(f"{self._package}.{name}")
            row: Row = module.ROW
            self._rows[name] = row
            return row
        return found

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def used(self) -> list[Row]:
        """The rows that were used until now."""
        return [row for row in self._rows.values() if row is not None]
