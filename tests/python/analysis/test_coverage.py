"""The table says which flows its numbers are of, where they are not of all."""

from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.analysis.choosing import chosen
from tailback.analysis.coverage import of_some, remarks
from tailback.analysis.registry import numbers

WINDOWS = {"p50": 1.0, "mean": 1.0}
RTT = {"n": 9.0, "p50": 1.0, "p90": 2.0}


def summary(sampled: list[str], others: list[str], **more: Any) -> dict[str, Any]:
    return {
        "goodput_mbps": {"total": 1.0, "flows": dict.fromkeys([*sampled, *others], 1.0)}, "tcp_rtt_ms": RTT,
        "cwnd_segments": dict.fromkeys(sampled, WINDOWS), "retransmits": 3.0, "drops": {"a -> b": {"aqm": 1}}, **more,
    }  # fmt: skip


def said(*summaries: dict[str, Any]) -> str:
    return of_some(summaries, [each.column for each in chosen(summaries)])


def test_connections_that_are_not_sampled_are_named_with_the_numbers_that_leave_them_out() -> None:
    assert said(summary(["update"], ["page.1.1", "page.1.2", "video"])) == (
        "TCP RTT p50, TCP RTT p90 and cwnd p50 are of update alone, without the connections of page and video"
    )
    many = said(summary(["update"], ["a", "b", "c", "d", "e"]))
    assert many.endswith("without the connections of a, b, c and 2 more")


def test_nothing_is_said_where_all_flows_over_tcp_are_sampled_or_none_is() -> None:
    assert said(summary(["upload.1", "upload.2"], [])) == ""
    assert said(summary(["upload.1"], ["upload.2"])) == ""
    assert said(summary(["upload"], ["camera", "call.there"], udp_loss={"camera": 0.0, "call.there": 0.0})) == ""
    assert said({"goodput_mbps": {"total": 1.0, "flows": {"fetch.1": 1.0}}, "request_ms": RTT}) == ""


BACKUP = """\
links: [{ends: [a, b], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: a -> b, name: backup, bytes: 2mb, start: 0.5s}, {tcp: a -> b, name: cross, flows: 2, jitter: 50ms}]
duration: 8s
measure: {warmup: 0s}
"""


def test_jains_index_names_the_flows_that_it_leaves_out_because_they_have_a_size(tmp_path: Path) -> None:
    """Over the means of a window in which one flow was sent and gone, an index would say nothing about sharing."""
    (tmp_path / "x.yaml").write_text(BACKUP)
    (run,) = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out").runs
    shares = [run.summary["goodput_mbps"]["flows"][name] for name in ("cross.1", "cross.2")]
    assert run.summary["jain"] == pytest.approx(sum(shares) ** 2 / (2 * sum(share**2 for share in shares)), rel=1e-4)
    assert run.summary["jain_without"] == ["backup"]
    columns = [each.column for each in chosen([run.summary])]
    assert "Jain is of the flows that always have data, not of backup" in remarks([run.summary], columns)


def test_of_jains_index_nothing_is_said_where_it_is_of_all(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(BACKUP.replace("bytes: 2mb, ", ""))
    (run,) = tailback.run(tmp_path / "x.yaml", out=tmp_path / "out").runs
    assert "jain_without" not in run.summary
    assert not any("Jain" in each for each in remarks([run.summary], [each.column for each in chosen([run.summary])]))


def test_every_column_that_is_of_one_of_several_flows_or_directions_says_of_which() -> None:
    """Two cameras, of which one loses nothing: the table has the loss of the other."""
    of_two = {"p50": 1.0, "p90": 2.0, "p95": 2.0, "p99": 3.0, "n": 5000}
    for metric, number in numbers():
        one = {str(metric.key): {"a": of_two}, "held": {"a": {"send_buffer": 60.0}}}
        two = {str(metric.key): {"a": of_two, "b": of_two}, "held": {"a": {}, "b": {"send_buffer": 60.0}}}
        column = metric.column(number)
        extreme = number.read_by in EXTREMES or metric.of_each is not None or metric.key == "held"
        assert bool(column.of) == extreme, number.title
        said = f"{column.title} is of {column.of}"
        assert (said in remarks([two], [column])) == extreme
        assert said not in remarks([one], [column])


EXTREMES = {
    number.read_by for _, number in numbers()
    if number.read_by is not None and getattr(number.read_by, "__qualname__", "").startswith("_worst")
}  # fmt: skip
