"""Runs the twin of a kernel run on the simulator; its tables come in the campaign's time (0 = start of the flows)."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa

from conformance.wifi.experiment import LEAD_S, Experiment, twin
from conformance.wifi.measures import Measures, Ppdus, Tables, Window, measure
from conformance.wired.simulate import core


@dataclass(frozen=True)
class Simulated:
    """What the simulator made of an experiment: figures, or why there are none."""

    experiment: Experiment
    measures: Measures | None
    failure: str | None
    cpu_s: float


def not_simulated(run: Experiment) -> str | None:
    """Why this run is skipped, if it is."""
    if "CVOLD" in run.environment:
        return "a kernel of two versions: Linux 6.12 with the cwnd validation of 6.0"
    return None


def simulate_all(runs: Sequence[Experiment], jobs: int) -> Iterator[Simulated]:
    """Each in a process of its own, in the order given."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawned) as pool:
        yield from pool.map(simulate, runs)


def simulate(run: Experiment) -> Simulated:
    """One run and its figures; a run that fails says so in its row instead of ending the comparison."""
    try:
        tables, cost = simulated_tables(run)
    except (ValueError, RuntimeError) as error:
        return Simulated(run, None, str(error), 0.0)
    window = Window(run.warmup_s, run.duration_s)
    return Simulated(run, measure(in_campaign_terms(tables, window), window), None, cost["cpu_s"])


def simulated_tables(run: Experiment) -> tuple[dict[str, pd.DataFrame], dict[str, float]]:
    """The tables of the twin, in the time of the campaign, and what it cost."""
    found = core().run(json.dumps(twin(run)), core().Progress())
    tables = {name: pa.ipc.open_stream(stream).read_pandas() for name, stream in found["tables"].items()}
    return {name: table.assign(t=table["t"] - LEAD_S) for name, table in tables.items()}, found["cost"]


def in_campaign_terms(tables: dict[str, pd.DataFrame], window: Window) -> Tables:
    return Tables(tables["flows"], tables.get("tcp_info"), tables.get("ping"), ppdus(tables["wifi"], window))


def ppdus(air: pd.DataFrame, window: Window) -> dict[str, Ppdus]:
    """By direction: what the access point sent, and what was sent to it."""
    inside = air[(air["t"] >= window.start_s) & (air["t"] < window.end_s)]
    downwards = inside["from"].astype(str) == "R"
    return {"up": counted(inside[~downwards]), "down": counted(inside[downwards])}


def counted(air: pd.DataFrame) -> Ppdus:
    alone = air[air["colliders"] == 0]
    return Ppdus(sent=len(alone), collided=len(air) - len(alone), mpdus=int(alone["mpdus"].sum()))
