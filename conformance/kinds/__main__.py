"""Compares the simulator with a kernel in every kind of experiment, each case over its seeds.

    python -m conformance.kinds                            # the simulator beside the stored figures of the kernel
    python -m conformance.kinds reordering 'chain'         # some kinds or cases; * and ? match
    python -m conformance.kinds --write --keep DIR         # every case, into the table of docs/fidelity.md; what is
                                                           # complete in DIR is kept, so a run may be interrupted
    python -m conformance.kinds --measure DIR              # run the kernel again; complete runs in DIR are kept
    python -m conformance.kinds schedule --measure DIR     # only these cases; the figures of others stay

Exit status: 1 if a cell is off, else 0.
"""

from __future__ import annotations

import argparse
import os
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from conformance.kinds import golden, report
from conformance.kinds.judge import judge
from conformance.kinds.kinds import FILES, KERNELS, Case, cases, repetitions
from conformance.page import PAGE, write_tables
from tailback import sweep


def main() -> int:
    options = _parsed()
    if options.measure is not None:
        for file in options.file or FILES:
            _measure(options.measure, file, options.patterns)
        return 0
    kernel = golden.read()
    wanted = [case for case in cases() if _matches(case, options.patterns) and case.file in (options.file or FILES)]
    if not wanted:
        raise SystemExit(f"no case matches {' '.join(options.patterns)}; a name may have * and ?")
    if options.write and len(wanted) < len(cases()):
        raise SystemExit("`--write` takes no patterns and no `--file`: the table of docs/fidelity.md has every case")
    if options.write:
        _refuse_missing(wanted, kernel)
    there = set(zip(kernel["file"], kernel["case"], strict=True))
    known = [case for case in wanted if (case.file, case.name) in there]
    table = judge(known, kernel, options.jobs, options.keep)
    print("\n".join([*report.cells(table), "", *report.summary(table)]))
    if options.write:
        write_tables({"kinds": report.summary(table)}, PAGE, "python -m conformance.kinds --write --keep DIR")
    return int(any(cell["outcome"] == "off" for cell in table.judged))


def _refuse_missing(wanted: list[Case], kernel: pd.DataFrame) -> None:
    """The table of the page has every repetition of every case."""
    found = kernel.groupby(["file", "case"])["repetition"].nunique().to_dict()
    short = [case for case in wanted if found.get((case.file, case.name), 0) < repetitions(case)]
    if short:
        names = ", ".join(f"`{case.name}`" for case in short)
        raise SystemExit(f"the kernel's figures lack repetitions of {names}\n  hint: measure them: --measure DIR")


def _parsed() -> argparse.Namespace:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m conformance.kinds", description=lines[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of kinds or of cases; * and ? match")
    parser.add_argument("--write", action="store_true", help="write the table of docs/fidelity.md")
    parser.add_argument("--measure", type=Path, metavar="DIR", help="run the kernel, and store its figures")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the simulator's runs, and use those kept before")
    parser.add_argument("--file", action="append", choices=FILES, help="only this file; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def _matches(case: Case, patterns: list[str]) -> bool:
    return not patterns or any(fnmatchcase(name, one) for name in (case.kind, case.name) for one in patterns)


def _measure(folder: Path, file: str, patterns: list[str]) -> None:
    """Runs the cases of a file on a kernel, and stores the figures of each when its runs are complete. A table that has
    more repetitions of a case keeps them.
    """
    for case in cases():
        if case.file == file and _matches(case, patterns):
            golden.merge(golden.measured(case, repetitions(case), sweep.Request(KERNELS.get(file, "uml"), 1, folder)))


if __name__ == "__main__":
    raise SystemExit(main())
