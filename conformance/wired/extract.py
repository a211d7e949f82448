"""Makes the golden table from the kernel campaign.

    python -m conformance.wired.extract CAMPAIGN tests/data/wired

Each wired run has a row, if its twin has the shapers in the output of `tc`; `TRACED` runs also have their `TCP_INFO`.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from conformance.judge import Run
from conformance.wired import golden
from conformance.wired.campaign import read_experiment, read_tables, run_folders, shaper_differences
from conformance.wired.experiment import Experiment, twin
from conformance.wired.measures import WARMUP_S, measure

FAMILIES = ("pcap", "wired", "wired_hzburst")
TRACED = (
    "pcap/cubic-L10M-pfifo-no-n1",
    "pcap/reno-L10M-pfifo-std-n1",
    "wired/reno-L100M-pfifo-std-n4",
    "wired/reno-L100M-pfifo-std-n1",
    "wired/reno-L100M-pfifo-std-n4-stag0.1",
    "wired/reno-L100M-pfifo-no-n4",
    "wired/reno-R10M-pfifo-std-n1",
    "wired/reno-R100M-pfifo-std-n4",
    "wired/reno-LR1000M-pfifo-std-n4",
    "wired/cubic-L10M-pfifo-std-n1",
    "wired/cubic-L100M-pfifo-std-n4",
    "wired/cubic-L100M-pfifo-x16-n4",
    "wired/cubic-L100M-pfifo-no-n4",
    "wired/cubic-R10M-pfifo-std-n1",
    "wired/cubic-R100M-pfifo-std-n1",
    "wired/cubic-R100M-fq_codel-std-n4",
    "wired/cubic-LR1000M-fq_codel-std-n4",
    "wired/bbr-L100M-pfifo-std-n4",
    "wired/bbr-L100M-pfifo-no-n1",
    "wired/bbr-R10M-pfifo-std-n1",
    "wired/bbr-R100M-pfifo-std-n4",
    "wired/bbr-R10M-fq_codel-std-n4",
    "wired/bbr-LR1000M-fq_codel-std-n4",
)


def golden_runs(campaign: Path) -> list[Run[Experiment]]:
    """The runs that are longer than the warm-up."""
    experiments = {folder: read_experiment(folder) for folder in run_folders(campaign, FAMILIES)}
    return [golden_run(folder, found) for folder, found in experiments.items() if found.duration_s > WARMUP_S]


def golden_run(folder: Path, experiment: Experiment) -> Run[Experiment]:
    differences = shaper_differences(folder, twin(experiment))
    if differences:
        raise SystemExit(f"{folder}: the twin is not what `tc` shows, correct experiment.py: {differences}")
    tables = read_tables(folder)
    return Run(experiment, asdict(measure(tables, experiment.flows, experiment.duration_s)))


def trace(root: Path, key: str) -> pd.DataFrame:
    info = read_tables(root / key).tcp_info
    return info.assign(run=key)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make tests/data/wired from the kernel campaign.")
    parser.add_argument("campaign", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    runs = golden_runs(arguments.campaign)
    golden.write_runs(arguments.folder / golden.RUNS, runs)
    traces = pd.concat([trace(arguments.campaign, key) for key in TRACED])
    golden.write_traces(arguments.folder / golden.TRACES, traces)
    print(f"{len(runs)} runs, {len(traces)} samples of {len(TRACED)} runs")


if __name__ == "__main__":
    main()
