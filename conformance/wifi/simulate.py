"""Simulates the twin of a kernel run; the time of its tables is that of the campaign (0 = start of the flows)."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, replace

import pandas as pd

from conformance.judge import Figures, Repetition
from conformance.wifi.experiment import LEAD_S, Experiment, twin
from conformance.wifi.measures import Ppdus, Tables, Window, measure
from conformance.wired.simulate import core

SEEDS = 6
"""Of the repetitions."""


def left_out(run: Experiment) -> str | None:
    """The reason why a run is not simulated, if so."""
    if "CVOLD" in run.environment:
        return "a kernel of two versions: Linux 6.12 with the cwnd validation of 6.0"
    return None


def simulate(run: Experiment) -> tuple[Figures, float]:
    """The figures of the twin, and its CPU time in s."""
    tables, cost = simulated_tables(run)
    window = Window(run.warmup_s, run.duration_s)
    return asdict(measure(in_campaign_terms(tables, window), window)), cost["cpu_s"]


def repetitions(run: Experiment) -> list[Repetition]:
    """The run with other seeds, which change back-offs, losses and phases."""
    return [Repetition("seeds", functools.partial(_with_seed, run, 100 + seed)) for seed in range(SEEDS)]


def _with_seed(run: Experiment, seed: int) -> Figures:
    return simulate(replace(run, cell={**run.cell, "seed": str(seed)}))[0]


def simulated_tables(run: Experiment) -> tuple[dict[str, pd.DataFrame], dict[str, float]]:
    """The tables of the twin, in the time of the campaign, and its cost."""
    found = core().run(json.dumps(twin(run)), core().Progress())
    tables = {name: table.to_arrow().to_pandas() for name, table in found["tables"].items()}
    return {name: table.assign(t=table["t"] - LEAD_S) for name, table in tables.items()}, found["cost"]


def in_campaign_terms(tables: dict[str, pd.DataFrame], window: Window) -> Tables:
    return Tables(tables["flows"], tables.get("tcp_info"), tables.get("ping"), ppdus(tables["wifi"], window))


def ppdus(air: pd.DataFrame, window: Window) -> dict[str, Ppdus]:
    """The PPDUs by direction: from the access point (`down`) and to it (`up`)."""
    inside = air[(air["t"] >= window.start_s) & (air["t"] < window.end_s)]
    downwards = inside["from"].astype(str) == "R"
    return {"up": counted(inside[~downwards]), "down": counted(inside[downwards])}


def counted(air: pd.DataFrame) -> Ppdus:
    alone = air[air["colliders"] == 0]
    return Ppdus(sent=len(alone), collided=len(air) - len(alone), mpdus=int(alone["mpdus"].sum()))
