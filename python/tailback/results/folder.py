"""A run on disk: tables, disciplines and captures, read when they are asked for, checked against the manifest."""

import contextlib
import functools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tailback import _core
from tailback.resolved import Record, Scenario, ScenarioUnreadable, of_json
from tailback.results import soundness, store, tables
from tailback.results.errors import NotResults, RunDamaged
from tailback.results.run import RunResult

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

KEPT_BYTES = 16_000
"""The largest file whose columns are kept in memory, so that those of a thousand runs fit there."""


@dataclass(frozen=True, repr=False)
class RunFolder(RunResult):
    """One complete run on disk."""

    @functools.cached_property
    def scenario(self) -> Scenario:
        """The resolved scenario; raises `NotResults` if it was written by an incompatible version."""
        try:
            return of_json(self.manifest["scenario"])
        except ScenarioUnreadable as error:
            by = self.manifest.get("tailback", "another version")
            hint = f"read it with Tailback {by}, which wrote it, or run the experiment again"
            raise NotResults(f"the scenario of `{self.path}` cannot be read: {error}\n  hint: {hint}") from error

    @functools.cached_property
    def record(self) -> Record:
        """What it recorded; of thousands of runs, reading the other parts of their scenarios takes longer."""
        if "scenario" not in self.__dict__:
            with contextlib.suppress(msgspec.ValidationError):
                return msgspec.convert(self.manifest["scenario"].get("record"), Record)
        return self.scenario.record

    def has(self, table: str) -> bool:
        """Whether the run has this table."""
        return os.path.lexists(f"{self.path}/{table}{tables.SUFFIX}")

    def table(self, name: str) -> "pd.DataFrame":
        """The table `name` of `docs/tables.md`; raises `NotResults` if the run does not have it."""
        return self._read(name, tables.from_parquet)

    def columns(self, name: str, wanted: Sequence[str]) -> _core.Table:
        """As `table`, those of the columns `wanted` that it has, without pandas; for many runs at a time. Those of a
        small file are kept: a report reads them for several figures.
        """
        key = (name, *wanted)
        if key not in self._kept:
            found, size = self._read(
                name, lambda name, content: (tables.columns_from_parquet(name, content, wanted), len(content))
            )
            if size > KEPT_BYTES:
                return found
            self._kept[key] = found
        return self._kept[key]

    @functools.cached_property
    def _kept(self) -> dict[tuple[str, ...], _core.Table]:
        return {}

    def _read(self, name: str, read: Callable[[str, bytes], T]) -> T:
        file = f"{name}{tables.SUFFIX}"
        if not self.has(name):
            there = ", ".join(sorted(f"`{file.stem}`" for file in self.path.glob(f"*{tables.SUFFIX}")))
            raise NotResults(f"`{self.path}` has no table `{name}`\n  hint: it has {there}")
        content = self._content(file)
        with soundness.table_of(self.path, file):
            return read(name, content)

    def _content(self, name: str) -> bytes:
        """The content of a file; raises `RunDamaged` if it has changed since it was written."""
        content = soundness.content(self.path, name)
        soundness.check_content(self.path, self.manifest, name, content)
        return content

    @property
    def qdiscs(self) -> list[dict[str, Any]]:
        """The disciplines at the end, as in `tc -s -j qdisc show`; empty in old results."""
        if not os.path.lexists(self.path / store.QDISCS):
            return []
        try:
            found: list[dict[str, Any]] = json.loads(self._content(store.QDISCS))
        except (ValueError, RecursionError) as error:
            raise RunDamaged(self.path, f"`{store.QDISCS}` is not JSON") from error
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise RunDamaged(self.path, f"`{store.QDISCS}` is no list of disciplines")
        return found

    @property
    def captures(self) -> dict[str, Path]:
        """The pcapng files of the run, by host."""
        return {file.stem: file for file in sorted(self.path.glob(f"*{store.CAPTURE}"))}

    def units(self, name: str) -> dict[str, str]:
        """The units of the table `name`, by column."""
        return self._read(name, lambda _, content: tables.units(content))
