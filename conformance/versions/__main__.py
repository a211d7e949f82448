"""Compares the simulator's stack of each version of Linux with that version.

    python -m conformance.versions                          # beside the stored figures of the kernels
    python -m conformance.versions 5.10 '7.3, Wi-Fi'        # some versions
    python -m conformance.versions --write                  # all that are measured, into conformance/results
    python -m conformance.versions --build --measure DIR    # build the kernels that are not there, run the cells on
                                                            # each, and store the figures; complete runs in DIR are kept

A run that fails is named, and its cell is judged by the others.

Exit status: 1 if a cell is off or has no figures of all of its runs, else 0.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from conformance.kinds import report as kinds_report
from conformance.kinds.judge import Table, compared
from conformance.page import RESULTS, write_tables
from conformance.versions import golden, report
from conformance.versions.versions import Version, cases
from tailback import sweep


def main() -> int:
    options = _parsed()
    wanted = report.named(options.versions)
    for version in wanted if options.build else ():
        subprocess.run([sys.executable, "-m", "tailback", *version.build], check=True)
    for version in wanted if options.measure is not None else ():
        print(f"measuring {version.name}", flush=True)
        golden.merge(_on_kernel(version, options.measure, options.jobs))
    kernel = golden.read()
    there = [version for version in wanted if (kernel["file"] == version.name).any()]
    table = judged(there, kernel, options.jobs)
    print("\n".join([*kinds_report.cells(table), "", *report.summary(table, kernel)]))
    if options.write:
        command = "python -m conformance.versions --write"
        cells = {name: report.beside(table, of) for name, of in report.SHOWN.items()}
        write_tables({"versions": report.summary(table, kernel), **cells}, RESULTS / "versions.md", command)
    short = report.short(wanted, kernel)
    for line in short:
        print(f"{line}\n  hint: measure them: --measure DIR", file=sys.stderr)
    return int(bool(short) or any(cell["outcome"] == "off" for cell in table.judged))


def _parsed() -> argparse.Namespace:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m conformance.versions", description=lines[0])
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="names of versions")
    parser.add_argument("--build", action="store_true", help="build the kernels that are not there")
    parser.add_argument("--measure", type=Path, metavar="DIR", help="run the kernels, and store their figures")
    parser.add_argument("--write", action="store_true", help="write the table of conformance/results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def _on_kernel(version: Version, folder: Path, jobs: int) -> pd.DataFrame:
    """The figures of a kernel, whose own stack is the one that it has."""
    request = sweep.Request(f"uml:{version.kernel}", jobs, folder / version.name.replace(", ", "-"))
    return golden.measured(version, [case.name for case in cases(version)], request, "linux-6.12")


def judged(versions: list[Version], kernel: pd.DataFrame, jobs: int) -> Table:
    """The stacks of the simulator beside the kernels, in the cells that these have."""
    found = []
    with tempfile.TemporaryDirectory(prefix="tailback-versions-") as folder:
        for version in versions:
            there = set(kernel[kernel["file"] == version.name]["case"])
            names = [case.name for case in cases(version) if case.name in there]
            request = sweep.Request("sim", jobs, Path(folder) / version.name)
            found.append(golden.measured(version, names, request, version.stack))
    known = [case for version in versions for case in cases(version)]
    return compared(known, kernel, pd.concat(found))


if __name__ == "__main__":
    raise SystemExit(main())
