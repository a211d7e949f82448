"""The comparison of the simulator with the kernel: simulated twins, figures and verdicts."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from conformance import judge
from conformance.judge import Cell, Figures, Run, share_within
from conformance.wired import golden
from conformance.wired.campaign import extras, final_drops, microseconds, tc_burst
from conformance.wired.criteria import CAMPAIGN
from conformance.wired.experiment import Experiment, htb_burst, small_queue, twin
from conformance.wired.measures import Tables, measure
from conformance.wired.simulate import left_out
from conformance.wired.traces import JUDGED, Pair, by_sample, diverged

RUNS = {run.experiment.key: run for run in golden.read_runs()}
CUBIC = RUNS["wired/cubic-R10M-pfifo-std-n4"]


def test_the_child_under_test_is_at_the_lowest_rate() -> None:
    scenario = twin(RUNS["wired/cubic-R100M-fq_codel-std-n4"].experiment)
    near, far = (shaper["root"] for shaper in scenario["qdiscs"])
    assert (near["options"]["rate"], near["child"]["kind"]) == (1_000_000_000, "pfifo")
    assert (far["options"]["rate"], far["child"]["kind"]) == (100_000_000, "fq_codel")


def test_both_ends_of_a_uniform_path_have_the_child_under_test() -> None:
    scenario = twin(RUNS["wired/cubic-LR1000M-fq_codel-std-n4"].experiment)
    children = [shaper["root"]["child"]["kind"] for shaper in scenario["qdiscs"]]
    assert children == ["fq_codel", "fq_codel"]


def test_the_burst_of_the_second_family_holds_a_millisecond_of_the_rate() -> None:
    assert htb_burst("wired", 10_000_000) == 1600
    assert htb_burst("wired_hzburst", 10_000_000) == 2850
    assert htb_burst("wired_hzburst", 100_000_000) == 14_100
    assert htb_burst("wired_hzburst", 1_000_000_000) == 3120


def test_tc_prints_buckets_in_whole_microseconds_of_their_rate() -> None:
    assert tc_burst(3120, 1_000_000_000) == 3000
    assert tc_burst(2850, 10_000_000) == 2850
    assert tc_burst(14_100, 100_000_000) == 14_100


@pytest.mark.parametrize(("setting", "shift"), [("std", 10), ("x2", 9), ("x64", 4)])
def test_a_factor_lowers_the_pacing_shift_by_its_logarithm(setting: str, shift: int) -> None:
    kind = "time" if setting == "std" else "check"
    assert small_queue(setting) == {"kind": kind, "shift": shift}


def test_staggered_flows_start_one_after_the_other_and_stop_together() -> None:
    scenario = twin(RUNS["wired/cubic-L10M-pfifo-std-n4-stag0.1"].experiment)
    uploads = [flow for flow in scenario["traffic"] if flow["kind"] == "tcp"]
    assert [flow["start_ns"] for flow in uploads] == [5_000_051_000 + step * 100_000_000 for step in range(4)]
    assert {flow["stop_ns"] for flow in uploads} == {35_000_000_000}


def test_a_run_outside_the_model_says_why() -> None:
    unknown = replace(CUBIC.experiment, cc="quic")
    assert left_out(unknown) == "no congestion control `quic` in the simulator"
    assert left_out(CUBIC.experiment) is None


def test_skbs_of_several_segments_are_cut_below_the_shaper_in_the_twin() -> None:
    offloads = [host["offloads"] for host in twin(RUNS["wired/bbr-L100M-pfifo-std-n4-gso1"].experiment)["hosts"]]
    assert offloads == ["gso", "gso", "gso"]
    assert {host["offloads"] for host in twin(CUBIC.experiment)["hosts"]} == {"off"}


def test_socket_options_of_the_campaign_are_set_in_the_simulation() -> None:
    paced, waiting = (
        twin(RUNS[f"wired/{name}"].experiment)["traffic"][0]["socket"]
        for name in ("reno-R100M-pfifo-std-n4-pace1", "bic-LR1000M-pfifo-no-n4-lowat1")
    )
    assert (paced["max_pacing_rate_bps"], paced["rcvlowat"]) == (100_000_000_000, 1)
    assert (waiting["max_pacing_rate_bps"], waiting["rcvlowat"]) == (None, 32_768)


def test_names_and_units_of_the_campaign_are_read() -> None:
    assert extras("bic-LR1000M-pfifo-no-n4-lowat1") == ("lowat",)
    assert [microseconds(span) for span in ("0.2ms", "0us", "1s")] == [200, 0, 1_000_000]
    with pytest.raises(ValueError, match="`5 furlongs` is not a time"):
        microseconds("5 furlongs")


def test_drops_are_those_of_the_roots_at_the_end() -> None:
    root = "qdisc htb 1: root refcnt 2\n Sent 1 bytes 1 pkt (dropped {0}, o)\n"
    section = root + "qdisc pfifo 110: parent 1:10\n (dropped {0}, o)\n"
    middle, near, far = (section.format(dropped) for dropped in (3, 5, 7))
    report = f"## t=15 C c0\n{middle}## t=end C c0\n{near}## t=end R rs\n{far}"
    assert final_drops(report) == 12


def hand_made() -> Tables:
    t = [0.1 * step for step in range(1, 101)]
    info = pd.DataFrame({"t": t, "flow": 0, "snd_cwnd": 10, "rtt": 2000, "min_rtt": 200, "unacked": 4, "wmem_alloc": 0})
    return Tables(
        flows=pd.DataFrame({"t": t, "flow": 0, "bytes": 125_000}),
        tcp_info=info.assign(pacing_rate=1e6, total_retrans=range(100)),
        ping=pd.DataFrame({"t": t, "rtt_ms": [1.0] * 99 + [float("nan")]}),
        drops=3,
    )


def test_figures_of_a_constant_run_are_its_constants() -> None:
    figures = measure(hand_made(), flows=1, duration_s=10)
    assert figures.goodput_mbps == pytest.approx(10)
    assert (figures.rtt_p50, figures.min_rtt, figures.cwnd_mean, figures.pacing_mbps) == (2.0, 0.2, 10, 8)
    assert (figures.jain, figures.retransmits, figures.drops) == (1, 99, 3)


def test_events_before_the_window_do_not_count() -> None:
    tables = hand_made()
    tables.flows.loc[tables.flows["t"] < 4.99, "bytes"] = 10**9
    tables.tcp_info.loc[tables.tcp_info["t"] < 4.9, "rtt"] = 10**9
    figures = measure(tables, flows=1, duration_s=10)
    assert figures.goodput_mbps == pytest.approx(10)
    assert figures.rtt_p90 == 2.0


def test_a_flow_that_received_nothing_lowers_fairness() -> None:
    assert measure(hand_made(), flows=2, duration_s=10).jain == 0.5


def cells(kernel: Figures, ours: Figures) -> dict[str, Cell[Experiment]]:
    return {cell.figure: cell for cell in judge.cells(CAMPAIGN, Run(CUBIC.experiment, kernel), ours)}


def outcome(figure: str, ours: float, kernel: float | None = None) -> str:
    there = {**CUBIC.kernel, figure: CUBIC.kernel[figure] if kernel is None else kernel}
    return cells(there, {**there, figure: ours})[figure].outcome


@pytest.mark.parametrize("name", judge.CAMPAIGNS)
def test_the_kernel_is_within_tolerance_of_itself(name: str) -> None:
    by = judge.campaign(name)
    runs = by.runs()
    within, counted = share_within(cell for run in runs for cell in judge.cells(by, run, run.kernel))
    assert within == counted > 2 * len(runs)


@pytest.mark.parametrize("name", judge.CAMPAIGNS)
def test_the_runs_of_a_campaign_have_names_of_their_own(name: str) -> None:
    keys = [run.experiment.key for run in judge.campaign(name).runs()]
    assert len(set(keys)) == len(keys)


def test_a_goodput_more_than_three_per_cent_away_is_off() -> None:
    assert outcome("goodput_mbps", CUBIC.kernel["goodput_mbps"] * 0.98) == "within"
    assert outcome("goodput_mbps", CUBIC.kernel["goodput_mbps"] * 0.96) == "off"


def test_half_a_millisecond_of_rtt_is_always_within_tolerance() -> None:
    assert [outcome("rtt_p50", ours, kernel=1.0) for ours in (1.4, 1.6)] == ["within", "off"]


def test_few_drops_are_shown_and_many_are_judged() -> None:
    assert outcome("drops", 40, kernel=10) == "shown"
    assert outcome("drops", 60, kernel=10) == "off"
    assert outcome("drops", 480, kernel=400) == "within"


def test_a_figure_that_the_simulator_lacks_is_off_where_it_is_judged() -> None:
    assert outcome("rtt_p50", float("nan")) == "off"
    assert outcome("jain", float("nan")) == "shown"


def test_a_figure_that_the_kernel_lacks_makes_no_cell() -> None:
    assert "rtt_p50" not in cells({**CUBIC.kernel, "rtt_p50": float("nan")}, CUBIC.kernel)


def test_the_excess_is_the_difference_in_tolerances_with_its_sign() -> None:
    kernel = {**CUBIC.kernel, "goodput_mbps": 100.0}
    less = cells(kernel, {**kernel, "goodput_mbps": 94.0})["goodput_mbps"]
    assert less.excess == pytest.approx(-2)
    assert less.distance == pytest.approx(2)
    assert less.relative == pytest.approx(-0.06)


def test_a_difference_can_be_chance_if_any_kind_of_repetition_reaches_it() -> None:
    cell = cells({**CUBIC.kernel, "rtt_p50": 100.0}, {**CUBIC.kernel, "rtt_p50": 150.0})["rtt_p50"]
    drawn = [("seeds", {"rtt_p50": rtt}) for rtt in (140.0, 150.0)]
    late = [("phases", {"rtt_p50": rtt}) for rtt in (150.0, 112.0, 109.0)]
    only_seeds, both = (judge.Spread(cell, judge.ranges(found, "rtt_p50"), 10.0) for found in (drawn, drawn + late))
    assert (only_seeds.is_chance, both.is_chance) == (False, True)
    assert judge.ranges(late, "rtt_p50") == [judge.Range("phases", 109.0, 112.0, 150.0)]


def test_a_run_is_named_in_full_or_by_its_last_part() -> None:
    runs = golden.read_runs()
    assert judge.matching(runs, ["wired/cubic-R10M-pfifo-std-n4"]) == [CUBIC]
    families = {run.experiment.family for run in judge.matching(runs, ["cubic-R10M-pfifo-std-n4"])}
    assert families == {"wired", "wired_hzburst"}
    assert len(judge.matching(runs, [])) == len(runs)


def broken(experiment: Experiment) -> tuple[Figures, float]:
    raise ValueError(f"no {experiment.name}")


def test_a_failed_run_is_reported_and_the_others_continue() -> None:
    (failed,) = judge.each(broken, [CUBIC.experiment], 1)
    assert (failed.figures, failed.failure) == (None, "no cubic-R10M-pfifo-std-n4")


def test_the_first_divergence_is_found_where_it_is() -> None:
    kernel = golden.read_trace("wired/cubic-L10M-pfifo-std-n1")
    assert kernel is not None
    ours = kernel.copy()
    ours.loc[ours["t"].between(2.95, 3.05), "snd_cwnd"] *= 2
    experiment: Experiment = RUNS["wired/cubic-L10M-pfifo-std-n1"].experiment
    differs = diverged(Pair(experiment, by_sample(kernel, 29.95), by_sample(ours, 29.95)), 0.1)
    assert differs.index[differs.any(axis=1)].to_list() == [(30, 0)]
    assert differs.columns.to_list() == list(JUDGED)
