"""Runs the twin of a kernel run on the simulator; its tables come in the campaign's time (0 = start of the flows)."""

from __future__ import annotations

import functools
import importlib
import json
from dataclasses import asdict
from typing import Any, Protocol, cast

import pandas as pd
import pyarrow as pa

from conformance.judge import Figures
from conformance.wired.experiment import LEAD_S, Experiment, flow_name, twin
from conformance.wired.measures import Tables, measure


class Core(Protocol):
    """What of the compiled simulator is used here."""

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
    """Why this run is not simulated, if it is not."""
    if experiment.cc not in congestion_controls():
        return f"no congestion control `{experiment.cc}` in the simulator"
    return None


def simulate(experiment: Experiment) -> tuple[Figures, float]:
    """The figures of the twin, and the seconds of the processor that it took."""
    tables, cost = simulated_tables(experiment)
    return asdict(measure(tables, experiment.flows, experiment.duration_s)), cost["cpu_s"]


def simulated_tables(experiment: Experiment) -> tuple[Tables, dict[str, float]]:
    """The tables of the twin, and what it cost."""
    return scenario_tables(json.dumps(twin(experiment)), experiment.flows)


def scenario_tables(scenario: str, flows: int) -> tuple[Tables, dict[str, float]]:
    """The tables of a scenario with that many uploads, and what it cost."""
    found = core().run(scenario, core().Progress())
    tables = {name: pa.ipc.open_stream(stream).read_pandas() for name, stream in found["tables"].items()}
    return in_campaign_terms(tables, flows), found["cost"]


def in_campaign_terms(tables: dict[str, pd.DataFrame], flows: int) -> Tables:
    """Times counted from the start of the flows, flows counted from 0."""
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
    """Counters of the roots at the end of the run; a root counts what its child dropped."""
    roots = counters[counters["depth"] == 0]
    return int(roots.groupby("device", observed=True)["dropped"].last().sum())


def core() -> Core:
    """The compiled simulator; imported late, because the golden table is of use without it."""
    return cast(Core, importlib.import_module("tailback._core"))
