"""Lays the simulator beside the real kernel, run by run.

    python -m conformance.wired.compare                             # the whole golden table
    python -m conformance.wired.compare 'cubic-*-std-*' --worst     # a part of it, worst cells first
    python -m conformance.wired.compare reno-R10M-pfifo-std-n1 --trace
    python -m conformance.wired.compare reno-R10M-pfifo-std-n1 --first-divergence 0.1 --plot reno.png

A pattern matches the name of a run or `family/name`. Runs without a golden trace need `--campaign FOLDER` for the
last two. Exit status: 0 when every judged cell is within tolerance, 1 when one is not.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.wired import golden, traces
from conformance.wired.simulate import Simulated, congestion_controls, not_simulated, simulate_all
from conformance.wired.verdict import Cell, cells, share_within


def main() -> int:
    arguments = parsed()
    runs = [run for run in golden.read_runs() if is_wanted(run, arguments.patterns)]
    if not runs:
        raise SystemExit(f"no run matches {' '.join(arguments.patterns)}; names are in {golden.FOLDER / golden.RUNS}")
    if arguments.trace or arguments.first_divergence is not None or arguments.plot:
        return show_trace(runs, arguments)
    return show_table(runs, arguments)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Lay the simulator beside the real kernel.")
    parser.add_argument("patterns", nargs="*", default=["*"], metavar="PATTERN")
    parser.add_argument("--worst", action="store_true", help="judged cells only, worst first")
    parser.add_argument("--only-off", action="store_true", help="only cells out of tolerance")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--trace", action="store_true", help="every TCP_INFO sample of one run, side by side")
    parser.add_argument("--first-divergence", type=float, metavar="SHARE", help="samples until they differ by more")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="cwnd, RTT and throughput of one run")
    parser.add_argument("--campaign", type=Path, metavar="FOLDER", help="where the kernel's own runs are")
    return parser.parse_args()


def is_wanted(run: golden.GoldenRun, patterns: Sequence[str]) -> bool:
    names = (run.experiment.name, run.experiment.key)
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def show_trace(runs: Sequence[golden.GoldenRun], arguments: argparse.Namespace) -> int:
    if len(runs) != 1:
        raise SystemExit("a trace is of one run, these match: " + " ".join(run.experiment.key for run in runs))
    pair = traces.pair(runs[0].experiment, arguments.campaign)
    if arguments.plot:
        traces.draw(pair, arguments.plot)
        print(arguments.plot)
    if arguments.trace or arguments.first_divergence is not None:
        print("\n".join(traces.lines(pair, arguments.first_divergence)))
    return 0


def show_table(runs: Sequence[golden.GoldenRun], arguments: argparse.Namespace) -> int:
    controls = congestion_controls()
    skipped = {run.experiment.key: not_simulated(run.experiment, controls) for run in runs}
    wanted = [run for run in runs if skipped[run.experiment.key] is None]
    print_skipped(skipped)
    simulated = list(simulate_all([run.experiment for run in wanted], arguments.jobs))
    for failed in (result for result in simulated if result.failure):
        print(f"failed: {failed.experiment.key}: {failed.failure}")
    table = [cell for run, result in zip(wanted, simulated, strict=True) for cell in compared(run, result)]
    print_cells(chosen(table, arguments))
    return summarise(table, simulated)


def print_skipped(reasons: dict[str, str | None]) -> None:
    for reason in sorted({reason for reason in reasons.values() if reason}):
        named = [key for key, found in reasons.items() if found == reason]
        print(f"skipped, {reason}: {len(named)} runs")


def compared(run: golden.GoldenRun, result: Simulated) -> list[Cell]:
    return cells(run.experiment, run.kernel, result.measures) if result.measures else []


def chosen(table: list[Cell], arguments: argparse.Namespace) -> list[Cell]:
    shown = [cell for cell in table if not arguments.only_off or cell.outcome == "off"]
    if not arguments.worst:
        return shown
    return sorted((cell for cell in shown if cell.outcome != "shown"), key=lambda cell: -cell.excess)


def print_cells(table: Sequence[Cell]) -> None:
    print(f"{'run':46} {'figure':13} {'kernel':>10} {'simulator':>10} {'difference':>10}  verdict")
    for cell in table:
        verdict = f"off ×{cell.excess:.1f}" if cell.outcome == "off" else cell.outcome
        figures = f"{cell.kernel:>10.4g} {cell.simulator:>10.4g} {cell.relative:>+10.1%}"
        print(f"{cell.experiment.key:46} {cell.figure:13} {figures}  {verdict}")


def summarise(table: Sequence[Cell], simulated: Sequence[Simulated]) -> int:
    """The last lines: cells within tolerance by figure and in all, runs wholly within it, runs that failed."""
    for figure in dict.fromkeys(cell.figure for cell in table if cell.outcome != "shown"):
        within, judged = share_within([cell for cell in table if cell.figure == figure])
        print(f"{figure:13} {within:4d} of {judged:4d} cells within tolerance")
    within, judged = share_within(table)
    off = {cell.experiment.key for cell in table if cell.outcome == "off"}
    failed = sum(result.failure is not None for result in simulated)
    print(f"{'all':13} {within:4d} of {judged:4d} cells within tolerance ({within / max(judged, 1):.1%})")
    print(f"{len(simulated) - len(off) - failed} of {len(simulated)} runs wholly within tolerance, {failed} failed")
    return 1 if off or failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
