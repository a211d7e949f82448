"""Endpoints that answer at random through the C ABI: no answer of a library is more than the end of its own run.

The library (tests/data/endpoints/random.c) draws from a seed what it answers: sizes, segments, departures, ends,
ECN bits, times to be called at, lines, events, reports. A run of it completes, and then a second one has the same bytes
and every number of its summary is finite; or it fails with what the endpoint did wrong. Anything else is a find.

    make campaign-endpoints RUNS=2000
"""

from __future__ import annotations

import math
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, field

from campaigns.random_runs import numbers_in
from campaigns.seeds import REPOSITORY
from tailback.analysis.summary import summarise
from tailback.backends import RunFailed, RunResult
from tailback.backends.sim import Sim
from tailback.results import RunPlan
from tailback.scenario import loads
from tailback.sweep.plan import plan_of
from tailback.sweep.work import measure_of

SOURCE = REPOSITORY / "tests" / "data" / "endpoints" / "random.c"

REASON = re.compile(r"(endpoints? `drawn` at [\d.e-]+ s|the endpoint failed): [^\x00-\x1f]{1,1200}")
"""The message of a run that its endpoint ended: one line."""

NETWORKS = (
    "links: [{ends: [a, b], rate: 20mbit, delay: 5ms}]",
    "links: [{ends: [a, b], rate: 5mbit, delay: 1ms, loss: 2%, duplicate: 2%, corrupt: 1%}]\nqdiscs: {a -> b: fq}",
    "links: [{ends: [a, m]}, {ends: [m, b], rate: 9mbit}]\nqdiscs: {a -> m: fq, m -> b: sfq limit 9}\noffloads: on",
    "links: [{wifi: {ap: b, stations: [a]}, standard: 802.11n, mcs: 7, width: 20MHz}]",
)

ODD = (50, 500, 5000)
"""One answer in so many is anything at all."""


class Tally(Struct):
    """What a campaign has done and found."""

    runs: int = 0
    completed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """Why runs ended, by the message without its numbers."""
    finds: list[str] = field(default_factory=list)


def compiled(folder: Path) -> Path:
    """The library."""
    found = folder / "librandom.so"
    flags = ["-shared", "-fPIC", "-O1", f"-I{REPOSITORY / 'include'}"]
    subprocess.run(["cc", *flags, "-o", str(found), str(SOURCE)], check=True)
    return found


def campaign(runs: int, seed: int, library: Path) -> Tally:
    """So many runs, from this seed on."""
    tally = Tally()
    for number in range(seed, seed + runs):
        tally.runs += 1
        tally.finds += [f"seed {number}: {found}" for found in _judged(planned(number, library), tally)]
    return tally


def planned(number: int, library: Path) -> RunPlan:
    """The run of a number: its network, how odd its answers are, and their seed."""
    network, odd = NETWORKS[number % len(NETWORKS)], ODD[number // len(NETWORKS) % len(ODD)]
    text = (
        f"{network}\ntraffic:\n  - {{tcp: a -> b, name: tcp}}\n"
        f"  - {{endpoint: {library}, name: drawn, from: a, to: b, options: {{seed: {number}, odd: {odd}}}}}\n"
        "duration: 400ms\n"
    )
    (run,) = plan_of(loads(text), Sim()).runs
    return run


def _judged(run: RunPlan, tally: Tally) -> Iterator[str]:
    outcomes: list[RunResult | str] = []
    for _ in range(2):
        try:
            outcomes.append(Sim().run(run.scenario, Sim().new_progress()))
        except RunFailed as failed:
            outcomes.append(str(failed))
        except Exception as error:
            yield f"{type(error).__name__}: {error}"
            return
    first, second = outcomes
    if isinstance(first, str) or isinstance(second, str):
        if first != second:
            yield f"two runs differ: {first!r} and {second!r}"
        elif not REASON.fullmatch(str(first)):
            yield f"{first}"
        else:
            tally.reasons[re.sub(r"[\d.]+|`[^`]*`", "0", str(first))] += 1
        return
    tally.completed += 1
    if _bytes_of(first) != _bytes_of(second):
        yield "two runs differ"
    summary = summarise(first.tables, first.cost, measure_of(run))
    yield from (f"{place} is {value}" for place, value in numbers_in(summary, "") if not math.isfinite(value))


def _bytes_of(result: RunResult) -> dict[str, bytes]:
    return {name: table.stream for name, table in result.tables.items()}
