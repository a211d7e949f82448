"""The golden table of the kernel campaign, `tests/data/wired`.

`runs.csv`: a row per run, its settings and its figures. `traces.parquet`: `TCP_INFO` of a few runs, each 100 ms.
Both carry their units: the CSV in its second line, the Parquet file in the metadata of its fields (`unit`).
"""

from __future__ import annotations

import csv
import math
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from conformance.judge import Figures, Run
from conformance.wired.experiment import Experiment
from conformance.wired.measures import UNITS

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "data" / "wired"
RUNS, TRACES = "runs.csv", "traces.parquet"
EXPERIMENT_UNITS = {"duration_s": "s", "base_rtt_us": "us", "stagger_ms": "ms"}
TRACE_UNITS = {
    "run": "",
    "t": "s",
    "flow": "",
    "snd_cwnd": "segments",
    "snd_ssthresh": "segments",
    "rtt": "us",
    "pacing_rate": "B/s",
    "unacked": "segments",
    "wmem_alloc": "B",
    "bytes_acked": "B",
    "total_retrans": "segments",
}


def write_runs(path: Path, runs: list[Run[Experiment]]) -> None:
    names = [*(field.name for field in fields(Experiment)), *UNITS]
    units = EXPERIMENT_UNITS | UNITS
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerow(["# unit", *(units.get(name, "") for name in names[1:])])
        writer.writerows([as_text(value) for value in row_of(run).values()] for run in runs)


def row_of(run: Run[Experiment]) -> dict[str, object]:
    return asdict(run.experiment) | {name: run.kernel[name] for name in UNITS}


def as_text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def read_runs(folder: Path = FOLDER) -> list[Run[Experiment]]:
    with (folder / RUNS).open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["family"] != "# unit"]
    return [Run(experiment_of(row), figures_of(row)) for row in rows]


def experiment_of(row: dict[str, str]) -> Experiment:
    return Experiment(
        family=row["family"],
        name=row["name"],
        seed=int(row["seed"]),
        cc=row["cc"],
        bottleneck=row["bottleneck"],
        child=row["child"],
        small_queue=row["small_queue"],
        flows=int(row["flows"]),
        duration_s=int(row["duration_s"]),
        base_rtt_us=int(row["base_rtt_us"]),
        stagger_ms=int(row["stagger_ms"]),
        extras=tuple(row["extras"].split()),
    )


def figures_of(row: dict[str, str]) -> Figures:
    counts = {name: int(row[name]) for name in ("ping_lost", "retransmits", "drops")}
    return {name: float(row[name] or "nan") for name in UNITS} | counts


def write_traces(path: Path, traces: pd.DataFrame) -> None:
    """Writes a compressed Parquet file with the unit of each column."""
    table = pa.Table.from_pandas(traces[list(TRACE_UNITS)], preserve_index=False)
    schema = pa.schema([field.with_metadata({"unit": TRACE_UNITS[field.name]}) for field in table.schema])
    pq.write_table(table.cast(schema), path, compression="zstd", compression_level=19)


def read_trace(key: str, folder: Path = FOLDER) -> pd.DataFrame | None:
    """`TCP_INFO` of one run; None if it is not in the repository."""
    trace = pq.read_table(folder / TRACES, filters=[("run", "=", key)]).to_pandas()
    return None if trace.empty else trace
