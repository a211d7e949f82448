"""Reads a run folder of the kernel's Wi-Fi campaign: `meta.json`, `flows.csv.gz`, `tcpinfo.csv.gz`, `wifi.json` …

The campaign is not part of the repository; `extract` reads it once and writes `tests/data/wifi`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from conformance.wifi.experiment import Experiment, download_name, upload_name
from conformance.wifi.measures import Measures, Ppdus, Tables, Window, measure
from conformance.wired.campaign import TCP_INFO_COLUMNS

FAMILIES = ("check", "wifi", "wifi_inst")
DRIVER = "TBW"
"""The variable with the parameters of the driver's module."""
FIRST_DOWNLOAD = 10
"""Flows from here on are downloads."""
ACCESS_POINT = "0"


def run_folders(root: Path) -> Iterator[Path]:
    for family in FAMILIES:
        yield from sorted(path.parent for path in (root / family).glob("*/meta.json"))


def read_experiment(folder: Path) -> Experiment:
    environment = {key: str(value) for key, value in json.loads((folder / "meta.json").read_text())["env"].items()}
    words = ((word.split("=")[0], word.split("=")[1]) for word in environment.pop(DRIVER, "").split())
    return Experiment(folder.parent.name, folder.name, environment, dict(words))


def read_measures(folder: Path, run: Experiment) -> Measures:
    return measure(read_tables(folder), Window(run.warmup_s, run.duration_s))


def read_tables(folder: Path) -> Tables:
    info = read_csv(folder / "tcpinfo.csv.gz")
    return Tables(
        flows=named(pd.read_csv(folder / "flows.csv.gz")),
        tcp_info=None if info is None else named(info.rename(columns=TCP_INFO_COLUMNS)),
        ping=read_csv(folder / "ping.csv.gz"),
        ppdus=ppdus(json.loads((folder / "wifi.json").read_text())),
    )


def read_csv(path: Path) -> pd.DataFrame | None:
    return pd.read_csv(path) if path.exists() else None


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the names of flows in the twin."""
    names = {number: upload_name(number) for number in range(FIRST_DOWNLOAD)}
    names |= {FIRST_DOWNLOAD + number: download_name(number) for number in range(FIRST_DOWNLOAD)}
    return table.assign(flow=table["flow"].map(names))


def ppdus(radios: dict[str, dict[str, int]]) -> dict[str, Ppdus]:
    """PPDUs by direction; device 0 is the access point."""
    totals = {"up": Ppdus(0, 0, 0), "down": Ppdus(0, 0, 0)}
    for device, counts in radios.items():
        direction = "down" if device == ACCESS_POINT else "up"
        before = totals[direction]
        totals[direction] = Ppdus(
            before.sent + counts["txops"], before.collided + counts["coll"], before.mpdus + counts["mpdus"]
        )
    return totals
