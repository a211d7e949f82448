"""Compares the simulator with runs of a real kernel, campaign by campaign.

    python -m conformance wired                                # all runs in the repository
    python -m conformance wired 'cubic-*-std-*' --worst        # some of them, worst cells first
    python -m conformance wifi '*htc*-fq' --only-off --chance  # cells out of tolerance, and their ranges by chance
    python -m conformance teacup                               # three staggered flows through a router's AQM
    python -m conformance matrix 'grid R10M *'                 # cells of the conformance matrix
    python -m conformance mac80211                             # a real mac80211 above the simulator's air
    python -m conformance wifi --truth FOLDER                  # runs of a campaign's folder instead

Exit status: 0 if all judged cells are within tolerance, else 1. See also `python -m conformance.tc` (the syntax of
`tc`) and `tailback drill conformance/drill/*.pkt` (TCP, packet by packet).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.judge import (
    CAMPAIGNS,
    Campaign,
    Cell,
    Judged,
    Run,
    campaign,
    judge,
    likeness,
    matching,
    share_within,
    spreads,
)


def main() -> int:
    options = _parsed()
    by = campaign(options.campaign)
    runs = matching(_runs(by, options.truth), options.patterns)
    if not runs:
        raise SystemExit(f"no run of {options.campaign} matches {' '.join(options.patterns)}; a name may have * and ?")
    _print_left_out(by, runs)
    found = judge(by, runs, options.jobs)
    for failed in found.failed:
        print(f"failed: {failed.experiment.key}: {failed.failure}")
    _print_cells(by, _chosen(found, options))
    if options.chance:
        _print_chance(by, found, options.jobs)
    return _summarise(by, found)


def _parsed() -> argparse.Namespace:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(prog="python -m conformance", description=lines[0])
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="names of runs, or family/name; * and ? match")
    parser.add_argument("--worst", action="store_true", help="judged cells only, worst first")
    parser.add_argument("--only-off", action="store_true", help="only cells out of tolerance")
    parser.add_argument("--chance", action="store_true", help="repeat runs out of tolerance with other random numbers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--truth", type=Path, metavar="FOLDER", help="folder with the runs of the kernel's campaign")
    return parser.parse_args()


def _runs(by: Campaign[Any], truth: Path | None) -> Sequence[Run[Any]]:
    if truth is None:
        return by.runs()
    if by.measured is None:
        raise SystemExit(f"{by.title} does not support --truth")
    return by.measured(truth)


def _print_left_out(by: Campaign[Any], runs: Sequence[Run[Any]]) -> None:
    reasons = [reason for run in runs if (reason := by.left_out(run.experiment))]
    for reason in sorted(set(reasons)):
        print(f"left out, {reason}: {reasons.count(reason)} runs")


def _chosen(found: Judged[Any], options: argparse.Namespace) -> Sequence[Cell[Any]]:
    shown = [cell for cell in found.cells if not options.only_off or cell.outcome == "off"]
    if not options.worst:
        return shown
    return sorted((cell for cell in shown if cell.outcome != "shown"), key=lambda cell: -cell.distance)


def _print_cells(by: Campaign[Any], table: Sequence[Cell[Any]]) -> None:
    width = max((len(cell.experiment.key) for cell in table), default=3)
    print(f"{'run':{width}} {'figure':18} {'kernel':>10} {'simulator':>10} {'difference':>10}  verdict")
    for cell in table:
        figures = f"{cell.kernel:>10.4g} {cell.simulator:>10.4g} {cell.relative:>+10.1%}"
        print(f"{cell.experiment.key:{width}} {cell.figure:18} {figures}  {_verdict(by, cell)}")


def _verdict(by: Campaign[Any], cell: Cell[Any]) -> str:
    if cell.outcome != "off":
        return cell.outcome
    known = by.reason(cell.experiment, cell.figure)
    return f"off ×{cell.distance:.1f}{' (known)' if known else ''}"


def _print_chance(by: Campaign[Any], found: Judged[Any], jobs: int) -> None:
    """Prints the ranges of each cell out of tolerance, by kind of repetition."""
    for spread in spreads(by, found.off, jobs):
        print(f"{spread.cell}: {'may be chance' if spread.is_chance else 'not chance'}")
        for each in spread.ranges:
            print(f"    {each.kind:8} {each.low:.4g} to {each.high:.4g}, median {each.median:.4g}")


def _summarise(by: Campaign[Any], found: Judged[Any]) -> int:
    """Prints a summary: cells within tolerance by group and by figure, runs completely within tolerance, failed
    runs."""
    groups = dict.fromkeys(cell.experiment.group for cell in found.cells)
    for name in groups if len(groups) > 1 else ():
        _print_share(name, [cell for cell in found.cells if cell.experiment.group == name])
    for figure in by.tolerances:
        _print_share(figure, [cell for cell in found.cells if cell.figure == figure])
    _print_share("all", found.cells)
    _print_likeness(by, found)
    off = {cell.experiment.key for cell in found.off}
    whole = len(found.simulated) - len(off) - len(found.failed)
    cpu_s = sum(result.cpu_s for result in found.simulated)
    failed = len(found.failed)
    print(f"{whole} of {len(found.simulated)} runs completely within tolerance, {failed} failed, {cpu_s:.0f} s of CPU")
    return 1 if off or found.failed else 0


def _print_likeness(by: Campaign[Any], found: Judged[Any]) -> None:
    """Prints how often single runs agree, beside how often those of the kernel do."""
    alike = likeness(by, found.cells)
    if alike is not None:
        print(
            f"single runs of {alike.configurations} configurations with several seeds within tolerance: "
            f"simulator and kernel {alike.alike:.1%}, kernel and itself {alike.ceiling:.1%}"
        )


def _print_share(name: str, table: Sequence[Cell[Any]]) -> None:
    within, judged = share_within(table)
    if judged:
        print(f"{name:36} {within:5d} of {judged:5d} cells within tolerance ({within / judged:.1%})")


if __name__ == "__main__":
    raise SystemExit(main())
