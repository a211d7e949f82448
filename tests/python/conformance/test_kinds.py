"""Every kind of experiment beside the kernel's recorded figures, over several seeds on both sides."""

from __future__ import annotations

import pandas as pd
import pytest

from conformance.kinds import golden
from conformance.kinds.judge import Table, judge, shares, simulate
from conformance.kinds.kinds import KINDS, Case, cases
from conformance.kinds.report import beyond, summary

KERNEL = golden.read()
SEEDS = 5
"""The fewest seeds of a case; also the number that is simulated here."""

COSTLY = ("paths", "chance")
"""Files whose cases take longer."""


def measured(file: str) -> list[Case]:
    names = set(KERNEL[KERNEL["file"] == file]["case"])
    return [case for case in cases() if case.file == file and case.name in names]


def judged(wanted: list[Case], seeds: int) -> Table:
    return judge(wanted, KERNEL[KERNEL["repetition"] <= seeds], 2)


def agrees_as_the_kernel_with_itself(table: Table) -> None:
    """No cell is off, and single runs agree with the kernel's about as often as these do among themselves."""
    assert beyond(table)[2:] == []
    found = shares(table.judged)
    assert found["within"] > found["undecided"]
    assert found["alike"] > found["ceiling"] - 0.05, "\n".join(summary(table))


def test_each_key_that_a_kernel_can_take_has_the_effect_that_it_has_there() -> None:
    table = judged(measured("keys"), SEEDS)
    assert len(table.cases) > 15
    agrees_as_the_kernel_with_itself(table)


def test_flows_whose_order_decides_everything_agree_run_by_run() -> None:
    # One seed of a kernel and another differ by up to 30 % here; the same starts give the same course on both sides.
    of_four = [case for case in measured("chance") if case.name.endswith("small queue, 10 Mbit/s")]
    assert len(of_four) == 3
    kernel = KERNEL[KERNEL["repetition"] <= SEEDS]
    found = kernel.merge(simulate(dict.fromkeys(of_four, SEEDS), 2), on=[*golden.RUN], suffixes=(" kernel", ""))
    assert len(found) == 3 * SEEDS
    for figure in ("tcp_rtt_ms.p50", "tcp_rtt_ms.p90"):
        apart = (found[figure] / found[f"{figure} kernel"] - 1).abs()
        assert apart.max() < 0.001, found[["case", "repetition", figure, f"{figure} kernel"]].to_string()
        assert kernel[figure].std() > 0


@pytest.mark.campaign
@pytest.mark.parametrize("file", COSTLY)
def test_other_paths_agree_too(file: str) -> None:
    agrees_as_the_kernel_with_itself(judged(measured(file), 40))


def test_the_kernel_has_at_least_five_seeds_of_each_case_of_keys() -> None:
    counts = KERNEL.groupby(["file", "case"])["repetition"].nunique()
    assert counts.min() >= SEEDS
    assert set(KERNEL[KERNEL["file"] == "keys"]["case"]) == {case.name for case in cases() if case.file == "keys"}


def test_each_case_of_a_kind_exists_and_has_one_kind() -> None:
    named = [case for each in KINDS.values() for case in each]
    assert len(set(named)) == len(named)
    there = {case.name for case in cases()}
    assert set(named) == there


def test_the_table_counts_each_case_once() -> None:
    cells = pd.DataFrame(
        [(0, "drops", "off", 2.0, 0.0, 1.0), (1, "drops", "within", 0.1, 0.5, 0.4)],
        columns=["configuration", "metric", "outcome", "excess", "alike", "ceiling"],
    )
    lines = summary(Table([Case("keys", "jitter"), Case("keys", "lan")], cells))
    assert lines[-1] == "| **all** | 2 | 1 | 1 | 0 | 25.0 % | 70.0 % |"
