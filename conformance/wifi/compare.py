"""Lays the simulator beside the real kernel over a known 802.11 cell, run by run.

    python -m conformance.wifi.compare                                # the whole golden table
    python -m conformance.wifi.compare 'ath9k-300-cubic' --worst      # a part of it, worst cells first
    python -m conformance.wifi.compare --truth FOLDER htc             # a campaign's folder instead of the golden table
    python -m conformance.wifi.compare wifi/htc-150-cubic-u1d0-tsqstd-fq --truth FOLDER --air 40

PATTERN is a regular expression for `family/name`. `--air N`: the first N PPDUs from 10 s on, both sides, of one run
whose folder holds `wifi.csv.gz`. Exit status: 0 when every judged cell is within tolerance, 1 when one is not.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path

from conformance.wifi import air, golden
from conformance.wifi.extract import campaign_runs
from conformance.wifi.simulate import Simulated, not_simulated, simulate_all
from conformance.wifi.verdict import Cell, cells, share_within


def main() -> int:
    arguments = parsed()
    known = golden.read_runs() if arguments.truth is None else list(campaign_runs(arguments.truth))
    runs = [run for run in known if re.search(arguments.pattern, run.experiment.key)]
    if not runs:
        raise SystemExit(f"no run matches `{arguments.pattern}`; names are in {golden.FILE}")
    if arguments.air:
        return show_air(runs, arguments)
    return show_table(runs, arguments)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Lay the simulator's Wi-Fi beside the real kernel's.")
    parser.add_argument("pattern", nargs="?", default="", metavar="PATTERN")
    parser.add_argument("--worst", action="store_true", help="judged cells only, worst first")
    parser.add_argument("--only-off", action="store_true", help="only cells out of tolerance")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--truth", type=Path, metavar="FOLDER", help="where the kernel's own runs are")
    parser.add_argument("--air", type=int, metavar="N", help="so many PPDUs of one run, side by side")
    return parser.parse_args()


def show_air(runs: Sequence[golden.GoldenRun], arguments: argparse.Namespace) -> int:
    if len(runs) != 1 or arguments.truth is None:
        raise SystemExit("`--air` needs `--truth` and a pattern that one run matches")
    print("\n".join(air.lines(runs[0].experiment, arguments.truth, arguments.air)))
    return 0


def show_table(runs: Sequence[golden.GoldenRun], arguments: argparse.Namespace) -> int:
    wanted = [run for run in runs if not_simulated(run.experiment) is None]
    print_skipped(runs)
    simulated = list(simulate_all([run.experiment for run in wanted], arguments.jobs))
    for failed in (result for result in simulated if result.failure):
        print(f"failed: {failed.experiment.key}: {failed.failure}")
    table = [cell for run, result in zip(wanted, simulated, strict=True) for cell in compared(run, result)]
    print_cells(chosen(table, arguments))
    return summarise(table, simulated)


def print_skipped(runs: Sequence[golden.GoldenRun]) -> None:
    reasons = [reason for run in runs if (reason := not_simulated(run.experiment))]
    for reason in sorted(set(reasons)):
        print(f"skipped, {reason}: {reasons.count(reason)} runs")


def compared(run: golden.GoldenRun, result: Simulated) -> list[Cell]:
    return cells(run.experiment, run.kernel, result.measures) if result.measures else []


def chosen(table: Sequence[Cell], arguments: argparse.Namespace) -> list[Cell]:
    shown = [cell for cell in table if not arguments.only_off or cell.outcome == "off"]
    if not arguments.worst:
        return shown
    return sorted((cell for cell in shown if cell.outcome != "shown"), key=lambda cell: -cell.excess)


def print_cells(table: Sequence[Cell]) -> None:
    print(f"{'run':52} {'figure':13} {'kernel':>10} {'simulator':>10} {'difference':>10}  verdict")
    for cell in table:
        verdict = f"off ×{cell.excess:.1f}" if cell.outcome == "off" else cell.outcome
        figures = f"{cell.kernel:>10.4g} {cell.simulator:>10.4g} {cell.relative:>+10.1%}"
        print(f"{cell.experiment.key:52} {cell.figure:13} {figures}  {verdict}")


FIGURES = {
    "goodput": ("goodput_up", "goodput_down"),
    "MPDUs up": ("ampdu_up",),
    "MPDUs down": ("ampdu_down",),
    "ping": ("ping_p50",),
    "TCP RTT": ("rtt_up_p50", "rtt_down_p50"),
}


def shares(table: Sequence[Cell]) -> list[tuple[str, list[str]]]:
    """By group of runs, how many cells of each figure are within tolerance: `N/M`."""
    groups = sorted({cell.experiment.group for cell in table})
    rows = [(name, [cell for cell in table if cell.experiment.group == name]) for name in groups]
    return [(name, [share(found, figures) for figures in FIGURES.values()]) for name, found in [*rows, ("all", table)]]


def share(table: Sequence[Cell], figures: Sequence[str]) -> str:
    within, judged = share_within([cell for cell in table if cell.figure in figures])
    return f"{within}/{judged}" if judged else ""


def summarise(table: Sequence[Cell], simulated: Sequence[Simulated]) -> int:
    """The last lines: cells within tolerance by group and figure, runs wholly within it, runs that failed."""
    print(f"{'group':36}" + "".join(f"{name:>12}" for name in FIGURES))
    for name, counts in shares(table):
        print(f"{name:36}" + "".join(f"{count:>12}" for count in counts))
    off = {cell.experiment.key for cell in table if cell.outcome == "off"}
    failed = sum(result.failure is not None for result in simulated)
    cpu_s = sum(result.cpu_s for result in simulated)
    whole = len(simulated) - len(off) - failed
    print(f"{whole} of {len(simulated)} runs wholly within tolerance, {failed} failed, {cpu_s:.0f} s of CPU")
    return 1 if off or failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
