"""One complete run of an experiment, as analyses and figures read it, whether it is on disk or in memory."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _core
from tailback.resolved import Record, Scenario
from tailback.results import tables

if TYPE_CHECKING:
    import pandas as pd
    import polars

REPETITION = "repetition"
"""Column with the number of the repetition, in addition to the axes."""


class Tables(ABC):
    """The tables of a run, or of all runs of an experiment."""

    @abstractmethod
    def table(self, name: str) -> "pd.DataFrame":
        """The table `name` of `docs/tables.md`."""

    @functools.cached_property
    def flows(self) -> "pd.DataFrame":
        """Bytes read by the receiving applications, by flow and bin."""
        return self.table("flows")

    @functools.cached_property
    def tcp_info(self) -> "pd.DataFrame":
        """Samples of the sending sockets, as shown by `ss -ti`."""
        return self.table("tcp_info")

    @functools.cached_property
    def ping(self) -> "pd.DataFrame":
        """One row per echo request."""
        return self.table("ping")

    @functools.cached_property
    def qdisc(self) -> "pd.DataFrame":
        """Samples of the counters of queue disciplines, as in `tc -s qdisc`."""
        return self.table("qdisc")

    @functools.cached_property
    def events(self) -> "pd.DataFrame":
        """Drops, marks and changes of state."""
        return self.table("events")


@dataclass(frozen=True)
class RunResult(Tables):
    """One complete run, wherever it is: on disk ([folder](folder.py)) or in memory ([memory](memory.py))."""

    path: Path
    """Its folder; of a run in memory a name for messages."""
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]

    def __repr__(self) -> str:
        axes = "".join(f", {axis}: {value}" for axis, value in self.axes.items())
        return f"<{type(self).__name__} {self.path}: repetition {self.repetition}{axes}>"

    @property
    def name(self) -> str:
        """The name of the run, which is that of its folder."""
        return self.path.name

    @property
    def axes(self) -> dict[str, str]:
        """Label by axis."""
        return dict(self.manifest["axes"])

    @property
    def labels(self) -> dict[str, str]:
        """Label by axis, including the repetition."""
        return {**self.axes, REPETITION: str(self.repetition)}

    @property
    def repetition(self) -> int:
        """The number of the repetition, starting at 1."""
        return int(self.manifest["repetition"])

    @property
    def seed(self) -> int:
        """The seed of its random streams."""
        return int(self.manifest["seed"])

    @property
    def backend(self) -> str:
        """The backend that ran it."""
        return str(self.manifest["backend"])

    @property
    @abstractmethod
    def scenario(self) -> Scenario:
        """The resolved scenario; raises `NotResults` if it was written by an incompatible version."""

    @property
    def record(self) -> Record:
        """What it recorded."""
        return self.scenario.record

    @property
    def window_ns(self) -> tuple[int, int]:
        """The measurement window: start and end in ns since the start of the run."""
        start, end = self.manifest["measure"]["window_ns"]
        return int(start), int(end)

    @abstractmethod
    def has(self, table: str) -> bool:
        """Whether the run has this table."""

    @abstractmethod
    def columns(self, name: str, wanted: Sequence[str]) -> _core.Table:
        """As `table`, at least those of the columns `wanted` that it has, without pandas; for many runs at a time."""

    def polars(self, name: str) -> "polars.DataFrame":
        """The table `name` as a polars frame."""
        return tables.to_polars(self.table(name))

    @property
    @abstractmethod
    def qdiscs(self) -> list[dict[str, Any]]:
        """The disciplines at the end, as in `tc -s -j qdisc show`; empty in old results."""

    @property
    @abstractmethod
    def captures(self) -> Mapping[str, Path]:
        """The pcapng files of the run, by host."""

    @abstractmethod
    def units(self, name: str) -> dict[str, str]:
        """The units of the table `name`, by column."""
