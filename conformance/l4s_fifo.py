"""Why Prague's share beside CUBIC in a full FIFO is not the published one: whose packets find the FIFO full?

    python -m conformance.l4s_fifo            prints the table
    python -m conformance.l4s_fifo --write    writes it into docs/l4s.md

CUBIC probes until the FIFO overflows. Prague halves its window if one of its packets is among those dropped, and goes
on growing by a packet per round trip if none is: the fewer overflows hit it, the more it has. When ACKs reach the
sender together, CUBIC sends bursts that fill the FIFO and are cut off themselves, while Prague's paced packets slip in
between.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np

from conformance.l4s import PAGE, Cell, cells, load, ran
from conformance.page import rows, write_tables
from tailback.results import RunResult

COMMAND = "python -m conformance.l4s_fifo --write"
CELLS = ("heist-fifo-10", "heist-fifo-20", "heist-fifo-80")
WARMUP_S = 30
"""The slow start and the first overflow are over."""
APART_S = 0.5
"""Drops this far apart are of two overflows: a round trip through the full FIFO is 0.25 to 0.33 s."""
INTERRUPTS = (None, "1ms", "4ms", "10ms")
"""The shortest time between two receive interrupts of the client (`nic: {interrupts}`)."""


@dataclass(frozen=True)
class Overflows:
    """The overflows of a FIFO in a run."""

    hit: float
    """The share that drops a packet of Prague."""
    ratio: float
    """Prague's goodput over that of the other."""


def overflows(run: RunResult) -> Overflows:
    """The overflows of a run after its first seconds."""
    drops = run.table("events")
    drops = drops[(drops["what"] == "drop") & (drops["t"] > WARMUP_S)].sort_values("t")
    number = np.cumsum(np.diff(drops["t"], prepend=-np.inf) > APART_S)
    hit = (drops["flow"] == "prague").groupby(number).any()
    goodput = run.summary["goodput_mbps"]["flows"]
    return Overflows(float(hit.mean()), goodput["prague"] / goodput["other"])


def overflows_of(cell: Cell, settings: Sequence[str], repetitions: int) -> list[Overflows]:
    """The overflows of each run of a cell."""
    with ran(cell, settings, repetitions=repetitions) as runs:
        return [overflows(run) for run in runs]


def batched(interrupts: str | None) -> list[str]:
    """The settings with which ACKs reach the client so."""
    return [] if interrupts is None else [f"hosts.client.nic={{interrupts: {interrupts}}}"]


def row(cell: Cell, repetitions: int) -> list[str]:
    """A row of the table: what was published, and for each batching of ACKs the ratio and the share of overflows."""
    found = [overflows_of(cell, batched(interrupts), repetitions) for interrupts in INTERRUPTS]
    published = " and ".join(f"{ratio:g}" for ratio in cell.ratios)
    ours = (f"{mean(one.ratio for one in of):.2g} ({mean(one.hit for one in of):.0%})" for of in found)
    return [f"{cell.rtt:g} ms", published, *ours]


HEAD = ("RTT", "published", "at once", *(f"each {interrupts}" for interrupts in INTERRUPTS[1:]))


def main() -> None:
    """Prints or writes the table."""
    parser = argparse.ArgumentParser(prog=COMMAND.removesuffix(" --write"))
    parser.add_argument("--write", action="store_true", help="write the table")
    parser.add_argument("--repetitions", type=int, default=12, help="runs of a cell (default: 12)")
    given = parser.parse_args()
    wanted = [cell for cell in cells(load()) if cell.id in CELLS]
    table = rows(HEAD, [row(cell, given.repetitions) for cell in wanted])
    print("\n".join(table))
    if given.write:
        write_tables({"l4s-fifo": table}, PAGE, COMMAND)


if __name__ == "__main__":
    main()
