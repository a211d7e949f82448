"""Three staggered flows through a router's AQM: the simulator beside a real kernel's runs (`tests/data/wired`)."""

import pytest

from conformance.wired.teacup import Run, off, read_golden, simulated

#: A run of each discipline and control; the whole table: python -m conformance.wired.teacup --spread
WANTED = (
    "cubic-10ms-codel-180",
    "cubic-10ms-codel-180-rcv600000",
    "cubic-10ms-fq_codel-180",
    "reno-10ms-codel-180",
    "reno-10ms-codel-2000",
    "reno-10ms-fq_codel-2000",
    "reno-10ms-fq_codel-180",
    "reno-10ms-pie-180",
    "reno-10ms-pie-2000",
    "reno-10ms-pfifo-180",
    "reno-10ms-pfifo-2000-rcv600000",
    "reno-100ms-pie-2000",
    "reno-100ms-fq_codel-180-rcv600000",
)
RUNS = [run for run in read_golden() if run.name in WANTED]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_goodput_rtt_and_drops_are_the_kernel_s(run: Run) -> None:
    assert off(run, simulated(run)) == []


def test_the_golden_table_has_every_discipline_and_control() -> None:
    runs = read_golden()
    assert len(runs) == 60
    assert {run.qdisc for run in runs} == {"pfifo", "codel", "fq_codel", "pie"}
    assert {run.cc for run in runs} == {"cubic", "reno"}
