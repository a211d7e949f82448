"""Simulates the twin of a kernel run; the time of its tables is that of the campaign (0 = start of the flows)."""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import asdict
from typing import Any, Protocol, cast

import pandas as pd

from conformance.judge import Figures
from conformance.wired.experiment import LEAD_S, Experiment, flow_name, twin
from conformance.wired.measures import Tables, measure


class Core(Protocol):
    """The functions of the compiled simulator that are used here."""

    def congestion_controls(self) -> list[dict[str, Any]]:
        """Rows of the registry."""

    def Progress(self) -> object:  # noqa: N802 - a class, seen as its constructor
        """Progress of one run."""

    def run(self, scenario: str, progress: object) -> dict[str, Any]:
        """Tables and cost of one run."""


@functools.cache
def congestion_controls() -> frozenset[str]:
    """Names in the simulator's registry."""
    return frozenset(row["name"] for row in core().congestion_controls())


def left_out(experiment: Experiment) -> str | None:
    """The reason why a run is not simulated, if so."""
    if experiment.cc not in congestion_controls():
        return f"no congestion control `{experiment.cc}` in the simulator"
    return None


def simulate(experiment: Experiment) -> tuple[Figures, float]:
    """The figures of the twin, and its CPU time in s."""
    tables, cost = simulated_tables(experiment)
    return asdict(measure(tables, experiment.flows, experiment.duration_s)), cost["cpu_s"]


def simulated_tables(experiment: Experiment) -> tuple[Tables, dict[str, float]]:
    """The tables of the twin, and its cost."""
    return scenario_tables(json.dumps(twin(experiment)), experiment.flows)


def scenario_tables(scenario: str, flows: int) -> tuple[Tables, dict[str, float]]:
    """The tables of a scenario with a number of uploads, and its cost."""
    found = core().run(scenario, core().Progress())
    tables = {name: table.to_arrow().to_pandas() for name, table in found["tables"].items()}
    return in_campaign_terms(tables, flows), found["cost"]


def in_campaign_terms(tables: dict[str, pd.DataFrame], flows: int) -> Tables:
    """The tables with times since the start of the flows, and flows numbered from 0."""
    return Tables(
        flows=numbered(shifted(tables["flows"]), flows),
        tcp_info=numbered(shifted(tables["tcp_info"]), flows),
        ping=shifted(tables["ping"]),
        drops=final_drops(tables["qdisc"]),
    )


def shifted(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(t=table["t"] - LEAD_S)


def numbered(table: pd.DataFrame, flows: int) -> pd.DataFrame:
    numbers = {flow_name(index): index for index in range(flows)}
    return table.assign(flow=table["flow"].astype(str).map(numbers))


def final_drops(counters: pd.DataFrame) -> int:
    """Drops of the root disciplines at the end of the run, including those of their children."""
    roots = counters[counters["depth"] == 0]
    return int(roots.groupby("device", observed=True)["dropped"].last().sum())


def core() -> Core:
    """The compiled simulator, imported on demand, because the golden table can be used without it."""
    return cast(Core, importlib.import_module("tailback._core"))
