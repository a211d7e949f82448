"""The golden table of the kernel's Wi-Fi campaign, `tests/data/wifi/runs.csv`.

A row per run: its settings as words (`CC=bbr NUP=1 …`), and its figures; the second line has their units.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.judge import Figures, Run
from conformance.wifi.experiment import Experiment
from conformance.wifi.measures import UNITS

FILE = Path(__file__).resolve().parents[2] / "tests" / "data" / "wifi" / "runs.csv"
SETTINGS = ("family", "name", "environment", "cell")
SPACE = "\N{NO-BREAK SPACE}"
"""Represents a space within a word."""


def write_runs(path: Path, runs: Sequence[Run[Experiment]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*SETTINGS, *UNITS])
        writer.writerow(["# unit", "", "", "", *UNITS.values()])
        writer.writerows(row_of(run) for run in runs)


def row_of(run: Run[Experiment]) -> list[str]:
    of, figures = run.experiment, run.kernel
    return [of.family, of.name, as_words(of.environment), as_words(of.cell), *(number(figures[name]) for name in UNITS)]


def as_words(settings: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value.replace(' ', SPACE)}" for key, value in settings.items())


def from_words(words: str) -> dict[str, str]:
    return dict(word.replace(SPACE, " ").split("=") for word in words.split(" ") if word)


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def read_runs(path: Path = FILE) -> list[Run[Experiment]]:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["family"] != "# unit"]
    return [Run(experiment_of(row), figures_of(row)) for row in rows]


def experiment_of(row: Mapping[str, str]) -> Experiment:
    return Experiment(row["family"], row["name"], from_words(row["environment"]), from_words(row["cell"]))


def figures_of(row: Mapping[str, str]) -> Figures:
    return {name: float(row[name] or "nan") for name in UNITS}
