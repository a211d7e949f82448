"""The functions that measure claims, on tables small enough to compute by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from papers.hand_made import results, run, wireless
from tailback.papers import load_paper, score
from tailback.papers.measuring import compared, goodput_mbps, held_by, places, ratio, steps, values
from tailback.papers.scorecard import Row
from tailback.papers.teacup14 import first_cut, median_jain
from tailback.papers.ton22 import longest_standstill_s, slow_start_exit_cwnd
from tailback.results import Results, RunResult


def scored(claim: str, *found: Results) -> Row:
    paper = load_paper(claim.split("-", maxsplit=1)[0])
    wanted = [one for one in paper.claims if one.id == claim]
    (row,) = score(paper, wanted, dict(zip(wanted[0].experiments, found, strict=True)))
    return row


def test_cases_are_compared_repetition_by_repetition() -> None:
    found = results(
        *(
            wireless({"tsq": tsq}, mbps, 1, number)
            for tsq, mbps, number in [("1ms", 50, 1), ("1ms", 40, 2), ("off", 100, 2)]
        )
    )
    assert values(found, {"tsq": "1ms"}, goodput_mbps) == [50, 40]
    assert compared(found, ({"tsq": "off"}, {"tsq": "1ms"}), ratio(goodput_mbps)) == [2.5]


def test_steps_are_named_by_what_changes() -> None:
    found = results(*(wireless({"cc": "reno", "tsq": f"{ms}ms"}, 10.0 * ms, 1) for ms in (1, 2, 4)))
    ladder = list(steps("growth", found, places("tsq", "1ms 2ms 4ms", cc="reno"), goodput_mbps))
    assert [(step.case, step.median) for step in ladder] == [
        ("reno TSQ 1ms to TSQ 2ms", 2),
        ("reno TSQ 2ms to TSQ 4ms", 2),
    ]


def test_disciplines_are_compared_with_a_fifo() -> None:
    pings = {"FIFO": 100, "PFIFO": 110, "PIE": 90, "CoDel": 25, "SFQ": 25, "FQ": 25, "FQ-CoDel": 25}

    def measured(pings: dict[str, int], longest: int) -> Results:
        deep = {"PFIFO": longest}
        return results(
            *(
                wireless({"case": "one down", "qdisc": name}, 95, ping, longest=deep.get(name, 500))
                for name, ping in pings.items()
            )
        )

    assert scored("wlan18-f6", measured(pings, 600)).status == "pass"
    assert scored("wlan18-f6", measured(pings, 500)).unwitnessed, "PFIFO is deeper than FIFO"
    bad = measured({**pings, "PIE": 27}, 600)
    row = scored("wlan18-f6", bad)
    assert [sample.quantity for sample in row.misses] == ["ping of PIE"]
    assert "ping of PIE 0.27 of FIFO's (!)" in row.measured


def test_many_cases_are_summarised_by_minimum_and_maximum() -> None:
    names = ["cubic", "highspeed", "hybla", "illinois", "reno", "scalable", "westwood", "yeah"]
    found = results(*(wireless({"flows": "1", "cc": name}, 90.0 + place, 80) for place, name in enumerate(names)))
    assert scored("wlan18-f3-sat", found).measured == "goodput 90 … 97 Mbit/s in 8 cases"


def cwnd_run(samples: Sequence[tuple[float, float, float | None]]) -> RunResult:
    return run({}, {}, tcp_info=pd.DataFrame(samples, columns=["t", "snd_cwnd", "snd_ssthresh"]))


def test_a_constant_window_lasts_from_its_last_change_to_the_next() -> None:
    steady = [(float(second), 20.0 if second < 3 else 30.0, None) for second in range(9)]
    assert longest_standstill_s(cwnd_run(steady)) == 5
    assert longest_standstill_s(cwnd_run([(0.0, 1.0, None), (1.0, 2.0, None), (2.0, 3.0, None)])) == 1


def test_slow_start_ends_where_ssthresh_is_first_known() -> None:
    assert slow_start_exit_cwnd(cwnd_run([(0.0, 10.0, None), (1.0, 40.0, 40.0), (2.0, 50.0, 40.0)])) == 40
    assert slow_start_exit_cwnd(cwnd_run([(0.0, 10.0, None), (1.0, 80.0, None)])) == 80


def test_the_first_cut_is_from_the_peak_to_what_recovery_leaves() -> None:
    rows = [(0.0, 100, "open"), (1.0, 200, "disorder"), (1.1, 150, "recovery"), (2.0, 100, "open"), (3.0, 300, "open")]
    info = pd.DataFrame(rows, columns=["t", "snd_cwnd", "ca_state"]).assign(flow="flow1")
    assert first_cut(run({}, {}, tcp_info=info)) == pytest.approx((200 * 1.448, 100 * 1.448))


def test_sharing_is_judged_in_windows_of_two_seconds() -> None:
    bins = [
        {"t": tick / 10, "flow": flow, "bytes": size}
        for tick in range(1, 101)
        for flow, size in (("flow1", 3000), ("flow2", 1000))
    ]
    assert median_jain(run({}, {}, flows=pd.DataFrame(bins)), (2, 8)) == pytest.approx(0.8)


@pytest.mark.parametrize(("backend", "known"), [("sim", True), ("uml", False), ("netns", False), ("ssh", False)])
def test_only_the_simulator_tells_how_long_the_small_queue_held_a_flow(backend: str, known: bool) -> None:
    scenario = SimpleNamespace(tcp=[SimpleNamespace(name="up", source=0)], host_names=["client"])
    held = {"held": {"up": {"small_queue": 40.0, "window": 60.0}}}
    one: Any = SimpleNamespace(manifest={"backend": backend}, summary=held, scenario=scenario)
    assert math.isnan(held_by("small_queue")(one)) is not known
    assert held_by("window")(one) == 60
