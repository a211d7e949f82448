"""Makes the golden table from the kernel's Wi-Fi campaign.

python -m conformance.wifi.extract CAMPAIGN tests/data/wifi/runs.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from conformance.judge import Run
from conformance.wifi import golden
from conformance.wifi.campaign import read_experiment, read_measures, run_folders
from conformance.wifi.experiment import Experiment


def campaign_runs(campaign: Path) -> Iterator[Run[Experiment]]:
    for folder in run_folders(campaign):
        run = read_experiment(folder)
        yield Run(run, asdict(read_measures(folder, run)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Make tests/data/wifi from the kernel's Wi-Fi campaign.")
    parser.add_argument("campaign", type=Path)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    runs = list(campaign_runs(arguments.campaign))
    golden.write_runs(arguments.file, runs)
    print(f"{len(runs)} runs")


if __name__ == "__main__":
    main()
