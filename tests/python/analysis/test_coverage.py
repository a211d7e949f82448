"""The table says which flows the numbers of sockets are of, where they are not of all."""

from typing import Any

from tailback.analysis.choosing import chosen
from tailback.analysis.coverage import of_some

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
