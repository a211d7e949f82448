"""The page about BBRv3 after a fall of the rate: its table, and the mechanism that it describes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import tailback
from tailback.results import RunResult

ROOT = Path(__file__).parents[3]
FALL = 20.0
"""When the rate falls, in s."""
KNOWN = 12.5e6 / 8
"""An estimate of the bandwidth that knows the new rate of 10 Mbit/s, in byte/s."""

SHORTEST_ROUND = 1.4
"""The shortest round trip while the queue is full, in s."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Sequence[RunResult]:
    out = tmp_path_factory.mktemp("falling-rate") / "results"
    return tailback.run(ROOT / "experiments" / "falling-rate.yaml", out=out).runs


def seconds_until_known(run: RunResult) -> float:
    """From the fall until the estimate knows the new rate; infinite if the run ends before."""
    samples = run.table("tcp_info")
    known = samples[(samples["t"] > FALL) & (samples["bbr_bw"] < KNOWN)]["t"]
    return float("inf") if known.empty else float(known.iloc[0]) - FALL


def states(run: RunResult) -> pd.DataFrame:
    """When the control entered each state."""
    events = run.table("events")
    return events[events["what"] == "cc_state"][["t", "reason"]].reset_index(drop=True)


def gaps_after_probes(run: RunResult) -> list[float]:
    """From the end of each UP to the next PROBE_RTT in s, while the estimate is wrong and the round trips are long."""
    log = states(run)
    log = log[(log["t"] > FALL + 15) & (log["t"] < FALL + seconds_until_known(run))]
    names, times = log["reason"].tolist(), log["t"].tolist()
    ups = [i for i, name in enumerate(names) if name == "probe_bw_up" and "probe_rtt" in names[i:]]
    return [times[names.index("probe_rtt", i)] - times[i + 1] for i in ups]


def table() -> dict[str, list[float]]:
    """Shortest, median and longest of each control, as the page has them."""
    text = (ROOT / "docs" / "falling-rate.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| (?:over )?([\d.]+) \|$", text, re.MULTILINE)
    return {name: [float(number) for number in numbers] for name, *numbers in rows}


@pytest.mark.parametrize("control", ["bbr", "bbr2", "bbr3"])
def test_the_times_of_a_control_are_those_of_the_page(runs: Sequence[RunResult], control: str) -> None:
    shortest, _, longest = table()[control]
    found = [seconds_until_known(run) for run in runs if run.axes["cc"] == control]
    assert len(found) == 3
    most = float("inf") if control == "bbr3" else longest + 0.1
    assert all(min(shortest - 0.1, 90) <= seconds <= most for seconds in found), found


def test_bbr3_takes_ten_times_as_long_as_the_others(runs: Sequence[RunResult]) -> None:
    others = max(seconds_until_known(run) for run in runs if run.axes["cc"] != "bbr3")
    assert min(seconds_until_known(run) for run in runs if run.axes["cc"] == "bbr3") > 5 * others


def test_probe_rtt_takes_the_round_trip_that_would_begin_a_new_cycle_from_all_probes_of_bbr3_but_one(
    runs: Sequence[RunResult],
) -> None:
    for run in runs:
        if run.axes["cc"] == "bbr3":
            gaps = gaps_after_probes(run)
            assert len(gaps) >= 5
            assert sum(gap > SHORTEST_ROUND for gap in gaps) <= 1, gaps


def test_the_send_buffer_holds_bbr3_and_nothing_is_lost(runs: Sequence[RunResult]) -> None:
    for run in runs:
        if run.axes["cc"] == "bbr3":
            samples = run.table("tcp_info")
            stuck = samples[(samples["t"] > FALL + 30) & (samples["t"] < FALL + 80)]
            assert stuck["total_retrans"].max() == 0
            assert stuck["rtt"].min() > 1.2e6
            assert stuck["sndbuf_limited"].diff().sum() > 0
