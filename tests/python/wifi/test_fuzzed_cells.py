"""Any cell that the experiment file can describe runs, repeats itself, and shows sound rows of the air."""

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from properties import cases
from tailback.algorithms import CoreRegistry
from tailback.backends.sim import Sim
from tailback.scenario import loads

STANDARDS = {
    "802.11n": (["20MHz", "40MHz"], ["400ns", "800ns"], 31),
    "802.11ac": (["20MHz", "40MHz", "80MHz", "160MHz"], ["400ns", "800ns"], 8),
    "802.11ax": (["20MHz", "80MHz", "160MHz"], ["800ns", "1600ns", "3200ns"], 11),
}
#: Combinations that 802.11ac leaves out have 6 or more; these streams have none below.
STREAMS_OF_AC = 2
DRIVERS = [
    *(row.name for row in CoreRegistry().drivers),
    "ath10k amsdu 3",
    "ath9k slots 1",
    "ath9k rts 500b",
    "ath9k retries 2",
]


@st.composite
def cells(draw: st.DrawFn) -> dict[str, Any]:
    standard = draw(st.sampled_from(sorted(STANDARDS)))
    widths, guards, most = STANDARDS[standard]
    stations = ["s1", "s2", "s3"][: draw(st.integers(1, 3))]
    cell: dict[str, Any] = {
        "wifi": {"ap": "ap", "stations": stations},
        "standard": standard,
        "width": draw(st.sampled_from(widths)),
        "guard": draw(st.sampled_from(guards)),
        "mcs": {station: draw(st.integers(0, most)) for station in stations},
        "driver": {name: draw(st.sampled_from(DRIVERS)) for name in ["ap", *stations]},
        "rate": {station: draw(st.sampled_from(["fixed", "minstrel"])) for station in stations},
        "loss": {station: draw(st.sampled_from(["0%", "2%", "40%", "100%"])) for station in stations},
        "edca": draw(st.sampled_from(["station", {"ap": "hostapd"}, {"be": {"txop": "2528us"}}])),
        "rts": draw(st.booleans()),
        "encryption": draw(st.sampled_from(["open", "ccmp"])),
    }
    if standard != "802.11n":
        cell["streams"] = draw(st.integers(1, STREAMS_OF_AC))
    if standard == "802.11n" and draw(st.booleans()):
        cell |= {"band": "2.4GHz", "beacons": "1mbit"}
    if draw(st.booleans()):
        cell["snr" if draw(st.booleans()) else "distance"] = {"s1": draw(st.sampled_from(["12", "40"]))}
        cell = {key: _with_unit(key, value) for key, value in cell.items()}
    if len(stations) > 1 and draw(st.booleans()):
        cell["hidden"] = [["s1", "s2"]]
    return cell


def _with_unit(key: str, value: Any) -> Any:
    unit = {"snr": "dB", "distance": "m"}.get(key)
    return value if unit is None else {station: f"{number}{unit}" for station, number in value.items()}


def run(cell: dict[str, Any], seed: int) -> dict[str, pa.Table]:
    stations = cell["wifi"]["stations"]
    links = [cell, {"ends": ["ap", "server"], "rate": "1gbit", "delay": "100us"}]
    traffic = [{"tcp": f"{station} -> server"} for station in stations]
    traffic += [{"tcp": "server -> s1", "name": "back"}, {"ping": "s1 -> server", "interval": "10ms"}]
    keys = {"links": links, "traffic": traffic, "duration": "300ms", "measure": {"warmup": "0s"}, "seed": seed}
    text = f"links: {links!r}\ntraffic: {traffic!r}\n" + "".join(
        f"{key}: {value!r}\n" for key, value in keys.items() if key not in ("links", "traffic")
    )
    sim = Sim()
    scenario = loads(text.replace("True", "true").replace("False", "false")).runs()[0].scenario
    return {name: table.to_arrow() for name, table in sim.run(scenario, sim.new_progress()).tables.items()}


@settings(max_examples=cases(30))
@given(cells(), st.integers(1, 1000))
def test_any_cell_runs_and_shows_sound_rows(cell: dict[str, Any], seed: int) -> None:
    tables = run(cell, seed)
    air = tables["wifi"].to_pandas()
    assert (air["received"] <= air["mpdus"]).all()
    assert (air["mpdus"] >= 1).all()
    assert (air["duration_us"] <= 5484).all()
    assert (air.loc[air["colliders"] > 0, "received"] == 0).all()
    assert air["closed_by"].isin(["empty_queue", "frame_limit", "byte_limit", "duration", "window"]).all()
    again = run(cell, seed)
    assert all(tables[name].equals(again[name]) for name in tables)
