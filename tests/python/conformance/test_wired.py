"""Compares the simulator with the real kernel, for a representative part of the golden table.

Goodput within 3 %; median and 90th percentile of the TCP RTT within 10 % or 0.5 ms; drops and retransmissions within 25
% where there are more than 50 (`conformance/wired/criteria.py`). The whole table: `python -m conformance wired`;
results and known differences: `conformance/results/wired.md`.
"""

from __future__ import annotations

import functools

import pandas as pd
import pytest

from conformance.judge import Cell, Figures, cells
from conformance.wired import golden
from conformance.wired.criteria import CAMPAIGN
from conformance.wired.experiment import Experiment
from conformance.wired.known import KNOWN_DIFFERENCES, KnownDifference, known
from conformance.wired.simulate import simulate
from conformance.wired.traces import pair

RUNS = {run.experiment.key: run for run in golden.read_runs()}

REPRESENTATIVE = (
    # One flow at each bottleneck: the shape of a control alone.
    "pcap/reno-L10M-pfifo-std-n1",
    "wired/cubic-L10M-pfifo-no-n1",
    "wired/reno-L100M-pfifo-std-n1",
    "wired/cubic-R10M-pfifo-std-n1",
    "wired/reno-R100M-pfifo-std-n1",
    "wired/bbr-R10M-pfifo-std-n1",
    "wired/bbr-L100M-pfifo-no-n1",
    # Four flows, bottleneck at the sender: the small queue from 1 ms to off.
    "wired/cubic-L100M-pfifo-std-n4",
    "wired/cubic-L100M-pfifo-x4-n4",
    "wired/cubic-L100M-pfifo-x64-n4",
    "wired/cubic-L100M-pfifo-no-n4",
    "wired/reno-L10M-pfifo-x2-n4",
    "wired/reno-L10M-pfifo-std-n4-stag0.1",
    "wired/reno-L100M-pfifo-x16-n4",
    "wired/bbr-L100M-pfifo-std-n4",
    "wired/bbr-L10M-pfifo-no-n4",
    "wired/bbr-L10M-pfifo-x8-n4",
    # Four flows, bottleneck at the router: losses.
    "wired/cubic-R10M-pfifo-std-n4",
    "wired/reno-R100M-pfifo-std-n4-stag0.1",
    "wired/bbr-R10M-pfifo-std-n4",
    "wired/bbr-R100M-pfifo-std-n4-stag0.01",
    # FQ-CoDel at both places.
    "wired/cubic-R100M-fq_codel-std-n4",
    "wired/cubic-L10M-fq_codel-no-n4",
    "wired/reno-R10M-fq_codel-std-n4",
    "wired/bbr-R10M-fq_codel-std-n4",
    "wired_hzburst/bbr-L10M-fq_codel-std-n4",
    "wired_hzburst/reno-L100M-fq_codel-std-n4",
    # The other controls the kernel was run with, where they differ most from Reno.
    "wired/bic-R10M-pfifo-std-n4",
    "wired/highspeed-R10M-fq_codel-std-n4",
    "wired/hybla-R10M-fq_codel-std-n4",
    "wired/illinois-R10M-pfifo-std-n4",
    "wired/nv-R10M-pfifo-std-n4",
    "wired/scalable-L100M-pfifo-no-n4",
    "wired/vegas-L100M-pfifo-std-n4",
    "wired/westwood-R10M-fq_codel-std-n4",
    "wired/yeah-R10M-fq_codel-std-n4",
    # No delay but that of the queues.
    "wired/reno-L100M-pfifo-std-n4-rtt0",
)


@functools.cache
def simulated(key: str) -> Figures:
    return simulate(RUNS[key].experiment)[0]


def judged(key: str) -> list[Cell[Experiment]]:
    return [cell for cell in cells(CAMPAIGN, RUNS[key], simulated(key)) if cell.outcome != "shown"]


@pytest.mark.parametrize("key", REPRESENTATIVE)
def test_a_run_is_within_tolerance_of_the_kernel(key: str) -> None:
    off = [str(cell) for cell in judged(key) if cell.outcome == "off" and known(key, cell.figure) is None]
    assert off == []


@pytest.mark.parametrize("difference", KNOWN_DIFFERENCES, ids=lambda entry: f"{entry.key}-{entry.figure}")
def test_a_known_difference_is_still_there(difference: KnownDifference) -> None:
    cell = next(cell for cell in judged(difference.key) if cell.figure == difference.figure)
    assert cell.outcome == "off", f"cured: take it out of known.py and conformance/results/wired.md; {cell}"
    assert cell.relative == pytest.approx(difference.relative, abs=0.03), str(cell)


def test_controls_bottlenecks_and_children_are_all_represented() -> None:
    chosen = [RUNS[key].experiment for key in REPRESENTATIVE]
    assert {run.cc for run in chosen} == {run.experiment.cc for run in RUNS.values()}
    assert {run.bottleneck for run in chosen} == {"L10M", "L100M", "R10M", "R100M"}
    assert {run.child for run in chosen} == {"pfifo", "fq_codel"}


def test_drops_of_a_deterministic_queue_equal_those_of_the_kernel() -> None:
    key = "wired/cubic-R100M-fq_codel-std-n4"
    kernel, ours = RUNS[key].kernel, simulated(key)
    assert {figure: ours[figure] for figure in ("drops", "retransmits")} == {"drops": 1236, "retransmits": 1236}
    assert (kernel["drops"], kernel["retransmits"]) == (1236, 1236)


@pytest.mark.parametrize(
    "key",
    [
        "pcap/reno-L10M-pfifo-std-n1",
        "wired/cubic-L10M-pfifo-std-n1",
        "wired/reno-L100M-pfifo-std-n4",
        "wired/reno-L100M-pfifo-std-n1",
        "wired/cubic-L100M-pfifo-std-n4",
        "wired/cubic-L100M-pfifo-x16-n4",
    ],
)
def test_the_small_queue_stops_each_congestion_window_where_the_kernel_does(key: str) -> None:
    theirs, ours = aligned_windows(key)
    assert (theirs == ours).all(), list(theirs[theirs != ours].index[:5])


@pytest.mark.parametrize("key", ["pcap/cubic-L10M-pfifo-no-n1", "wired/cubic-R100M-pfifo-std-n1"])
def test_the_curve_of_cubic_is_within_a_segment_of_the_kernel(key: str) -> None:
    theirs, ours = aligned_windows(key)
    assert ((theirs - ours).abs() <= 1).mean() >= 0.98


def aligned_windows(key: str) -> tuple[pd.Series[int], pd.Series[int]]:
    """`snd_cwnd` of every flow each 100 ms, of the kernel and of the simulator."""
    both = pair(RUNS[key].experiment, None)
    theirs, ours = both.kernel.align(both.simulator, join="inner")
    assert len(theirs) >= 0.98 * len(both.kernel)
    return theirs["snd_cwnd"], ours["snd_cwnd"]
