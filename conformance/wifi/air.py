"""Prints the PPDUs of one run from 10 s on: the kernel's cell on the left, the simulator's on the right.

    python -m conformance.wifi.air wifi/htc-150-cubic-u1d0-tsqstd-fq FOLDER --count 40

FOLDER is that of the campaign; the run is one that kept its PPDUs in `wifi.csv.gz`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from conformance.judge import matching
from conformance.wifi import golden
from conformance.wifi.experiment import Experiment
from conformance.wifi.simulate import simulated_tables

FROM_S = 10.0
"""From here on the kernel's cell noted every PPDU."""


class Ppdu(NamedTuple):
    """A line of the output; radio 0 is the access point."""

    t: float
    radio: int
    mpdus: int
    received: int
    duration_us: float
    tries: int
    colliders: int
    access_us: float
    queued: int


def lines(run: Experiment, truth: Path, count: int) -> Iterator[str]:
    """`count` PPDUs of each side; times in ms since 10 s."""
    path = truth / run.family / run.name / "wifi.csv.gz"
    if not path.exists():
        raise SystemExit(f"{path}: this run kept no PPDUs; choose one that did")
    kernel, simulator = kernel_air(path), simulated_air(run)
    title = f"{'ms':>9} dev {'MPDUs':>7} {'µs':>5} try col {'access':>7} {'queue':>6}"
    yield f"{title}   {title}"
    for pair in islice(zip_longest(kernel, simulator), count):
        yield "   ".join(text(ppdu) for ppdu in pair)


def kernel_air(path: Path) -> Iterator[Ppdu]:
    table = pd.read_csv(path)
    columns = ["t", "dev", "mpdus", "mpdus_ok", "dur_us", "tries", "colliders", "access_us", "queued"]
    return (Ppdu(*row) for row in table[table["t"] >= FROM_S][columns].itertuples(index=False))


def simulated_air(run: Experiment) -> Iterator[Ppdu]:
    table = simulated_tables(run)[0]["wifi"]
    table = table[table["t"] >= FROM_S]
    radios = {"R": 0} | {f"C{index + 1}": index + 1 for index in range(run.stations)}
    table = table.assign(dev=table["from"].astype(str).map(radios))
    columns = ["t", "dev", "mpdus", "received", "duration_us", "tries", "colliders", "access_us", "queued"]
    return (Ppdu(*row) for row in table[columns].itertuples(index=False))


def text(ppdu: Ppdu | None) -> str:
    if ppdu is None:
        return ""
    counts = f"{ppdu.received:>3}/{ppdu.mpdus:<3}"
    times = f"{1000 * (ppdu.t - FROM_S):9.3f} {ppdu.radio:3d} {counts} {ppdu.duration_us:5.0f}"
    return f"{times} {ppdu.tries:3d} {ppdu.colliders:3d} {ppdu.access_us:7.0f} {ppdu.queued:6d}"


def main() -> None:
    parser = argparse.ArgumentParser(description="The air of one run, PPDU by PPDU, kernel and simulator side by side.")
    parser.add_argument("run", metavar="RUN", help="its name, or family/name; * and ? match")
    parser.add_argument("truth", type=Path, metavar="FOLDER", help="where the kernel's own runs are")
    parser.add_argument("--count", type=int, default=40, help="so many PPDUs of each side")
    options = parser.parse_args()
    runs = matching(golden.read_runs(), [options.run])
    if len(runs) != 1:
        raise SystemExit("this is of one run, these match: " + " ".join(run.experiment.key for run in runs))
    print("\n".join(lines(runs[0].experiment, options.truth, options.count)))


if __name__ == "__main__":
    main()
