"""Calls and pages of a run in Flent's form.

`VoIP` is the stream from the first host to the second: each datagram that arrived with its one-way delay, number and
size, and per interval `VoIP::bitrate` (kbit/s), `VoIP::delay` (mean, ms), `VoIP::jitter` (mean difference of the
delays of datagrams that follow each other, ms) and `VoIP::loss` (datagrams sent in the interval that never arrived).
`HTTP latency` is the load time of each page at the time it was complete, where Flent's `http-getter` has the time for
its list of addresses.   [flent tests/voip.conf, http.conf, DitgRunner]
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.resolved import Udp
from tailback.results import RunResult

CALL = "VoIP"
PAGES = "HTTP latency"

Frames: TypeAlias = dict[str, pd.DataFrame]
"""Rows by series: a column `t` in s of the run, `val`, and more of the samples that are not of an interval."""


def call(run: RunResult, name: str) -> pd.DataFrame:
    """The datagrams of the stream `name` that arrived, in the order of their arrival."""
    (stream,) = (flow for flow in run.scenario.traffic if flow.name == name and isinstance(flow, Udp))
    table = run.table("datagrams")
    rows = table[table["flow"] == name]
    sent = rows["t"] - rows["delay_ms"] / 1e3 - stream.start_ns / 1e9
    numbers = np.rint(sent / (stream.gap_ns / 1e9)).astype(int)
    return pd.DataFrame({"t": rows["t"], "val": rows["delay_ms"], "seq": numbers, "size": stream.size})


def per_interval(run: RunResult, name: str, step: float) -> Frames:
    """The series of the stream `name` that have a value per interval; delay and jitter where something arrived."""
    (stream,) = (flow for flow in run.scenario.traffic if flow.name == name and isinstance(flow, Udp))
    arrived = call(run, name)
    bins = round(run.scenario.duration_ns / 1e9 / step)
    ends = (np.arange(bins) + 1) * step
    places = _places(arrived["t"], step, bins)
    counts = np.bincount(places, minlength=bins)
    some = counts > 0
    delays = np.bincount(places, arrived["val"], bins)[some] / counts[some]
    changes = arrived["val"].diff().abs().fillna(0.0)
    jitters = np.bincount(places, changes, bins)[some] / counts[some]
    # Those that the longest delay carries past the end are not lost.
    end_ns = run.scenario.duration_ns - round(float(arrived["val"].max() if len(arrived) else 0.0) * 1e6)
    due = -(-(min(stream.stop_ns, end_ns) - stream.start_ns) // stream.gap_ns)
    missing = np.setdiff1d(np.arange(max(0, due)), arrived["seq"])
    lost = np.bincount(_places(stream.start_ns / 1e9 + missing * stream.gap_ns / 1e9, step, bins), minlength=bins)
    return {
        f"{CALL}::bitrate": pd.DataFrame({"t": ends, "val": counts * stream.size * 8 / 1e3 / step}),
        f"{CALL}::delay": pd.DataFrame({"t": ends[some], "val": delays}),
        f"{CALL}::jitter": pd.DataFrame({"t": ends[some], "val": jitters}),
        f"{CALL}::loss": pd.DataFrame({"t": ends, "val": lost.astype(np.float64)}),
    }


def pages(run: RunResult) -> pd.DataFrame:
    """The load time of each page that was loaded to the end, when it was."""
    objects = run.table("objects")
    loaded = objects.groupby("page", observed=True, sort=False).agg(
        t=("t", "first"), val=("loaded_ms", "max"), there=("loaded_ms", "count"), all=("object", "size")
    )
    loaded = loaded[loaded["there"] == loaded["all"]]
    return pd.DataFrame({"t": loaded["t"] + loaded["val"] / 1e3, "val": loaded["val"]}).sort_values("t")


def _places(times: npt.ArrayLike, step: float, bins: int) -> npt.NDArray[np.int64]:
    return np.clip((np.asarray(times, dtype=np.float64) / step).astype(np.int64), 0, bins - 1)
