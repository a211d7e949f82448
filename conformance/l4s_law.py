"""Why the shares of RFC 9332's appendix C.2 are not met: what its calculation takes for granted, as measured.

    python -m conformance.l4s_law            prints the tables
    python -m conformance.l4s_law --write    writes them into docs/l4s.md

The calculation is: Prague has 2 marks in a virtual round trip (max(RTT, 25 ms)), p_L = 2 √p_C, a classic flow has
c / √p_C packets in flight, with c = 1.22, and its queue has 15 ms at the tips of its sawteeth: the mean of its RTT is
0.75 of RTT + 15 ms for Reno, and 0.85 for CUBIC. The ratio that is found is the calculated one times what each of these
is off by. [rfc9332 §C.2]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import tailback
from conformance.l4s import PAGE, ROOT, Cell, cells, load, ran
from conformance.page import rows, write_tables
from tailback.results import RunResult

COMMAND = "python -m conformance.l4s_law --write"
FIXED = ROOT / "experiments" / "l4s" / "fixed-marks.yaml"
FLOOR_MS = 25
"""The shortest round trip that Prague behaves for."""
SEGMENT_BITS = 1448 * 8
CLASSIC = 1.22
"""The constant c of the calculation."""
TARGET_MS = 15
MEAN_OF_TIPS = {"reno": 0.75, "cubic": 0.85}
"""The mean of a sawtooth over its tips, which fall to 0.5 and to 0.7."""


@dataclass(frozen=True)
class Terms:
    """What the calculation takes for granted, of a run."""

    marks: float
    """Marks of Prague in a virtual round trip."""
    coupling: float
    """2 √p_C over p_L."""
    classic: float
    """c: the packets of the classic flow in flight, times √p_C."""
    classic_ms: float
    """The RTT of the classic flow."""
    ratio: float


def virtual_ms(rtt: float) -> float:
    """A round trip as Prague takes it."""
    return max(rtt, FLOOR_MS)


def waits_ms(cell: Cell) -> float:
    """The RTT of the classic flow that the calculation has."""
    return MEAN_OF_TIPS[cell.other] * (cell.rtt + TARGET_MS)


def segments_per_ms(goodput_mbps: float) -> float:
    return goodput_mbps * 1000 / SEGMENT_BITS


def terms(run: RunResult, cell: Cell) -> Terms:
    """The terms of a run of a cell."""
    begin, end = (edge / 1e9 for edge in run.window_ns)
    rates = {name: segments_per_ms(rate) for name, rate in run.summary["goodput_mbps"]["flows"].items()}
    events = run.table("events")
    events = events[(events["t"] > begin) & (events["t"] <= end)]
    counted = events.groupby(["flow", "what"], observed=True).size()
    share = {
        name: float(counted[name, what]) / (rates[name] * (end - begin) * 1000)
        for name, what in (("prague", "mark"), ("other", "drop"))
    }
    info = run.table("tcp_info")
    info = info[(info["t"] > begin) & (info["t"] <= end)]
    rtt = {name: float(info[info["flow"] == name]["rtt"].mean()) / 1000 for name in rates}
    return Terms(
        marks=rates["prague"] * virtual_ms(cell.rtt) * share["prague"],
        coupling=2 * sqrt(share["other"]) / share["prague"],
        classic=rates["other"] * rtt["other"] * sqrt(share["other"]),
        classic_ms=rtt["other"],
        ratio=rates["prague"] / rates["other"],
    )


def terms_of(cell: Cell, repetitions: int) -> list[Terms]:
    """The terms of each run of a cell."""
    with ran(cell, repetitions=repetitions) as runs:
        return [terms(run, cell) for run in runs]


def fixed(*settings: str) -> dict[float, float]:
    """Marks of Prague in a virtual round trip by the RTT in ms, where every packet is marked with one probability."""
    with TemporaryDirectory() as folder:
        found = {}
        for run in tailback.run(FIXED, settings=settings, out=Path(folder) / "results").runs:
            rtt = 2 * run.scenario.links[1].delay_ns[0] / 1e6
            queue = run.table("qdisc")
            queue = queue[(queue["kind"] == "netem") & (queue["t"] > run.window_ns[0] / 1e9)]
            first, last = queue.iloc[0], queue.iloc[-1]
            share = (last["marked"] - first["marked"]) / (last["sent_packets"] - first["sent_packets"])
            rate = segments_per_ms(run.summary["goodput_mbps"]["flows"]["prague"])
            found[rtt] = float(rate * virtual_ms(rtt) * share)
        return found


def row(cell: Cell, found: Sequence[Terms]) -> list[str]:
    """A row of the table of cells: means over runs."""
    marks, coupling, classic, rtt, ratio = (
        mean(getattr(each, name) for each in found) for name in ("marks", "coupling", "classic", "classic_ms", "ratio")
    )
    taken = f"{classic:.2f} ({CLASSIC:g})"
    waits = f"{rtt:.0f} ms ({waits_ms(cell):.0f})"
    return [
        f"{cell.other}, {cell.rtt:g} ms",
        f"{cell.ratio:g} : 1",
        f"{marks:.1f} (2)",
        f"{coupling:.2f} (1)",
        taken,
        waits,
        f"{ratio:.2g} : 1",
    ]


HEAD = ("cell", "calculated", "marks", "2 √p_C / p_L", "c", "RTT of the other", "found")


def main() -> None:
    """Prints or writes the tables."""
    parser = argparse.ArgumentParser(prog=COMMAND.removesuffix(" --write"))
    parser.add_argument("--write", action="store_true", help="write the tables")
    parser.add_argument("--repetitions", type=int, default=5, help="runs of a cell (default: 5)")
    given = parser.parse_args()
    calculated = [cell for cell in cells(load()) if cell.source == "rfc9332"]
    table = rows(HEAD, [row(cell, terms_of(cell, given.repetitions)) for cell in calculated])
    alone = fixed()
    marks = rows(
        ("RTT", *(f"{rtt:g} ms" for rtt in alone)),
        [["marks in max(RTT, 25 ms)", *(f"{found:.1f}" for found in alone.values())]],
    )
    print("\n".join([*table, "", *marks]))
    if given.write:
        write_tables({"l4s-terms": table, "l4s-marks": marks}, PAGE, COMMAND)


if __name__ == "__main__":
    main()
