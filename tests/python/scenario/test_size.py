"""The minimum size of a run, and the refusal of runs that do not fit into memory."""

import pytest

from tailback import _core, scenario
from tailback.scenario.size import FLOW_BYTES, parts

FILE = """\
links: [{ends: [client, server], rate: 100mbit, delay: 1ms}]
qdiscs: {client -> server: htb rate 10mbit | pfifo_fast}
traffic:
  - {tcp: client -> server, flows: 2}
  - {ping: client -> server, interval: 10ms}
duration: 10s
"""

ROWS = {"tcp_info": 100, "qdisc": 50, "ping": 10}


def loaded(*settings: str) -> scenario.Experiment:
    return scenario.loads(FILE, settings, file="file.yaml")


def refused(most: int, *settings: str) -> list[scenario.Finding]:
    with pytest.raises(scenario.ScenarioError) as error:
        scenario.refuse_larger(loaded(*settings), most, ROWS)
    return list(error.value.findings)


def test_only_samples_of_sockets_and_disciplines_and_pings_are_certain_rows() -> None:
    found = scenario.size_of(loaded().configurations[0].keys, ROWS)
    # Two sockets and two disciplines, each 100 ms for 10 s; a ping each 10 ms; three flows.
    rows = 200 * 100 + 200 * 50 + 1000 * 10
    assert found == scenario.Size(rows=200 + 200 + 1000, size=rows + 3 * FLOW_BYTES)


@pytest.mark.parametrize(
    ("entry", "flows"),
    [
        ("tcp: client -> server, flows: 7", 7),
        ("tcp: client -> server, size: 10kb, arrivals: poisson 1000/s", 10_000),
        ("tcp: client -> server, size: 10kb, arrivals: poisson 1000/s, start: 2s, stop: 5s", 3000),
        ("tcp: client -> server, size: 10kb, arrivals: onoff 1000/s on 1s off 3s", 2500),
        ("page: client -> server, every: 2s", 5),
        ("request: client -> server, answer: 1kb, connections: 4", 4),
        ("request: client -> server, answer: 1kb, every: 100ms, think: 0s", 100),
    ],
)
def test_flows_count_and_so_do_arrivals_as_many_as_are_expected(entry: str, flows: int) -> None:
    keys = loaded(f"traffic=[{{{entry}}}]", "qdiscs={}").configurations[0].keys
    rows = sum(part.bytes(_core.row_bytes()) for part in parts(keys))
    assert scenario.size_of(keys, _core.row_bytes()).size == rows + flows * FLOW_BYTES


def test_more_flows_than_there_is_memory_for_are_refused() -> None:
    arriving = "traffic=[{tcp: client -> server, size: 10kb, arrivals: periodic 1000/s}]"
    scenario.refuse_larger(loaded(arriving), 10_000 * FLOW_BYTES, ROWS)
    [finding] = refused(10_000 * FLOW_BYTES - 1, arriving)
    assert finding.path == "traffic[0]"
    assert finding.message == (
        "about 10,000 flows need 14 MB of memory, but a run may use 14 MB here; this entry opens 10,000"
    )
    assert finding.hint.startswith("have at most 9,999 flows: fewer arrivals or `flows`, or a shorter `duration`")


def test_an_experiment_that_fits_is_not_refused() -> None:
    scenario.refuse_larger(loaded(), 40_000, ROWS)


def test_the_interval_that_makes_too_many_rows_is_named_with_one_that_fits() -> None:
    [finding] = refused(10**9, "traffic[1].interval=1ns")
    assert (str(finding.where), finding.path) == ("--set traffic[1].interval=1ns", "traffic[1].interval")
    assert "`1ns` gives at least 1e+10 rows in 10s, 100 GB of memory, but a run may use 1 GB here" in finding.message
    assert finding.hint.startswith("give 200ns or more, a `duration` of at most 50ms")
    scenario.refuse_larger(loaded("traffic[1].interval=200ns"), 10**9, ROWS)
    scenario.refuse_larger(loaded("traffic[1].interval=1ns", "duration=50ms"), 10**9, ROWS)


def test_samples_of_a_run_without_end_are_refused() -> None:
    findings = refused(10**9, "duration=1000000000s")
    assert [finding.path for finding in findings] == ["measure.interval", "traffic[1].interval"]


def test_every_value_that_is_offered_fits() -> None:
    for interval in ("1ns", "7ns", "13us"):
        for most in (10**5, 10**7):
            settings = [f"traffic[1].interval={interval}", f"measure.interval={interval}", "duration=5s"]
            offered = {finding.path: finding.hint.split()[1] for finding in refused(most, *settings)}
            given = [f"{path}={word}" for path, word in offered.items()]
            scenario.refuse_larger(loaded(*settings, *given), most, ROWS)


def test_the_simulator_says_what_a_row_of_each_table_takes() -> None:
    assert set(_core.row_bytes()) == {
        "flows",
        "tcp_info",
        "ping",
        "qdisc",
        "sojourns",
        "exchanges",
        "events",
        "udp",
        "datagrams",
        "delays",
        "endpoints",
        "requests",
        "objects",
        "video",
        "wifi",
        "packets",
        "mpdus",
        "senders",
    }
    assert _core.row_bytes()["tcp_info"] > _core.row_bytes()["flows"] >= 20


def test_more_hosts_than_there_is_memory_for_their_routes_are_refused() -> None:
    hosts = ", ".join(f"h{number}" for number in range(100))
    file = f"links: [{{lan: [{hosts}]}}]\ntraffic: [{{tcp: h0 -> h1}}]\nduration: 1s\n"
    with pytest.raises(scenario.ScenarioError) as error:
        scenario.refuse_larger(scenario.loads(file), 80_000, ROWS)
    [finding] = error.value.findings
    # With the switch.
    assert (finding.path, finding.message) == ("links", "the routes of 101 hosts need 0.082 MB of memory")
    assert finding.hint.endswith("connect at most 100 hosts")
