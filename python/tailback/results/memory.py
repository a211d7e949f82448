"""Runs in memory: a store without a folder, and runs with the interface of those on disk.

results = tailback.simulate("demo")      # no file is written or read
results.runs[0].columns("tcp_info", ["t", "snd_cwnd"])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _core
from tailback.resolved import Scenario
from tailback.results import tables
from tailback.results.errors import NotResults
from tailback.results.identity import RunPlan
from tailback.results.reading import Results
from tailback.results.run import RunResult
from tailback.results.store import ExperimentPlan, Finished, Status, manifest_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class RunInMemory(RunResult):
    """One complete run that is nowhere on disk; `path` is a name for messages."""

    finished: Finished = field(kw_only=True)

    @property
    def scenario(self) -> Scenario:
        """The resolved scenario."""
        scenario: Scenario = self.manifest["scenario"]
        return scenario

    def has(self, table: str) -> bool:
        """Whether the run has this table."""
        return table in self.finished.tables

    def table(self, name: str) -> pd.DataFrame:
        """The table `name` of `docs/tables.md`; raises `NotResults` if the run does not have it."""
        return tables.frame(self._table(name))

    def columns(self, name: str, wanted: Sequence[str]) -> _core.Table:
        """The table `name`, with at least the columns `wanted` that it has, without pandas."""
        del wanted
        return self._table(name)

    @property
    def qdiscs(self) -> list[dict[str, Any]]:
        """The disciplines at the end, as in `tc -s -j qdisc show`."""
        return [dict(each) for each in self.finished.qdiscs]

    @property
    def captures(self) -> dict[str, Path]:
        """None: captures are files."""
        return {}

    def units(self, name: str) -> dict[str, str]:
        """The units of the table `name`, by column."""
        return {name: unit for name, _, unit in self._table(name).columns if unit is not None}

    def _table(self, name: str) -> _core.Table:
        if name not in self.finished.tables:
            there = ", ".join(f"`{table}`" for table in self.finished.tables)
            raise NotResults(f"`{self.path}` has no table `{name}`\n  hint: it has {there}")
        return self.finished.tables[name]


@dataclass(frozen=True)
class MemoryStore:
    """What a sweep writes to instead of a results folder."""

    plan: ExperimentPlan
    damaged: dict[str, str] = field(default_factory=dict)
    kept: dict[str, RunInMemory] = field(default_factory=dict)

    def write(self, run: RunPlan, finished: Finished) -> None:
        """Keeps a finished run."""
        manifest = manifest_of(self.plan, run, finished)
        self.kept[run.name] = RunInMemory(Path(run.name), manifest, finished.summary, finished=finished)

    def write_failure(self, run: RunPlan, status: Status, error: str, trace: str | None = None) -> None:
        """Nothing: the outcome of the run has the error."""

    def results(self) -> Results:
        """The finished runs in the order of the plan."""
        runs = [self.kept[run.name] for run in self.plan.runs if run.name in self.kept]
        return Results(Path(self.plan.title), self.plan.title, self.plan.axes, runs)
