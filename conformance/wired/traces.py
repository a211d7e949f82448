"""Prints or draws `TCP_INFO` of one run on both sides.

    python -m conformance.wired.traces wired/reno-R10M-pfifo-std-n1
    python -m conformance.wired.traces wired/reno-R10M-pfifo-std-n1 --first-divergence 0.1 --plot reno.png

A run without a golden trace needs `--truth FOLDER` with the runs of the kernel.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from conformance.judge import matching
from conformance.wired import golden
from conformance.wired.campaign import read_tables
from conformance.wired.experiment import Experiment
from conformance.wired.simulate import simulated_tables

SAMPLE_S = 0.1
SHOWN = ("snd_cwnd", "snd_ssthresh", "rtt", "unacked", "wmem_alloc", "pacing_rate", "bytes_acked", "total_retrans")
JUDGED = ("snd_cwnd", "rtt", "unacked", "bytes_acked", "total_retrans")
# Absolute differences that are ignored, because relative differences of small numbers mean nothing.
SLACK = {"snd_cwnd": 1.0, "rtt": 300.0, "unacked": 2.0, "bytes_acked": 3000.0, "total_retrans": 2.0}


@dataclass(frozen=True)
class Pair:
    """Samples of the same flows at the same times, indexed by (sample, flow)."""

    experiment: Experiment
    kernel: pd.DataFrame
    simulator: pd.DataFrame


def pair(experiment: Experiment, campaign: Path | None) -> Pair:
    """The samples of both sides; the kernel's are from the campaign if its folder is given, else from golden traces."""
    theirs = kernel_trace(experiment, campaign)
    ours = simulated_tables(experiment)[0].tcp_info
    end_s = experiment.duration_s - SAMPLE_S / 2
    return Pair(experiment, by_sample(theirs, end_s), by_sample(ours, end_s))


def kernel_trace(experiment: Experiment, campaign: Path | None) -> pd.DataFrame:
    if campaign is not None:
        return read_tables(campaign / experiment.key).tcp_info
    trace = golden.read_trace(experiment.key)
    if trace is None:
        raise SystemExit(f"no golden trace of {experiment.key}; give the folder of the campaign with --truth")
    return trace


def by_sample(info: pd.DataFrame, end_s: float) -> pd.DataFrame:
    """The samples by number, because the kernel takes each sample some µs late."""
    inside = info[(info["t"] > 0) & (info["t"] < end_s)]
    sample = (inside["t"] / SAMPLE_S).round().astype(int)
    return inside.assign(sample=sample).drop_duplicates(["sample", "flow"]).set_index(["sample", "flow"])[list(SHOWN)]


def diverged(pair: Pair, share: float) -> pd.DataFrame:
    """A table of booleans: which figures differ by more than `share` of the kernel's and by more than the slack."""
    theirs, ours = pair.kernel.align(pair.simulator, join="inner")
    slack = pd.Series(SLACK)
    judged = list(JUDGED)
    difference = (ours[judged] - theirs[judged]).abs()
    return difference.gt((theirs[judged].abs() * share).clip(lower=slack, axis=1))


def lines(pair: Pair, share: float | None) -> Iterator[str]:
    """The samples as `kernel | simulator`; with a share, only up to the first sample that differs by more."""
    differs = diverged(pair, share if share is not None else 0.1)
    yield f"{'t':>5} flow  " + "  ".join(f"{name:>21}" for name in SHOWN)
    for at, marks in differs.iterrows():
        sample, flow = cast(tuple[int, int], at)
        sides = [two_sides(pair, (sample, flow), name, marks) for name in SHOWN]
        yield f"{sample * SAMPLE_S:5.1f} {flow:4d}  " + "  ".join(sides)
        if share is not None and marks.any():
            named = ", ".join(name for name in JUDGED if marks[name])
            yield f"first divergence: flow {flow} at {sample * SAMPLE_S:.1f} s in {named}"
            return


def two_sides(pair: Pair, at: tuple[int, int], name: str, marks: pd.Series[bool]) -> str:
    theirs, ours = (float(cast(float, side.loc[at, name])) for side in (pair.kernel, pair.simulator))
    mark = "*" if name in JUDGED and marks[name] else " "
    return f"{number(theirs):>9} | {number(ours):>8}{mark}"


def number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0f}"


def draw(pair: Pair, path: Path) -> None:
    """Draws cwnd, TCP RTT and throughput of each flow; kernel solid, simulator dashed."""
    figure, axes = plt.subplots(3, 1, sharex=True, figsize=(11, 9), layout="constrained")
    for table, style in ((pair.kernel, "-"), (pair.simulator, "--")):
        for flow, samples in table.groupby(level="flow"):
            draw_flow(axes, samples.droplevel("flow"), (style, f"C{flow}"))
    for axis, label in zip(axes, ("cwnd (segments)", "TCP RTT (ms)", "throughput (Mbit/s)"), strict=True):
        axis.set_ylabel(label)
    axes[0].set_title(f"{pair.experiment.key}: kernel solid, simulator dashed, a colour per flow")
    axes[-1].set_xlabel("Time (s)")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_flow(axes: Sequence[Axes], samples: pd.DataFrame, look: tuple[str, str]) -> None:
    style, colour = look
    t = samples.index.to_numpy() * SAMPLE_S
    acked_mbps = np.gradient(samples["bytes_acked"].to_numpy(dtype=float), t) * 8e-6
    for axis, values in zip(axes, (samples["snd_cwnd"], samples["rtt"] / 1000, acked_mbps), strict=True):
        axis.plot(t, values, style, color=colour, linewidth=1)


def main() -> None:
    parser = argparse.ArgumentParser(description="TCP_INFO of one run, kernel and simulator side by side.")
    parser.add_argument("run", metavar="RUN", help="its name, or family/name; * and ? match")
    parser.add_argument("--first-divergence", type=float, metavar="SHARE", help="samples until they differ by more")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="cwnd, RTT and throughput, instead of the samples")
    parser.add_argument("--truth", type=Path, metavar="FOLDER", help="where the kernel's own runs are")
    options = parser.parse_args()
    runs = matching(golden.read_runs(), [options.run])
    if len(runs) != 1:
        raise SystemExit("a trace is of one run, these match: " + " ".join(run.experiment.key for run in runs))
    both = pair(runs[0].experiment, options.truth)
    if options.plot:
        draw(both, options.plot)
        print(options.plot)
    if not options.plot or options.first_divergence is not None:
        print("\n".join(lines(both, options.first_divergence)))


if __name__ == "__main__":
    main()
