"""What a virtual second of each version of Linux costs: processor seconds, of the user and of the system.

    python -m conformance.versions.cost            # the versions whose kernels are there, one run at a time
    python -m conformance.versions.cost --write    # into conformance/results

Processor seconds depend on the machine, and less than wall time on what else it does. A version whose kernel is not
there has a row without figures.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.kinds.golden import complete
from conformance.page import RESULTS, rows, write_tables
from conformance.versions.versions import FOLDER, Version, only
from tailback import scenario, sweep
from tailback.kernel import KernelMissing, find_kernel

FILE = FOLDER / "versions-cost.yaml"
COMMAND = "python -m conformance.versions.cost --write"
RADIO = "Wi-Fi"
"""The case for kernels with our driver."""

VERSIONS = (
    Version("5.10", FILE.stem, "5.10"),
    Version("6.1", FILE.stem, "6.1"),
    Version("6.12", FILE.stem, "6.12", ("wifi",)),
    Version("7.3", FILE.stem, "7.3", ("wifi",)),
)

Costs = Mapping[str, Sequence[float]]
"""Processor seconds per virtual second of each run, by case."""


def cases_of(version: Version) -> list[str]:
    """The cases that the kernel of a version can run."""
    names = [str(each.labels["case"]) for each in scenario.load(FILE).configurations]
    return [name for name in names if name != RADIO or "wifi" in version.features]


def measured(version: Version, folder: Path) -> Costs:
    """The costs on the kernel of a version."""
    request = sweep.Request(f"uml:{version.kernel}", 1, folder / version.name)
    done = sweep.run_experiment(only(scenario.load(FILE), cases_of(version)), request, sweep.Silent())
    found: dict[str, list[float]] = {}
    for run in complete(done, version.name):
        cost = run.manifest["cost"]
        found.setdefault(str(run.axes["case"]), []).append(cost["cpu_s"] / cost["sim_s"])
    return found


def table(costs: Mapping[str, Costs]) -> list[str]:
    """A row per version: the mean of the runs of each case, and the least and the most."""
    heading = [str(each.labels["case"]) for each in scenario.load(FILE).configurations]
    body = [[f"{name}", *(_shown(found.get(case, ())) for case in heading)] for name, found in costs.items()]
    return rows(("version", *(f"{case}, CPU s per s" for case in heading)), body)


def _shown(runs: Sequence[float]) -> str:
    if not runs:
        return "–"
    return f"{sum(runs) / len(runs):.2f} ({min(runs):.2f} to {max(runs):.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(prog=COMMAND.removesuffix(" --write"), description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table of conformance/results")
    options = parser.parse_args()
    found: dict[str, Costs] = {}
    missing = False
    with tempfile.TemporaryDirectory(prefix="tailback-cost-") as folder:
        for version in VERSIONS:
            try:
                find_kernel(version.kernel)
            except KernelMissing as error:
                print(f"{version.name}: {error}\n  hint: tailback {' '.join(version.build)}", file=sys.stderr)
                found[version.name], missing = {}, True
                continue
            found[version.name] = measured(version, Path(folder))
            print(table({version.name: found[version.name]})[-1], flush=True)
    if options.write:
        write_tables({"cost": table(found)}, RESULTS / "versions.md", COMMAND)
    print(f"load of the machine: {os.getloadavg()[1]:.1f}")
    return int(missing)


if __name__ == "__main__":
    raise SystemExit(main())
