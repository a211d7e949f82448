"""What is compared of two runs of which one has counters only."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd

from tailback import scenario, sweep
from tailback.results import RunResult, open_results
from tailback.validation import summary_by_counters

CELL = """\
links:
  - {wifi: {ap: router, stations: [client]}, standard: 802.11n, width: 20MHz, mcs: 3, guard: 800ns, driver: ath9k}
  - {ends: [router, server], rate: 1gbit, delay: 5ms}
traffic: [{tcp: server -> client, name: download, stop: 4s}]
duration: 4s
tsq: 8ms
"""


def test_drops_above_a_radio_are_compared_though_it_has_no_discipline(tmp_path: Path) -> None:
    path = tmp_path / "cell.yaml"
    path.write_text(CELL)
    done = sweep.run_experiment(scenario.load(path), sweep.Request("sim", 1, tmp_path / "out"), sweep.Silent())
    run = open_results(done.folder).runs[0]
    assert run.summary["drops"]["router -> air"]["aqm"] > 0
    assert summary_by_counters(run)["drops"] == run.summary["drops"]


def test_marks_above_a_radio_are_events_of_its_device(tmp_path: Path) -> None:
    path = tmp_path / "cell.yaml"
    ecn = "{sysctl: {net.ipv4.tcp_ecn: 1}}"
    path.write_text(f"{CELL}hosts: {{client: {ecn}, server: {ecn}}}\n")
    done = sweep.run_experiment(scenario.load(path), sweep.Request("sim", 1, tmp_path / "out"), sweep.Silent())
    run = open_results(done.folder).runs[0]
    marks = run.events[run.events["what"] == "mark"]
    assert set(marks["where"]) == {"router -> air"}
    assert set(marks["flow"]) == {"download"}
    assert len(marks) == run.summary["marks"] == summary_by_counters(run)["marks"] > 0
    assert run.summary["drops"] == {}


def test_drops_and_marks_that_a_kernel_counts_above_a_radio_are_compared() -> None:
    columns = ["t", "device", "what", "reason", "count"]
    radios = [(0.5, "router -> air", "drop", "aqm", 7), (0.5, "router -> air", "mark", "aqm", 2)]
    tables = {"radios": pd.DataFrame(radios, columns=columns)}
    qdisc = pd.DataFrame({name: pd.Series(dtype=float) for name in ("t", "device", "depth", "dropped", "marked")})
    run = SimpleNamespace(
        has=tables.__contains__, table=tables.__getitem__, qdisc=qdisc, summary={}, window_ns=(0, 1_000_000_000)
    )
    found = summary_by_counters(cast(RunResult, run))
    assert found == {"drops": {"router -> air": {"aqm": 7}}, "marks": 2}
