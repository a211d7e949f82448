"""Writes `conformance/results/wired.md`, the tables of the wired campaign, and its pictures.

    python -m conformance.wired.report          # a minute or two; tables and pictures

Needs only the golden tables in `tests/data/wired`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from conformance.judge import Cell, Run, judge, share_within, spreads
from conformance.page import DOCS, RESULTS, rows, write_tables
from conformance.wired.criteria import CAMPAIGN
from conformance.wired.experiment import Experiment
from conformance.wired.known import KNOWN_DIFFERENCES
from conformance.wired.traces import SAMPLE_S, Pair, pair
from tailback.plots import style

SETTINGS = ("std", "x2", "x4", "x8", "x16", "x64", "no")
BOTTLENECKS = ("L10M", "R10M", "L100M", "R100M", "LR1000M")
SHORT = {"goodput_mbps": "thr", "rtt_p50": "p50", "rtt_p90": "p90", "retransmits": "rtx", "drops": "drop"}
PICTURES = {
    "wired/cubic-L100M-pfifo-std-n4": "Four CUBIC uploads, bottleneck at the sender, small queue of 1 ms",
    "wired/reno-R10M-pfifo-std-n1": "One Reno upload, bottleneck at the router, tail drops",
    "wired/cubic-R100M-pfifo-std-n1": "One CUBIC upload, bottleneck at the router, tail drops",
    "wired/cubic-R100M-fq_codel-std-n4": "Four CUBIC uploads over FQ-CoDel",
    "wired/bbr-R10M-pfifo-std-n1": "One BBR upload, bottleneck at the router",
    "wired/bbr-L100M-pfifo-std-n4": "Four BBR uploads, bottleneck at the sender, small queue of 1 ms",
}
KERNEL_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc")
OWN_COLOURS = ("#08519c", "#a63603", "#006d2c", "#54278f")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write conformance/results/wired.md and its pictures.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    jobs = parser.parse_args().jobs
    runs = CAMPAIGN.runs()
    cells = judge(CAMPAIGN, runs, jobs).cells
    tables = {
        "shares": shares(cells),
        "worst": worst(cells),
        "known": known_differences(cells, jobs),
        "skipped": skipped(runs),
    }
    write_tables(tables, RESULTS / "wired.md", "python -m conformance.wired.report")
    for path in draw_all([run.experiment for run in runs if run.experiment.key in PICTURES]):
        print(path)


def shares(cells: Sequence[Cell[Experiment]]) -> list[str]:
    judged = [cell for cell in cells if cell.outcome != "shown"]
    body = [share_row(figure, [cell for cell in judged if cell.figure == figure]) for figure in SHORT]
    keys = {cell.experiment.key for cell in judged}
    off = {cell.experiment.key for cell in judged if cell.outcome == "off"}
    body.append(share_row("**all**", judged))
    body.append(
        ["runs with every cell within", str(len(keys - off)), str(len(keys)), percent(len(keys - off), len(keys)), ""]
    )
    return rows(("figure", "within", "judged", "share", "median deviation"), body)


def share_row(name: str, judged: Sequence[Cell[Experiment]]) -> list[str]:
    within, counted = share_within(judged)
    deviations = sorted(abs(cell.relative) for cell in judged)
    return [name, str(within), str(counted), percent(within, counted), f"{deviations[len(deviations) // 2]:.2%}"]


def percent(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"


def worst(cells: Sequence[Cell[Experiment]]) -> list[str]:
    """The table with the worst cell by control, bottleneck, child and small-queue setting."""
    groups: dict[tuple[str, str, str], dict[str, list[Cell[Experiment]]]] = {}
    for cell in cells:
        if cell.outcome != "shown":
            run = cell.experiment
            groups.setdefault((run.cc, run.bottleneck, run.child), {}).setdefault(run.small_queue, []).append(cell)
    body = []
    for key in sorted(groups, key=lambda key: (key[0], BOTTLENECKS.index(key[1]), key[2] != "pfifo")):
        found = [worst_of(groups[key].get(setting, [])) for setting in SETTINGS]
        body.append([*key, *found])
    return rows(("control", "bottleneck", "child", *SETTINGS), body)


def worst_of(cells: Sequence[Cell[Experiment]]) -> str:
    if not cells:
        return ""
    cell = max(cells, key=lambda cell: cell.distance)
    text = f"{cell.relative:+.1%} {SHORT[cell.figure]}"
    return f"**{text}**" if cell.outcome == "off" else text


def known_differences(cells: Sequence[Cell[Experiment]], jobs: int) -> list[str]:
    """The table of known differences, with ranges over seeds, phases and orders (`repetitions`)."""
    by_name = {(cell.experiment.key, cell.figure): cell for cell in cells}
    wanted = [by_name[entry.key, entry.figure] for entry in KNOWN_DIFFERENCES]
    body = []
    for entry, found in zip(KNOWN_DIFFERENCES, spreads(CAMPAIGN, wanted, jobs), strict=True):
        cell = found.cell
        spans = [f"{span.low:.4g}–{span.high:.4g}" for span in found.ranges]
        figures = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"{cell.relative:+.1%}"]
        body.append([f"`{entry.key}` {entry.figure}", *figures, *spans, entry.reason])
    heading = ("cell", "kernel", "simulator", "difference", "10 seeds", "9 phases", "20 orders", "reason")
    return rows(heading, body)


def skipped(runs: Sequence[Run[Experiment]]) -> list[str]:
    reasons = [CAMPAIGN.left_out(run.experiment) for run in runs]
    counted = {reason: reasons.count(reason) for reason in reasons if reason is not None}
    return rows(("runs", "why they are not compared"), [[str(counted[reason]), reason] for reason in sorted(counted)])


def draw_all(experiments: Sequence[Experiment]) -> Iterable[Path]:
    mpl.use("Agg")
    for experiment in experiments:
        path = DOCS / "pictures" / f"fidelity-{experiment.name}.png"
        draw(pair(experiment, None), PICTURES[experiment.key], path)
        yield path


def draw(both: Pair, title: str, path: Path) -> None:
    """Draws cwnd and RTT of each flow: the kernel's lines broad and light, the simulator's thin and dark. What a colour
    says, a line style says as well.
    """
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="constrained")
    for table, colours, width, styles in (
        (both.kernel, KERNEL_COLOURS, 3.0, ("-",) * len(style.LINES)),
        (both.simulator, OWN_COLOURS, 0.8, style.LINES),
    ):
        for flow, samples in table.groupby(level="flow"):
            t = samples.index.get_level_values("sample").to_numpy() * SAMPLE_S
            look = {"color": colours[int(str(flow))], "linewidth": width, "linestyle": styles[int(str(flow))]}
            axes[0].plot(t, samples["snd_cwnd"], **look)
            axes[1].plot(t, samples["rtt"] / 1000, **look)
    label(axes, f"{title}\nKernel broad and light, simulator thin and dark; a colour and a line style per flow")
    # Without date and version, so that the same results give the same file.
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)


def label(axes: Sequence[Axes], title: str) -> None:
    axes[0].set_title(title, fontsize=9)
    for axis, name in zip(axes, ("cwnd (segments)", "TCP RTT (ms)"), strict=True):
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("Time (s)")


if __name__ == "__main__":
    main()
