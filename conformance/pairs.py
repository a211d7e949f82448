"""Pairs of socket options and of sysctls that are drawn at random (`conformance.random_pairs`), beside a kernel.

    python -m conformance.pairs                               # the simulator beside the stored figures of the kernel
    python -m conformance.pairs --measure DIR 1 2 3 -n 8      # eight cases of each of these seeds, on the kernel first;
                                                              # what is complete in DIR is kept
    python -m conformance.pairs --write                       # and into conformance/results/pairs.md

Exit status: 1 if a cell is off, else 0.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from conformance.kinds import report
from conformance.kinds.golden import RUN, complete, figures
from conformance.kinds.judge import Row, Table, compared, shares
from conformance.kinds.kinds import Case
from conformance.page import RESULTS, ROOT, rows, write_tables
from conformance.random_pairs import SOCKETS, SYSCTLS, experiment
from tailback import scenario, sweep
from tailback.validation.words import percent

FILE = ROOT / "tests" / "data" / "pairs" / "kernel.csv"
PAGE = RESULTS / "pairs.md"
REPETITIONS = 4
KERNEL = "uml"


@dataclass(frozen=True)
class Batch:
    """The cases of a seed. `repetitions`: of each."""

    seed: int
    number: int
    repetitions: int = REPETITIONS

    def run(self, request: sweep.Request) -> pd.DataFrame:
        """The figures of its cases on a backend."""
        name = str(self.seed)
        folder = request.out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(experiment(self.seed, self.number), sort_keys=False), encoding="utf-8")
        read = scenario.load(file, [f"repeat={self.repetitions}"])
        place = sweep.Request(request.backend, request.jobs, folder / f"{name}-{request.backend.replace(':', '-')}")
        return figures(name, complete(sweep.run_experiment(read, place, sweep.Silent()), f"seed {name}"))


def options(case: str) -> str:
    """The two options of a case, as an experiment file has them."""
    seed, _, which = case.partition(".")
    keys = experiment(int(seed), int(which) + 1)["vary"]["case"][case]
    sysctls = keys["hosts"]["client"]["sysctl"]
    upload = keys["traffic"][0]
    found = sysctls or {name: upload[name] for name in SOCKETS if name in upload}
    return ", ".join(f"`{name.removeprefix('net.ipv4.')}: {value}`" for name, value in found.items())


def batches(kernel: pd.DataFrame) -> list[Batch]:
    """What the kernel has been measured in."""
    found = []
    for seed, table in kernel.groupby("file"):
        number = max(int(case.partition(".")[2]) for case in table["case"]) + 1
        found.append(Batch(int(str(seed)), number, int(table["repetition"].max())))
    return found


def judged(kernel: pd.DataFrame, jobs: int) -> Table:
    """The simulator beside the kernel."""
    with tempfile.TemporaryDirectory(prefix="tailback-pairs-") as folder:
        request = sweep.Request("sim", jobs, Path(folder))
        simulator = pd.concat([batch.run(request) for batch in batches(kernel)])
    cases = [Case(file, case) for file, case in kernel[["file", "case"]].drop_duplicates().itertuples(index=False)]
    return compared(cases, kernel, simulator)


HEADING = ("pairs of", "options", "cells within", "off", "undecided", "single runs within", "kernel and itself")


def summary(table: Table) -> list[str]:
    """A row per kind of option."""
    kinds = (("socket options", SOCKETS, 0), ("sysctls", SYSCTLS, 1))
    cells = [[cell for cell in table.judged if _kind(table, cell) == kind] for _, _, kind in kinds]
    return rows(HEADING, [_summed(name, len(of), mine) for (name, of, _), mine in zip(kinds, cells, strict=True)])


def _kind(table: Table, cell: Row) -> int:
    return int(table.case(cell).name.partition(".")[2]) % 2


def _summed(name: str, known: int, cells: Sequence[Row]) -> list[str]:
    found = shares(cells)
    counts = [f"{found[outcome]:.0f}" for outcome in ("within", "off", "undecided")]
    return [name, str(known), *counts, percent(found["alike"]), percent(found["ceiling"])]


def off(table: Table) -> Iterator[list[str]]:
    """A row per cell that is off."""
    for line in report.beyond(table)[2:]:
        case, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        yield [case, options(case), *rest]


def read() -> pd.DataFrame:
    return pd.read_csv(FILE, dtype={"file": str, "case": str})


def merge(measured: pd.DataFrame) -> None:
    """Replaces runs of the file, and adds those that it lacks."""
    kept = read() if FILE.exists() else measured.iloc[:0]
    table = pd.concat([kept, measured]).drop_duplicates(list(RUN), keep="last").dropna(axis="columns", how="all")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    table.sort_values(list(RUN), kind="stable").to_csv(FILE, index=False, float_format="%.6g", lineterminator="\n")


def main() -> int:
    """Measures, judges and writes."""
    parser = argparse.ArgumentParser(prog="python -m conformance.pairs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="seeds to draw cases with, for --measure")
    parser.add_argument("-n", "--number", type=int, default=8, help="cases of each seed (8)")
    parser.add_argument("--repeat", type=int, default=REPETITIONS, help=f"repetitions of each case ({REPETITIONS})")
    parser.add_argument("--measure", type=Path, metavar="DIR", help="run the kernel, and store its figures")
    parser.add_argument("--write", action="store_true", help="write the table of conformance/results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.measure is not None:
        for seed in given.seeds:
            merge(Batch(seed, given.number, given.repeat).run(sweep.Request(KERNEL, given.jobs, given.measure)))
    table = judged(read(), given.jobs)
    beyond = list(off(table))
    heading = ["case", "options", "figure", "kernel", "simulator", "90 % interval of the difference"]
    print("\n".join([*report.cells(table), "", *summary(table), "", *rows(heading, beyond)]))
    if given.write:
        tables = {"pairs": summary(table), "off": rows(heading, beyond)}
        write_tables(tables, PAGE, "python -m conformance.pairs --write")
    return int(bool(beyond))


if __name__ == "__main__":
    raise SystemExit(main())
