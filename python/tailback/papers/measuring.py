"""Helpers for measuring claims: numbers of single runs, and samples by case.

A case is a configuration of the grid. Cases are compared repetition by repetition, because they share seeds.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from tailback.papers.sample import Sample
from tailback.results import Results, RunResult

CLIENT = "client"
"""The host that uploads, in experiments of three nodes."""

SIMULATOR = "sim"

Reader: TypeAlias = Callable[[RunResult], float]
"""Reads one number of a run; raises `KeyError` if the run does not have it."""

Place: TypeAlias = Mapping[str, str]
"""Values of some axes."""


def goodput_mbps(run: RunResult) -> float:
    """Total goodput."""
    return float(run.summary["goodput_mbps"]["total"])


def goodput_up_mbps(run: RunResult) -> float:
    """Goodput of all uploads."""
    return float(run.summary["goodput_mbps"]["up"])


def goodput_down_mbps(run: RunResult) -> float:
    """Goodput of all downloads."""
    return float(run.summary["goodput_mbps"]["down"])


def down_over_up(run: RunResult) -> float:
    """Goodput of the downloads divided by that of the uploads."""
    return goodput_down_mbps(run) / goodput_up_mbps(run)


def ping_ms(run: RunResult) -> float:
    """Median ping."""
    return float(run.summary["ping_ms"]["p50"])


def tcp_rtt_ms(run: RunResult) -> float:
    """Median TCP RTT of all flows."""
    return float(run.summary["tcp_rtt_ms"]["p50"])


def mpdus_up(run: RunResult) -> float:
    """Mean size of the aggregates of stations."""
    return float(run.summary["ampdu_mpdus"]["up"]["mean"])


def held_by(cause: str) -> Reader:
    """Which share of the time, in %, this cause held the flows that the client sends, on average.

    A kernel does not report the small queue: then it is not a number.
    """

    def read(run: RunResult) -> float:
        unknown = cause == "small_queue" and run.manifest.get("backend", SIMULATOR) != SIMULATOR
        if unknown or "held" not in run.summary:
            return math.nan
        uploads = [flow.name for flow in run.scenario.tcp if run.scenario.host_names[flow.source] == CLIENT]
        return float(np.mean([run.summary["held"][name].get(cause, 0.0) for name in uploads]))

    return read


def drops(run: RunResult) -> float:
    """Packets dropped anywhere."""
    return float((run.events["what"] == "drop").sum())


def longest_queue(run: RunResult) -> float:
    """The most packets that were in a queue discipline at once, of all devices."""
    return float(run.qdisc["max_backlog_packets"].max())


def by_repetition(results: Results, place: Place) -> dict[int, RunResult]:
    """The runs of a configuration, by repetition."""
    return {run.repetition: run for run in results.select(**place).runs}


def values(results: Results, place: Place, reader: Reader) -> list[float]:
    """A number for each repetition."""
    return [reader(run) for run in by_repetition(results, place).values()]


def compared(
    results: Results, places: tuple[Place, Place], how: Callable[[RunResult, RunResult], float]
) -> list[float]:
    """Compares two configurations, repetition by repetition."""
    one, other = (by_repetition(results, place) for place in places)
    return [how(one[number], other[number]) for number in sorted(one.keys() & other.keys())]


def ratio(reader: Reader) -> Callable[[RunResult, RunResult], float]:
    """A comparison by the ratio of the first to the second."""
    return lambda one, other: reader(one) / reader(other)


def difference(reader: Reader) -> Callable[[RunResult, RunResult], float]:
    """A comparison by the difference, first minus second."""
    return lambda one, other: reader(one) - reader(other)


def named(place: Place) -> str:
    """The name of a case: its value of the first axis."""
    axis, value = next(iter(place.items()))
    return f"TSQ {value}" if axis == "tsq" else value


def each(quantity: str, results: Results, places: Iterable[Place], reader: Reader) -> Iterator[Sample]:
    """One sample for each configuration."""
    for place in places:
        yield Sample(quantity, named(place), values(results, place, reader))


def places(axis: str, names: str, **fixed: str) -> list[Place]:
    """The configurations with these values of `axis` (separated by spaces), and fixed values of other axes."""
    return [{axis: name, **fixed} for name in names.split()]


def steps(quantity: str, results: Results, ladder: Sequence[Place], reader: Reader) -> Iterator[Sample]:
    """The growth of a number from each configuration to the next, as a ratio."""
    whose = ", ".join(value for axis, value in ladder[0].items() if axis == "cc")
    for lower, upper in pairwise(ladder):
        yield Sample(
            quantity,
            f"{whose} {named(lower)} to {named(upper)}".strip(),
            compared(results, (upper, lower), ratio(reader)),
        )
