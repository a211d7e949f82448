"""Registries whose rows are in files of their own, of which a command needs few."""

import importlib
from collections.abc import Iterator, MutableMapping
from typing import Any, TypeVar

Row = TypeVar("Row")


class OnDemand(MutableMapping[str, Row]):
    """Rows by name; each is `ROW` in the file of that name in a package, and is imported when it is used."""

    def __init__(self, package: str, *names: str) -> None:
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
