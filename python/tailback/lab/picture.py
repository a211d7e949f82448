"""What the page draws of one setting: curves over time, and the row of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis import choosing
from tailback.analysis.cautions import over
from tailback.analysis.intervals import t_intervals
from tailback.analysis.repetitions import means
from tailback.analysis.sockets import HELD, held_in_bins
from tailback.analysis.table import Table
from tailback.analysis.wifi import COLLISIONS, air_in_bins
from tailback.analysis.window import NANOSECONDS
from tailback.resolved import Scenario
from tailback.results import Results, RunResult, curves
from tailback.results.sampled import over_time

MOST_BINS = 240
"""Points of a curve: more are not seen on a screen."""

MOST_FLOWS = 8
"""Flows that have a curve each; of more, only what they do together is drawn."""

MOST_SENDERS = 6
"""Senders of a cell that have a share of its air each; what the others have is added."""

DIGITS = 5


class Drawn(Struct, frozen=True):
    """A quantity over time."""

    title: str
    unit: str
    table: str
    read: Callable[[RunResult, int], curves.Points]
    column: str | None = None
    """The column of `tcp_info` that is drawn for each flow, too."""
    factor: float = 1.0


DRAWN: Mapping[str, Drawn] = {
    "goodput": Drawn("Goodput", "Mbit/s", "flows", curves.goodput),
    "rtt": Drawn("TCP RTT", "ms", "tcp_info", curves.rtt, "rtt", 1e-3),
    "ping": Drawn("Ping", "ms", "ping", curves.ping),
    "cwnd": Drawn("cwnd", "segments", "tcp_info", curves.cwnd, "snd_cwnd"),
    "queue": Drawn("Longest queue", "packets", "qdisc", curves.queue),
    "drops": Drawn("Drops", "packets per bin", "qdisc", curves.drops),
}


def picture(results: Results) -> dict[str, Any]:
    """The document of one setting with all its repetitions."""
    runs = list(results.runs)
    scenario = runs[0].scenario
    width = width_ns(scenario.duration_ns, scenario.record.interval_ns)
    drawn = {name: found for name, each in DRAWN.items() if (found := _curve(each, runs, width)) is not None}
    summaries = [run.summary for run in runs]
    return {
        "title": results.title,
        "seeds": [run.seed for run in runs],
        "duration": scenario.duration_ns / NANOSECONDS,
        "window": [edge / NANOSECONDS for edge in runs[0].window_ns],
        "bin": width / NANOSECONDS,
        "curves": drawn,
        "held": _held(runs[0], width),
        "air": _air(runs[0], width),
        "table": _rows(runs),
        "warnings": [str(each) for each in over([({}, summary) for summary in summaries])],
    }


def width_ns(duration_ns: int, interval_ns: int) -> int:
    """The bins of all curves: whole sampling intervals."""
    return interval_ns * max(1, math.ceil(duration_ns / interval_ns / MOST_BINS))


def _curve(each: Drawn, runs: Sequence[RunResult], width: int) -> dict[str, Any] | None:
    having = [run for run in runs if run.has(each.table)]
    if not having:
        return None
    times, wide = curves.side_by_side([each.read(run, width) for run in having])
    if not len(times) or not np.isfinite(wide).any():
        return None
    known = ~np.isnan(wide)
    means = np.where(known.any(axis=1), np.nansum(wide, axis=1) / np.maximum(known.sum(axis=1), 1), np.nan)
    middles = times - width / NANOSECONDS / 2
    found: dict[str, Any] = {"title": each.title, "unit": each.unit, "t": numbers(middles), "mean": numbers(means)}
    if len(having) > 1:
        complete = known.all(axis=1)
        ends = np.full((len(times), 2), np.nan)
        if complete.any():
            ends[complete] = t_intervals(wide[complete].T, 0.0)
        found |= {"low": numbers(ends[:, 0]), "high": numbers(ends[:, 1])}
    if each.column is not None:
        found["flows"] = _of_flows(each, having[0], (times, width))
    return found


def _of_flows(each: Drawn, run: RunResult, bins: tuple[npt.NDArray[np.float64], int]) -> dict[str, Any]:
    """The curve of each flow of the first repetition, if they are few."""
    times, width = bins
    samples = over_time(run)
    words = samples.words("flow")
    names = words.present()
    if not 1 < len(names) <= MOST_FLOWS:
        return {}
    found = {}
    for name in names:
        its = samples.where(words.among([name]))
        at, values = curves.mean(Table.of(its), str(each.column), width)
        on = np.full(len(times), np.nan)
        places = np.searchsorted(times, at)
        on[places[places < len(times)]] = values[places < len(times)] * each.factor
        found[name] = numbers(on)
    return found


def _held(run: RunResult, width: int) -> dict[str, Any] | None:
    """What holds each sender of the first repetition, if they are few: shares of each bin in % by cause."""
    wanted = ("t", "flow", "rtt", *HELD.values())
    found = held_in_bins(run.columns("tcp_info", wanted), width) if run.has("tcp_info") else {}
    if not 0 < len(found) <= MOST_FLOWS:
        return None
    flows = {
        flow: {
            "t": (each.ends_ns / NANOSECONDS).tolist(),
            "shares": {cause: shares.round(1).tolist() for cause, shares in each.shares.items() if shares.any()},
        }
        for flow, each in found.items()
    }
    return {"width": width / NANOSECONDS, "flows": flows}


def _air(run: RunResult, width: int) -> dict[str, Any] | None:
    """Who had the air of each channel in the first repetition: shares of each bin in %."""
    scenario = run.scenario
    if not scenario.cells or not run.has("wifi"):
        return None
    wanted = ("t", "from", "duration_us", "colliders")
    shares = air_in_bins(run.columns("wifi", wanted), width, scenario.duration_ns)
    # A collision is not known to be of one channel.
    parts = {channel: _largest(shares, [*hosts, COLLISIONS]) for channel, hosts in channels(scenario).items()}
    ends = [(number + 1) * width / NANOSECONDS for number in range(-(-scenario.duration_ns // width))]
    return {
        "width": width / NANOSECONDS,
        "flows": {channel: {"t": ends, "shares": each} for channel, each in parts.items()},
    }


def channels(scenario: Scenario) -> dict[str, list[str]]:
    """The names of the hosts that are on the air of each channel."""
    found: dict[str, list[str]] = {}
    for cell in scenario.cells:
        hosts = [scenario.hosts[host].name for host in (cell.access_point, *(each.host for each in cell.stations))]
        found.setdefault(cell.channel or cell.name, []).extend(hosts)
    return found


def _largest(shares: Mapping[str, npt.NDArray[np.float64]], names: Sequence[str]) -> dict[str, list[float]]:
    """The shares of those of these that have most; what the others have is added."""
    most = sorted((name for name in names if name in shares), key=lambda name: -float(shares[name].sum()))
    drawn = {name: shares[name] for name in most[:MOST_SENDERS]}
    if rest := most[MOST_SENDERS:]:
        drawn["others"] = np.sum([shares[name] for name in rest], axis=0)
    return {name: each.round(1).tolist() for name, each in drawn.items()}


def _rows(runs: Sequence[RunResult]) -> list[dict[str, Any]]:
    """The numbers of the table, with the ends of their 95 % intervals if there are repetitions."""
    summaries = [run.summary for run in runs]
    columns = [each.column for each in choosing.chosen(summaries)]
    # Not as a frame: to load pandas takes longer than the run.
    (found,) = means([({}, summary) for summary in summaries], columns)
    return [
        {
            "title": column.title,
            "unit": column.unit,
            "better": column.better,
            "mean": number(found.means[column.title].mean),
            "low": number(found.means[column.title].low),
            "high": number(found.means[column.title].high),
        }
        for column in columns
        if number(found.means[column.title].mean) is not None
    ]


def numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Numbers for JSON."""
    return [number(value) for value in values.tolist()]


def number(value: float) -> float | None:
    """A number for JSON, rounded; `None` for NaN and infinity."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
