"""Compares the simulator with a kernel in every kind of experiment, each case over its seeds.

    python -m conformance.kinds                            # the simulator beside the stored figures of the kernel
    python -m conformance.kinds reordering 'chain'         # some kinds or cases; * and ? match
    python -m conformance.kinds --write                    # and write the table of docs/fidelity.md
    python -m conformance.kinds --measure DIR              # run the kernel again; complete runs in DIR are kept
    python -m conformance.kinds schedule --measure DIR     # only these cases; the figures of others stay

Exit status: 1 if a cell is off, else 0.
"""

from __future__ import annotations

import argparse
import os
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.kinds import golden, report
from conformance.kinds.judge import judge
from conformance.kinds.kinds import FILES, Case, cases, experiment, repetitions
from conformance.page import write_tables
from tailback import sweep
from tailback.results import open_results


def main() -> int:
    options = _parsed()
    if options.measure is not None:
        for file in options.file or FILES:
            _measure(options.measure, file, options.patterns)
        return 0
    kernel = golden.read()
    there = {(str(file), str(name)) for file, name in zip(kernel["file"], kernel["case"], strict=True)}
    wanted = [case for case in cases() if (case.file, case.name) in there and _matches(case, options.patterns)]
    if not wanted:
        raise SystemExit(f"no case matches {' '.join(options.patterns)}; a name may have * and ?")
    table = judge(wanted, kernel, options.jobs)
    print("\n".join([*report.cells(table), "", *report.summary(table)]))
    if options.write:
        write_tables({"kinds": report.summary(table)})
    return int(any(cell["outcome"] == "off" for cell in table.judged))


def _parsed() -> argparse.Namespace:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m conformance.kinds", description=lines[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of kinds or of cases; * and ? match")
    parser.add_argument("--write", action="store_true", help="write the table of docs/fidelity.md")
    parser.add_argument("--measure", type=Path, metavar="DIR", help="run the kernel, and store its figures")
    parser.add_argument("--file", action="append", choices=FILES, help="only this file; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def _matches(case: Case, patterns: list[str]) -> bool:
    return not patterns or any(fnmatchcase(name, one) for name in (case.kind, case.name) for one in patterns)


def _measure(folder: Path, file: str, patterns: list[str]) -> None:
    """Runs the cases of a file on a kernel; a table that has more repetitions of a case keeps them."""
    seeds = {case.name: repetitions(case) for case in cases() if case.file == file and _matches(case, patterns)}
    if not seeds:
        return
    request = sweep.Request("uml", 1, folder / file / "uml")
    done = sweep.run_experiment(experiment(file, seeds), request, sweep.Silent())
    golden.merge(golden.figures(file, open_results(done.folder).runs))


if __name__ == "__main__":
    raise SystemExit(main())
