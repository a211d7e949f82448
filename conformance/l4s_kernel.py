"""Prague beside other controls on a kernel and on the simulator: cells of conformance/l4s.yaml.

    python -m conformance.l4s_kernel                     the simulator beside the stored figures of the kernel
    python -m conformance.l4s_kernel --write             and into docs/l4s.md
    python -m conformance.l4s_kernel --measure tcp_prague.c c2-cubic-20 heist-pie-reno
                                                         cells on the kernel first, with Prague as a module

Each figure is judged as `tailback validate` judges it (`tailback.analysis.equivalence`). `alike` is the share of pairs
of a run of each side that agree, `ceiling` that of pairs of runs of the kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import pandas as pd

from conformance.l4s import PAGE, ROOT, Cell, as_module, cells, found_in, load, ran
from conformance.page import rows, write_tables
from tailback.analysis.equivalence import Decision, Likeness, decision, interval_of_means, likeness
from tailback.analysis.tolerances import FIDELITY
from tailback.validation.words import percent

COMMAND = "python -m conformance.l4s_kernel --write"
FILE = ROOT / "tests" / "data" / "l4s" / "kernel.csv"
KERNEL = "uml:linux-7.3-ipv6-l4s"
WINDOW = (6.0, 20.0)
"""What is measured on both sides, in s, whatever the published window is."""
REPETITIONS = 5
SIMULATED = 12
"""Runs of a cell on the simulator, which are cheap."""
FIGURES = {"prague": "goodput", "other": "goodput", "p99": "rtt"}
"""The figures of a run, and the names of their tolerances: goodput in Mbit/s, the tail of Prague's RTT in ms."""
RUN = ["cell", "repetition"]


@dataclass(frozen=True)
class Figure:
    """A figure of a cell, judged."""

    outcome: Decision
    likeness: Likeness


@dataclass(frozen=True)
class Compared:
    """A cell on both sides: tables with a row per run."""

    cell: Cell
    kernel: pd.DataFrame
    simulator: pd.DataFrame

    def figures(self) -> Iterator[Figure]:
        """Each figure, judged."""
        for name, of in FIGURES.items():
            reference, candidate = (side[name].to_numpy(float) for side in (self.kernel, self.simulator))
            allowed = FIDELITY[of].allowed(float(reference.mean()), float(candidate.mean()))
            if allowed is None:
                raise ValueError(f"`{of}` has no tolerance: see the registry of metrics")
            found = decision(interval_of_means(reference, candidate), allowed)
            yield Figure(found, likeness(reference, candidate, FIDELITY[of]))

    def row(self) -> list[str]:
        """A row of the table."""
        cell, judged = self.cell, [figure.outcome for figure in self.figures()]
        setting = [f"`{cell.id}`", f"`{cell.queue}`", f"{cell.rtt:g} ms", f"`{cell.other}`"]
        sides = (self.kernel, self.simulator)
        tails = " / ".join(f"{side['p99'].mean() - cell.rtt:.1f}" for side in sides)
        return [*setting, *(_ratio(side) for side in sides), f"{tails} ms", ", ".join(judged)]


def _ratio(side: pd.DataFrame) -> str:
    ratios = side["prague"] / side["other"]
    return f"{side['prague'].mean() / side['other'].mean():.2g} ({ratios.min():.2g} to {ratios.max():.2g})"


def comparable() -> list[Cell]:
    """The cells that a kernel can have: with controls of its own and the module's parameters."""
    return [replace(cell, window=WINDOW) for cell in cells(load()) if _is_known(cell)]


def _is_known(cell: Cell) -> bool:
    return "ecn_fallback" not in cell.prague and not cell.other.startswith("bbr3")


def measured(cell: Cell, module: Path | None, backend: str, repetitions: int) -> pd.DataFrame:
    """A row per run of a cell."""
    settings = [] if module is None else as_module(cell, module)
    with ran(cell, settings, backend, repetitions) as runs:
        each = [(run.repetition, found_in([run], cell)) for run in runs]
    found = [(cell.id, number, one.prague, one.other, one.p99 + cell.rtt) for number, one in each]
    return pd.DataFrame(found, columns=[*RUN, *FIGURES])


def read() -> pd.DataFrame:
    """The kernel's figures."""
    return pd.read_csv(FILE)


def merge(table: pd.DataFrame) -> None:
    """Adds figures to the file, or replaces them."""
    kept = pd.concat([read(), table]) if FILE.exists() else table
    FILE.parent.mkdir(parents=True, exist_ok=True)
    kept = kept.drop_duplicates(RUN, keep="last").sort_values(RUN, kind="stable")
    kept.to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


def compared(kernel: pd.DataFrame, wanted: Sequence[str] = ()) -> Iterator[Compared]:
    """The simulator beside the kernel's figures, cell by cell."""
    for cell in comparable():
        own = kernel[kernel["cell"] == cell.id]
        if len(own) and (not wanted or cell.id in wanted):
            yield Compared(cell, own, measured(cell, None, "sim", SIMULATED))


HEAD = ("cell", "queue", "RTT", "other", "kernel", "simulator", "p99 above the base", "Prague, other, p99")


def summary(found: Sequence[Compared]) -> str:
    """How many figures agree, in words."""
    figures = [figure for one in found for figure in one.figures()]
    outcomes = [figure.outcome for figure in figures]
    counts = ", ".join(f"{outcomes.count(each)} {each}" for each in ("within", "off", "undecided"))
    alike, ceiling = (percent(fmean(getattr(each.likeness, name) for each in figures)) for name in ("alike", "ceiling"))
    return f"{len(figures)} figures: {counts}. Single runs agree in {alike} of pairs, those of the kernel in {ceiling}."


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(prog=COMMAND.removesuffix(" --write"))
    parser.add_argument("ids", nargs="*", metavar="CELL", help="only these cells")
    parser.add_argument("--measure", type=Path, metavar="MODULE", help="Prague as a module of the kernel")
    parser.add_argument("--kernel", default=KERNEL, help=f"as for tailback run ({KERNEL})")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help=f"runs of a cell ({REPETITIONS})")
    parser.add_argument("--write", action="store_true", help="write the table")
    given = parser.parse_args()
    if given.measure:
        for cell in comparable():
            if cell.id in given.ids or not given.ids:
                merge(measured(cell, given.measure.resolve(), given.kernel, given.repetitions))
    found = []
    for one in compared(read(), given.ids):
        print("\n".join(rows(HEAD, [one.row()])[2:]), flush=True)
        found.append(one)
    print(summary(found))
    if given.write:
        table = [*rows(HEAD, [one.row() for one in found]), "", summary(found)]
        write_tables({"l4s-kernel": table}, PAGE, COMMAND)


if __name__ == "__main__":
    main()
