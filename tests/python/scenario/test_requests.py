"""Requests and answers over TCP: what they become, how long they take alone, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.backends.linux import suitable
from tailback.resolved import Request
from tailback.scenario import ScenarioError, loads

FILE = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 10ms}
traffic:
  - %s
duration: 10s
"""


def flows(scenario: Any, entry: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scenario(FILE % entry)["traffic"]
    return found


def run(folder: Path, entry: str) -> Any:
    file = folder / "request.yaml"
    file.write_text(FILE % entry, encoding="utf-8")
    (found,) = tailback.run(file, out=folder / "out").runs
    return found


def test_each_connection_draws_its_own_answers_and_pauses(scenario: Any) -> None:
    entry = "{request: client -> server, answer: exponential 50kb, think: exponential 1s, connections: 6}"
    found = flows(scenario, entry)
    assert [each["name"] for each in found] == [f"request.{number}" for number in range(1, 7)]
    assert len({tuple(each["answers"]) for each in found}) == 6
    for each in found:
        assert sum(each["answers"]) / len(each["answers"]) == pytest.approx(51_200, rel=0.15)
        assert sum(each["pauses_ns"]) / len(each["pauses_ns"]) == pytest.approx(1e9, rel=0.15)
    assert flows(scenario, entry) == found


def test_a_request_with_an_answer_of_one_segment_takes_a_round_trip(tmp_path: Path) -> None:
    found = run(tmp_path, "{request: client -> server, size: 100b, answer: 1000b, think: 100ms}")
    # 100 and 1000 bytes with 52 of headers and 38 of Ethernet at 100 Mbit/s, and 20 ms.
    expected = 20 + (100 + 90 + 1000 + 90) * 8 / 100e6 * 1e3
    assert found.summary["request_ms"]["p50"] == pytest.approx(expected, abs=0.02)
    assert found.summary["request_ms"]["p99"] == pytest.approx(expected, abs=0.02)
    # A handshake, and then one in 120 ms.
    assert found.summary["request_ms"]["n"] == pytest.approx(10 / 0.1201, abs=1)


def test_an_answer_of_three_windows_takes_three_round_trips_the_first_time(tmp_path: Path) -> None:
    """Windows of 10, 20 and 40 segments. Later the window is large enough."""
    found = run(tmp_path, f"{{request: client -> server, answer: {60 * 1448}b, think: 50ms}}")
    latencies = found.table("requests")["latency_ms"]
    assert 60 < latencies.iloc[0] < 75
    assert latencies.iloc[-1] < latencies.iloc[0]


def test_answers_are_goodput_and_requests_wait_for_one_another(tmp_path: Path) -> None:
    found = run(tmp_path, "{request: client -> server, answer: 1mb, connections: 6}")
    table = found.table("requests")
    assert found.summary["goodput_mbps"]["total"] == pytest.approx(100 * 1448 / 1538, rel=0.03)
    for _, rows in table.groupby("flow"):
        ends = rows["t"] + rows["latency_ms"] / 1000
        assert (rows["t"].to_numpy()[1:] >= ends.to_numpy()[:-1] - 1e-9).all()
        assert rows["seq"].tolist() == list(range(len(rows)))


def test_a_request_that_is_not_answered_has_no_latency(tmp_path: Path) -> None:
    found = run(tmp_path, "{request: client -> server, answer: 10gb}")
    assert found.table("requests")["latency_ms"].isna().all()
    assert "request_ms" not in found.summary


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{request: client -> server}", "answer"),
        ("{request: client -> server, answer: 0b}", "a size of zero"),
        ("{request: client -> server, answer: pareto 1kb shape 1}", "infinite mean"),
        ("{request: client -> server, answer: 1kb, size: 0b}", "`0` bytes leave nothing to ask"),
        ("{request: client -> server, answer: 1kb, think: sometimes}", "`sometimes` is not a pause"),
        ("{request: client -> nobody, answer: 1kb}", "there is no host `nobody`"),
    ],
)
def test_what_cannot_be_is_refused(scenario: Any, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(FILE % entry)


def test_a_kernel_takes_ten_thousand_connections_at_most() -> None:
    several = "{request: client -> server, answer: 1kb, connections: 10000}"
    assert not list(suitable.findings(next(iter(loads(FILE % several).runs())).scenario))
    more = loads((FILE % several).replace("duration", "  - {tcp: client -> server}\nduration"))
    ((what, remedy),) = suitable.findings(next(iter(more.runs())).scenario)
    assert what == "10,001 TCP connections in one run, and the agent opens 10,000"
    assert "--backend sim" in remedy


def test_answers_are_a_download_of_the_client() -> None:
    (planned,) = loads(FILE % "{request: client -> server, answer: 1kb}").runs()
    assert planned.directions == {"request": "down"}


def test_with_an_interval_a_connection_opens_for_each_request() -> None:
    (planned,) = loads(FILE % "{request: client -> server, answer: 1kb, every: 2s}").runs()
    opened = [flow for flow in planned.scenario.flows if isinstance(flow, Request)]
    found = [(flow.name, flow.start_ns, flow.count) for flow in opened]
    assert found == [(f"request.{number + 1}", number * 2_000_000_000, 1) for number in range(5)]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("every: 1s, connections: 2", "`connections` stay open"),
        ("every: 1s, think: 1s", "does not pause"),
        ("every: 1s, barrier: round", "does not wait for others"),
        ("every: 1us", "an entry may have 10,000"),
    ],
)
def test_what_cannot_go_with_an_interval_is_refused(scenario: Any, entry: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(FILE % f"{{request: client -> server, answer: 1kb, {entry}}}")


def test_the_rpm_of_a_path_without_queue_is_a_minute_over_its_round_trip(tmp_path: Path) -> None:
    """20 ms, and the transmission of 166 bytes or less each way."""
    file = tmp_path / "idle.yaml"
    file.write_text(FILE % "{request: client -> server, size: 100b, answer: 100b, every: 200ms}")
    summary = next(iter(tailback.run(file, out=tmp_path / "results").runs)).summary
    assert summary["rpm"]["idle"] == pytest.approx(60 / 0.020, rel=0.005)
