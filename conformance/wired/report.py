"""Writes what `docs/fidelity.md` says in figures: its tables, between marks, and its pictures.

    python -m conformance.wired.report          # a minute or two; tables and pictures

Needs only the golden tables in `tests/data/wired`. A mark `<!-- table: NAME -->` is followed by a table and
`<!-- end -->`; what stands between them is replaced.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from conformance.wired import golden
from conformance.wired.compare import compared
from conformance.wired.experiment import Experiment
from conformance.wired.known import KNOWN_DIFFERENCES
from conformance.wired.simulate import congestion_controls, not_simulated, simulate_all
from conformance.wired.spread import ranges, simulate_variants
from conformance.wired.traces import SAMPLE_S, Pair, pair
from conformance.wired.verdict import Cell, share_within

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "fidelity.md"
END = "<!-- end -->"
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
    parser = argparse.ArgumentParser(description="Write the tables and pictures of docs/fidelity.md.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    jobs = parser.parse_args().jobs
    controls = congestion_controls()
    runs = golden.read_runs()
    wanted = [run for run in runs if not_simulated(run.experiment, controls) is None]
    results = simulate_all([run.experiment for run in wanted], jobs)
    cells = [cell for run, result in zip(wanted, results, strict=True) for cell in compared(run, result)]
    page = PAGE.read_text(encoding="utf-8")
    tables = {
        "shares": shares(cells),
        "worst": worst(cells),
        "known": known_differences(wanted, cells, jobs),
        "skipped": skipped(runs, controls),
    }
    PAGE.write_text(with_tables(page, tables), encoding="utf-8")
    for path in draw_all([run.experiment for run in wanted if run.experiment.key in PICTURES]):
        print(path)


def with_tables(page: str, tables: Mapping[str, Iterable[str]]) -> str:
    """The page with each table in its place."""
    for name, lines in tables.items():
        mark = f"<!-- table: {name} -->"
        before, found, rest = page.partition(mark)
        _old, end, after = rest.partition(END)
        if not (found and end):
            raise SystemExit(f"{PAGE}: no place for table `{name}`; write `{mark}` and `{END}` on lines of their own")
        page = before + "\n".join([mark, "", *lines, "", END]) + after
    return page


def rows(heading: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown."""
    lines = [heading, ["---"] * len(heading), *body]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def shares(cells: Sequence[Cell]) -> list[str]:
    judged = [cell for cell in cells if cell.outcome != "shown"]
    body = [share_row(figure, [cell for cell in judged if cell.figure == figure]) for figure in SHORT]
    keys = {cell.experiment.key for cell in judged}
    off = {cell.experiment.key for cell in judged if cell.outcome == "off"}
    body.append(share_row("**all**", judged))
    body.append(
        ["runs with every cell within", str(len(keys - off)), str(len(keys)), percent(len(keys - off), len(keys)), ""]
    )
    return rows(("figure", "within", "judged", "share", "median deviation"), body)


def share_row(name: str, judged: Sequence[Cell]) -> list[str]:
    within, counted = share_within(judged)
    deviations = sorted(abs(cell.relative) for cell in judged)
    return [name, str(within), str(counted), percent(within, counted), f"{deviations[len(deviations) // 2]:.2%}"]


def percent(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"


def worst(cells: Sequence[Cell]) -> list[str]:
    """Per control, bottleneck and child a row, per small-queue setting the cell that uses most of its tolerance."""
    groups: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for cell in cells:
        if cell.outcome != "shown":
            run = cell.experiment
            groups.setdefault((run.cc, run.bottleneck, run.child), {}).setdefault(run.small_queue, []).append(cell)
    body = []
    for key in sorted(groups, key=lambda key: (key[0], BOTTLENECKS.index(key[1]), key[2] != "pfifo")):
        found = [worst_of(groups[key].get(setting, [])) for setting in SETTINGS]
        body.append([*key, *found])
    return rows(("control", "bottleneck", "child", *SETTINGS), body)


def worst_of(cells: Sequence[Cell]) -> str:
    if not cells:
        return ""
    cell = max(cells, key=lambda cell: cell.excess)
    text = f"{cell.relative:+.1%} {SHORT[cell.figure]}"
    return f"**{text}**" if cell.outcome == "off" else text


def known_differences(runs: Sequence[golden.GoldenRun], cells: Sequence[Cell], jobs: int) -> list[str]:
    """Each with the range of the figure over seeds, phases and orders (`spread`)."""
    wanted = [run for run in runs if run.experiment.key in {entry.key for entry in KNOWN_DIFFERENCES}]
    variants = simulate_variants([run.experiment for run in wanted], jobs)
    found = {run.experiment.key: values for run, values in zip(wanted, variants, strict=True)}
    by_name = {(cell.experiment.key, cell.figure): cell for cell in cells}
    body = []
    for entry in KNOWN_DIFFERENCES:
        cell = by_name[entry.key, entry.figure]
        spans = [f"{span.low:.4g}–{span.high:.4g}" for span in ranges(found[entry.key], entry.figure)]
        figures = [f"{cell.kernel:.4g}", f"{cell.simulator:.4g}", f"{cell.relative:+.1%}"]
        body.append([f"`{entry.key}` {entry.figure}", *figures, *spans, entry.reason])
    heading = ("cell", "kernel", "simulator", "difference", "10 seeds", "9 phases", "20 orders", "reason")
    return rows(heading, body)


def skipped(runs: Sequence[golden.GoldenRun], controls: frozenset[str]) -> list[str]:
    reasons = [not_simulated(run.experiment, controls) for run in runs]
    counted = {reason: reasons.count(reason) for reason in reasons if reason is not None}
    return rows(("runs", "why they are not compared"), [[str(counted[reason]), reason] for reason in sorted(counted)])


def draw_all(experiments: Sequence[Experiment]) -> Iterable[Path]:
    mpl.use("Agg")
    for experiment in experiments:
        path = DOCS / "pictures" / f"fidelity-{experiment.name}.png"
        draw(pair(experiment, None), PICTURES[experiment.key], path)
        yield path


def draw(both: Pair, title: str, path: Path) -> None:
    """cwnd and RTT of every flow: the kernel's lines broad and light, the simulator's thin and dark upon them."""
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="constrained")
    for table, colours, width in ((both.kernel, KERNEL_COLOURS, 3.0), (both.simulator, OWN_COLOURS, 0.8)):
        for flow, samples in table.groupby(level="flow"):
            t = samples.index.get_level_values("sample").to_numpy() * SAMPLE_S
            axes[0].plot(t, samples["snd_cwnd"], color=colours[int(str(flow))], linewidth=width)
            axes[1].plot(t, samples["rtt"] / 1000, color=colours[int(str(flow))], linewidth=width)
    label(axes, f"{title}\nkernel broad and light, simulator thin and dark, a colour per flow")
    # Neither date nor version: the same results give the same file.
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)


def label(axes: Sequence[Axes], title: str) -> None:
    axes[0].set_title(title, fontsize=9)
    for axis, name in zip(axes, ("cwnd (segments)", "TCP RTT (ms)"), strict=True):
        axis.set_ylabel(name)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("time (s)")


if __name__ == "__main__":
    main()
