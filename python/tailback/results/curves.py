"""Quantities of a run over time, in bins: goodput of all flows together, means over pings or flows, the longest queue,
and drops.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tailback.analysis import Window
from tailback.analysis.metrics import MICROSECONDS_PER_MS, Samples, total_bins
from tailback.analysis.table import Table
from tailback.analysis.window import NANOSECONDS
from tailback.results import station_queues
from tailback.results.run import RunResult
from tailback.results.sampled import over_time

Points: TypeAlias = tuple[Samples, Samples]
"""Times (s, ends of bins) in order, and the value of each."""


def goodput(run: RunResult, width_ns: int) -> Points:
    """Of all flows together, in Mbit/s."""
    flows = run.columns("flows", ("t", "flow", "bytes"))
    return total_bins(flows, Window(0, run.scenario.duration_ns), width_ns)


def ping(run: RunResult, width_ns: int) -> Points:
    """The mean in ms."""
    return mean(Table.of(run.columns("ping", ("t", "rtt_ms"))), "rtt_ms", width_ns)


def rtt(run: RunResult, width_ns: int) -> Points:
    """The mean in ms over the flows."""
    samples = over_time(run)
    ends, means = mean(samples.where(samples.numbers("rtt") > 0), "rtt", width_ns)
    return ends, means / MICROSECONDS_PER_MS


def cwnd(run: RunResult, width_ns: int) -> Points:
    """The mean in segments over the flows."""
    return mean(over_time(run), "snd_cwnd", width_ns)


def queue(run: RunResult, width_ns: int) -> Points:
    """The longest of all root disciplines and of mac80211's queues at each radio at each sample, in packets; the mean
    over the samples of a bin.
    """
    roots = _roots(run, "backlog_packets")
    at_radios = [(each.t, each.packets) for each in station_queues.waiting(run).values()]
    return _longest([(roots.numbers("t"), roots.numbers("backlog_packets")), *at_radios], width_ns)


def _longest(queues: list[Points], width_ns: int) -> Points:
    """The mean of the longest over the samples of a bin."""
    t, packets = (np.concatenate(parts) for parts in zip(*queues, strict=True))
    times, places = np.unique(t, return_inverse=True)
    longest = np.full(len(times), -np.inf)
    np.maximum.at(longest, places, np.nan_to_num(packets, nan=-np.inf))
    return mean(Table.of({"t": times, "longest": longest}), "longest", width_ns)


def drops(run: RunResult, width_ns: int) -> Points:
    """Packets that all root disciplines together dropped in each bin."""
    roots = _roots(run, "dropped")
    ends = _ends(roots, width_ns)
    found, places = np.unique(ends, return_inverse=True)
    device = roots.words("device").codes
    counts = np.zeros(len(found))
    for each in np.unique(device):
        its = device == each
        total = np.nan_to_num(roots.numbers("dropped")[its])
        np.add.at(counts, places[its], np.diff(total, prepend=0.0))
    return found * (width_ns / NANOSECONDS), counts


def mean(samples: Table, column: str, width_ns: int) -> Points:
    """The mean over all flows or pings and samples in each bin."""
    values = samples.numbers(column)
    known = np.isfinite(values)
    found, places = np.unique(_ends(samples, width_ns)[known], return_inverse=True)
    sums, counts = np.bincount(places, values[known]), np.bincount(places)
    return found * (width_ns / NANOSECONDS), sums / counts


def side_by_side(repetitions: list[Points]) -> tuple[Samples, Samples]:
    """All times, and for each a row with the values of the repetitions, NaN where one has none."""
    times = np.unique(np.concatenate([ends for ends, _ in repetitions]))
    wide = np.full((len(times), len(repetitions)), np.nan)
    for column, (ends, values) in enumerate(repetitions):
        wide[np.searchsorted(times, ends), column] = values
    return times, wide


def _ends(samples: Table, width_ns: int) -> Samples:
    """The number of the bin of each sample, from 1."""
    ends: Samples = np.maximum(np.ceil(samples.numbers("t") / (width_ns / NANOSECONDS) - 1e-9), 1)
    return ends


def _roots(run: RunResult, column: str) -> Table:
    samples = Table.of(run.columns("qdisc", ("t", "device", "depth", column)))
    return samples.where(samples.numbers("depth") == 0)
