"""Two stations download through one access point: a radio is one device, with one root discipline or none."""

import functools
from pathlib import Path

import pandas as pd
import pytest

from tailback.backends.sim import Sim
from tailback.scenario import load

FILE = Path(__file__).parents[3] / "experiments" / "wifi-downloads.yaml"
SHORT = ("duration=11s", "repeat=2", "measure.warmup=1s")
FROM_S = 2


@functools.cache
def runs() -> dict[tuple[str, int], dict[str, pd.DataFrame]]:
    """The tables of each run, by setting of the access point and repetition."""
    sim = Sim()
    found = {}
    for run in load(FILE, SHORT).runs():
        tables = sim.run(run.scenario, sim.new_progress()).tables
        found[run.axes["access"], run.repetition] = {
            name: table.to_arrow().to_pandas() for name, table in tables.items()
        }
    return found


def share_of_the_first(flows: pd.DataFrame) -> float:
    sent = flows[flows["t"] > FROM_S].groupby("flow", observed=True)["bytes"].sum()
    return float(sent["one"] / (sent["one"] + sent["two"]))


@pytest.mark.parametrize("access", ["pfifo_fast", "fq_codel", "ath9k"])
@pytest.mark.parametrize("repetition", [1, 2])
def test_two_stations_share_the_device_and_neither_is_favoured_by_its_number(access: str, repetition: int) -> None:
    assert share_of_the_first(runs()[access, repetition]["flows"]) == pytest.approx(0.5, abs=0.25)


def test_the_access_point_has_one_root_discipline_and_it_drops() -> None:
    queues = runs()["pfifo_fast", 1]["qdisc"]
    assert set(queues["device"]) - {"access -> server", "server -> access"} == {
        "access -> air",
        "one -> air",
        "two -> air",
    }
    assert queues.loc[queues["device"] == "access -> air", "dropped"].max() > 0


def test_above_queues_per_station_the_radio_has_none() -> None:
    assert not [device for device in runs()["ath9k", 1]["qdisc"]["device"] if device.endswith("-> air")]
