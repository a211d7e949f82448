"""Three staggered flows through a router's AQM: the simulator against runs of a real kernel (`tests/data/wired`)."""

import pytest

from conformance.judge import Run, cells
from conformance.wired.teacup import CAMPAIGN, Experiment, read_golden, simulate, twin

#: A run of each discipline and control; the whole table: python -m conformance teacup --chance
WANTED = (
    "cubic-10ms-codel-180",
    "cubic-10ms-codel-180-rcv600000",
    "cubic-10ms-fq_codel-180",
    "reno-10ms-codel-180",
    "reno-10ms-codel-2000",
    "reno-10ms-fq_codel-2000",
    "reno-10ms-fq_codel-180",
    "cubic-100ms-pie-180-rcv600000",
    "reno-10ms-pie-2000",
    "reno-10ms-pfifo-180",
    "reno-10ms-pfifo-2000-rcv600000",
    "reno-100ms-codel-2000",
    "reno-100ms-fq_codel-180",
)
RUNS = [run for run in read_golden() if run.experiment.name in WANTED]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.experiment.name)
def test_goodput_rtt_and_drops_are_the_kernel_s(run: Run[Experiment]) -> None:
    found = cells(CAMPAIGN, run, simulate(run.experiment)[0])
    assert [str(cell) for cell in found if cell.outcome == "off"] == []
    assert [cell.figure for cell in found if cell.outcome == "within"][:3] == ["goodput_mbps", "rtt_p50", "rtt_p90"]


def test_the_golden_table_has_every_discipline_and_control() -> None:
    runs = read_golden()
    assert len(runs) == 60
    assert {run.experiment.qdisc for run in runs} == {"pfifo", "codel", "fq_codel", "pie"}
    assert {run.experiment.cc for run in runs} == {"cubic", "reno"}


def test_each_pair_of_hosts_has_a_ping_as_in_the_campaign() -> None:
    pings = [entry for entry in twin(RUNS[0].experiment)["traffic"] if entry["kind"] == "ping"]
    assert [(ping["from"], ping["to"]) for ping in pings] == [(0, 3), (1, 4), (2, 5)]
