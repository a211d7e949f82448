"""The Wi-Fi statistics of a run in Flent's form: `wifi_stats_HOST`, a row per interval for each station of an access
point.

`airtime_tx` is the airtime of PPDUs to the station, `airtime_rx` of those from the station, in µs per interval,
including retransmissions and collisions; `avg_aggr_size` is the mean number of MPDUs of the PPDUs to the station.
Stations are identified by name instead of MAC address. [flent tests/wifi_stats.inc]
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tailback.results import RunResult

MEASURES = ("airtime_tx", "airtime_rx", "avg_aggr_size")


@dataclass(frozen=True)
class Air:
    """The statistics of an access point: a column `t` (s), and a column per `(station, measure)`."""

    access_point: str
    stations: tuple[str, ...]
    counted: pd.DataFrame


def airs(run: RunResult, step: float) -> list[Air]:
    """Wi-Fi statistics of each access point in intervals of `step` seconds; 0 where nothing was sent."""
    if not run.has("wifi"):
        return []
    hosts = run.scenario.host_names
    return [
        _air(run, hosts[cell.access_point], tuple(hosts[each.host] for each in cell.stations), step)
        for cell in run.scenario.cells
    ]


def _air(run: RunResult, access_point: str, stations: tuple[str, ...], step: float) -> Air:
    ppdus = run.table("wifi")
    bins = round(run.scenario.duration_ns / 1e9 / step)
    places = np.minimum((ppdus["t"].to_numpy(np.float64) / step).astype(int), bins - 1)
    columns: dict[Any, Any] = {"t": (np.arange(bins) + 1) * step}
    for station in stations:
        sent = ((ppdus["from"] == access_point) & (ppdus["to"] == station)).to_numpy()
        received = ((ppdus["from"] == station) & (ppdus["to"] == access_point)).to_numpy()
        times = ppdus["duration_us"].to_numpy(np.float64)
        mpdus = np.bincount(places[sent], ppdus["mpdus"].to_numpy(np.float64)[sent], bins)
        count = np.bincount(places[sent], minlength=bins)
        columns[station, "airtime_tx"] = np.bincount(places[sent], times[sent], bins)
        columns[station, "airtime_rx"] = np.bincount(places[received], times[received], bins)
        columns[station, "avg_aggr_size"] = mpdus / np.maximum(count, 1)
    return Air(access_point, stations, pd.DataFrame(columns))
