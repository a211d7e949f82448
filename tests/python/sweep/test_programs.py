"""What programs did, in the summary of a run."""

from typing import Any

from tailback.analysis import Measure, Window
from tailback.sweep import programs

NOTES: dict[str, Any] = {
    "programs": [
        {"name": "web", "started_s": 0.0, "ended_s": 4.0, "stopped": True, "signal": 15, "host": "server"},
        {
            "name": "iperf3", "started_s": 1.0, "ended_s": 3.25, "stopped": False, "exit": 0,
            "connections": [{"flow": "iperf3.1", "direction": "up"}, {"flow": "iperf3.2", "direction": "down"}],
            "reported": {"goodput_mbps": 9.5},
        },
    ]
}  # fmt: skip


def measure() -> Measure:
    return Measure(Window(0, 1), 1, ("upload",), ("udp",), {"upload": "up"})


def test_the_connections_of_programs_are_flows_of_the_summary() -> None:
    found = programs.with_connections(measure(), NOTES)
    assert found.tcp_flows == ("upload", "iperf3.1", "iperf3.2")
    assert found.directions == {"upload": "up", "iperf3.1": "up", "iperf3.2": "down"}
    assert programs.with_connections(measure(), {}) == measure()


def test_the_summary_says_how_programs_ended_and_what_they_report() -> None:
    assert programs.summary_of(NOTES) == {
        "web": {"signal": 15, "stopped": True, "lasted_s": 4.0},
        "iperf3": {"exit": 0, "lasted_s": 2.25, "reported": {"goodput_mbps": 9.5}},
    }


def test_a_line_is_printed_for_a_program_that_ended_by_itself() -> None:
    assert programs.told({"programs": programs.summary_of(NOTES)}) == [
        "`iperf3` ended with status 0 after 2.250 s, and reports goodput_mbps 9.5"
    ]
    assert programs.told({}) == []


def test_an_entry_of_another_form_is_no_program() -> None:
    for wrong in ("x", [1], [{"name": "a"}], {"a": 1}, [{**NOTES["programs"][0], "started_s": "soon"}]):
        assert programs.summary_of({"programs": wrong}) == {}
        assert programs.told({"programs": wrong}) == []
