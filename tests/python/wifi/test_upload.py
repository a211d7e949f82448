"""The included experiment over Wi-Fi: its tables, and the effect of TCP Small Queues on the length of aggregates."""

import functools
from pathlib import Path

import pandas as pd
import pytest

from tailback.analysis import Window
from tailback.analysis.wifi import airtime_share, ampdu_samples
from tailback.backends.sim import Sim
from tailback.scenario import load

FILE = Path(__file__).parents[3] / "experiments" / "wifi-upload.yaml"
SHORT = ("duration=3s", "repeat=1", "measure.warmup=1s", "traffic[0].stop=3s")
WINDOW = Window(2 * 10**9, 3 * 10**9)
PAIRS = [("router", "client")]


@functools.cache
def tables(*overrides: str) -> dict[str, pd.DataFrame]:
    """The tables of the first run."""
    sim = Sim()
    scenario = load(FILE, [*SHORT, *overrides]).runs()[0].scenario
    return {name: table.to_arrow().to_pandas() for name, table in sim.run(scenario, sim.new_progress()).tables.items()}


def mean_size(*overrides: str) -> float:
    return float(ampdu_samples(tables(*overrides)["wifi"], PAIRS, WINDOW)["up"].mean())


def test_aggregates_grow_with_the_small_queue() -> None:
    sizes = [mean_size(f"tsq={tsq}", "cc=bbr") for tsq in ("1ms", "4ms", "8ms")]
    assert sizes == sorted(sizes)
    assert sizes[0] * 1.5 < sizes[1] < sizes[2]
    assert mean_size("tsq=1ms") < mean_size("tsq=4ms")


def test_one_hardware_slot_and_no_aggregation_mean_one_mpdu_each() -> None:
    assert mean_size("tsq=8ms", "links[0].driver={name: ath9k, subframes: 1}") == 1


def test_every_mpdu_on_the_air_arrives_or_is_lost() -> None:
    wifi = tables("tsq=4ms", "links[0].loss=10%")["wifi"]
    sent = wifi[wifi["colliders"] == 0]
    assert (wifi["received"] <= wifi["mpdus"]).all()
    assert (wifi[wifi["colliders"] > 0]["received"] == 0).all()
    assert 1 - sent["received"].sum() / sent["mpdus"].sum() == pytest.approx(0.1, abs=0.01)


def test_ppdus_follow_one_another_except_in_collisions() -> None:
    alone = tables("tsq=4ms")["wifi"]
    ends = alone["t"] + alone["duration_us"] / 1e6
    free = alone["t"].shift(-1) - ends
    assert (free[(alone["colliders"] == 0)].dropna() > 0).all()


def test_one_station_has_all_of_the_airtime() -> None:
    assert airtime_share(tables("tsq=4ms")["wifi"], PAIRS, WINDOW) == {"client": pytest.approx(1)}


def test_a_driver_without_queues_of_its_own_has_a_qdisc_above_it() -> None:
    devices = {driver: set(tables(f"links[0].driver={driver}")["qdisc"]["device"]) for driver in ("ath9k", "ath9k_htc")}
    on_air = {"client -> air", "router -> air"}
    assert devices["ath9k_htc"] - devices["ath9k"] == on_air


def test_a_wired_run_has_no_table_of_the_air() -> None:
    links = "links=[{ends: [client, router], rate: 100mbit}, {ends: [router, server], rate: 1gbit}]"
    wired = load(FILE, [*SHORT, "tsq=1ms", links])
    sim = Sim()
    assert "wifi" not in sim.run(wired.runs()[0].scenario, sim.new_progress()).tables
