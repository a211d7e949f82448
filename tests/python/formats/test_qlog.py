"""qlog files: those that endpoints of the user write, and those of QUIC stacks read as results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tailback
from command import in_process
from tailback import formats
from tailback.backends import qlog

EVENTS: list[qlog.Event] = [
    ("mine", "from", 10.5, "recovery:metrics_updated", '{"congestion_window": 12000}'),
    ("mine", "from", 210.5, "recovery:metrics_updated", '{"congestion_window": 6000}'),
    ("mine", "to", 30.0, "transport:packet_received", '{"raw": {"length": 1200}}'),
    ("other", "from", 40.0, "connectivity:connection_started", "{}"),
]


def test_each_flow_has_a_file_with_a_trace_for_each_end() -> None:
    found = qlog.files_of(EVENTS)
    assert list(found) == ["mine.qlog", "other.qlog"]
    mine = json.loads(found["mine.qlog"])
    assert (mine["qlog_version"], mine["qlog_format"]) == ("0.3", "JSON")
    assert [trace["vantage_point"]["type"] for trace in mine["traces"]] == ["client", "server"]
    assert [(each["time"], each["data"]) for each in mine["traces"][0]["events"]] == [
        (10.5, {"congestion_window": 12000}),
        (210.5, {"congestion_window": 6000}),
    ]


def event(at: float, name: str, **data: Any) -> dict[str, Any]:
    return {"time": at, "name": name, "data": data}


SENDER = [
    event(1000, "transport:packet_sent", raw={"length": 1252}),
    event(1010, "transport:packet_sent", raw={"length": 1252}),
    event(1050, "transport:packet_received", raw={"length": 60}),
    event(1051, "recovery:metrics_updated", smoothed_rtt=50.5, congestion_window=12520),
    event(1060, "recovery:packet_lost", header={}),
    event(1150, "transport:packet_sent", raw={"length": 1000}),
    event(1151, "recovery:metrics_updated", congestion_window=6260, pacing_rate=8_000_000),
]


def imported(folder: Path, content: str) -> tailback.RunResult:
    (folder / "stack.qlog").write_text(content)
    in_process("import", "qlog", folder / "stack.qlog", "-o", folder / "out")
    return tailback.open(folder / "out").runs[0]


def check(run: tailback.RunResult) -> None:
    assert run.flows[["t", "bytes"]].values.tolist() == [[0.1, 2504], [0.2, 1000]]
    reported = run.table("endpoints")
    assert reported["cwnd_bytes"].tolist() == [12520, 6260]
    # What an update leaves out stays as it was.
    assert reported["rtt"].tolist() == [50_500, 50_500]
    assert reported["lost"].tolist() == [0, 1]
    assert reported["pacing_rate"].dropna().tolist() == [1_000_000]
    assert reported["datagram_bytes"].tolist() == [1252, 1252]
    assert reported["t"].tolist() == pytest.approx([0.051, 0.151])


def test_a_file_of_json_becomes_tables(tmp_path: Path) -> None:
    trace = {"vantage_point": {"type": "client"}, "events": SENDER}
    check(imported(tmp_path, json.dumps({"qlog_version": "0.3", "traces": [trace]})))


@pytest.mark.parametrize("mark", ["\x1e", ""])
def test_records_and_lines_of_json_become_the_same_tables(tmp_path: Path, mark: str) -> None:
    head = {"qlog_version": "0.3", "trace": {"vantage_point": {"type": "client"}}}
    check(imported(tmp_path, "".join(f"{mark}{json.dumps(each)}\n" for each in [head, *SENDER])))


def test_times_since_the_event_before_are_added_up(tmp_path: Path) -> None:
    times = [each["time"] for each in SENDER]
    steps = [now - before for before, now in zip([0, *times[:-1]], times, strict=True)]
    events = [{**each, "time": step} for each, step in zip(SENDER, steps, strict=True)]
    trace = {"vantage_point": {"type": "client"}, "common_fields": {"time_format": "delta"}, "events": events}
    check(imported(tmp_path, json.dumps({"traces": [trace]})))


def test_what_an_endpoint_wrote_is_read_and_drawn(tmp_path: Path) -> None:
    (tmp_path / "mine.qlog").write_bytes(qlog.files_of(EVENTS)["mine.qlog"])
    in_process("import", "qlog", tmp_path / "mine.qlog", "-o", tmp_path / "out")
    in_process("plot", tmp_path / "out", "-p", "cwnd")
    assert tailback.open(tmp_path / "out").runs[0].table("endpoints")["cwnd_bytes"].tolist() == [12000, 6000]
    assert (tmp_path / "out" / "plots" / "cwnd.png").is_file()


def test_goodput_is_not_known_where_a_trace_has_no_packets(tmp_path: Path) -> None:
    events = [each for each in SENDER if not each["name"].rpartition(":")[2].startswith("packet_")]
    content = json.dumps({"traces": [{"vantage_point": {"type": "client"}, "events": events}]})
    (tmp_path / "x.qlog").write_text(content)
    in_process("import", "qlog", tmp_path / "x.qlog", "-o", tmp_path / "out")
    in_process("plot", tmp_path / "out", "-p", "timeseries")
    [run] = tailback.open(tmp_path / "out").runs
    assert "goodput_mbps" not in run.summary
    assert not run.has("flows")
    assert run.table("endpoints")["cwnd_bytes"].tolist() == [12520, 6260]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("no json", "it is not JSON"),
        ('{"traces": [{"events": [{"time": 1, "name": "a:b", "data": {}}]}]}', "no event is `packet_sent`"),
        ("{}", "it has no event with a time, a name and data"),
        ('{"traces": 3}', "`traces` is not a list"),
        ('{"traces": [{"events": [[1, "recovery", "metrics_updated", {}]]}]}', "it has no event"),
        ('{"traces": [{"events": [{"time": 1e300, "name": "a:b", "data": {}}]}]}', "it has no event"),
    ],
)
def test_what_is_no_qlog_is_refused_with_its_reason(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "x.qlog").write_text(content)
    with pytest.raises(formats.NotReadable, match=said):
        formats.import_files("qlog", [tmp_path / "x.qlog"], tmp_path / "out", {})
