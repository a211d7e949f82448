"""Every kind of experiment beside the kernel's recorded figures, over several seeds on both sides."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conformance.kinds import golden
from conformance.kinds.__main__ import main
from conformance.kinds.judge import Table, judge, shares, simulate
from conformance.kinds.kinds import KINDS, SAMPLES, Case, cases, repetitions
from conformance.kinds.report import beyond, summary

KERNEL = golden.read()
SEEDS = 5
"""The fewest seeds of a case; also the number that is simulated here."""

COSTLY = ("paths", "chance", "applications", *SAMPLES)
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


def test_the_kernel_has_every_repetition_of_each_case() -> None:
    counts = KERNEL.groupby(["file", "case"])["repetition"].nunique().to_dict()
    assert set(counts) == {(case.file, case.name) for case in cases()}
    assert [case for case in cases() if counts[case.file, case.name] < repetitions(case)] == []
    assert min(counts.values()) >= SEEDS


def test_complete_runs_of_the_simulator_are_kept_and_used_again(tmp_path: Path) -> None:
    case = Case("chance", "reno, small queue, 10 Mbit/s")
    first = simulate({case: 1}, 1, tmp_path)
    [run] = tmp_path.glob("chance/*/sim/runs/*")
    written = run.stat().st_mtime_ns
    assert simulate({case: 1}, 1, tmp_path).equals(first)
    assert run.stat().st_mtime_ns == written


def test_the_table_of_the_page_is_refused_for_some_of_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["kinds", "--write", "jitter"])
    with pytest.raises(SystemExit, match="has every case"):
        main()


def test_each_case_of_a_kind_exists_and_has_one_kind() -> None:
    named = [case for each in KINDS.values() for case in each]
    assert len(set(named)) == len(named)
    there = {case.name for case in cases() if case.file not in SAMPLES}
    assert set(named) == there
    assert {case.kind for case in cases() if case.file in SAMPLES} == set(SAMPLES.values())


def test_the_table_counts_each_case_once() -> None:
    cells = pd.DataFrame(
        [(0, "drops", "off", 2.0, 0.0, 1.0), (1, "drops", "within", 0.1, 0.5, 0.4)],
        columns=["configuration", "metric", "outcome", "excess", "alike", "ceiling"],
    )
    lines = summary(Table([Case("keys", "jitter"), Case("keys", "lan")], cells))
    assert lines[-1] == "| **all** | 2 | 1 | 1 | 0 | 25.0 % | 70.0 % |"
