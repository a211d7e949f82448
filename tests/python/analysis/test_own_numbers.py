"""What programs report themselves stands in comparisons beside what was measured of them."""

from typing import Any

from tailback.analysis.differences import METRICS, of_runs
from tailback.analysis.own_numbers import reported

SUMMARY = {
    "goodput_mbps": {"total": 9.6},
    "programs": {
        "iperf3": {"exit": 0, "reported": {"goodput_mbps": 9.5, "retransmits": 3}},
        "dns.a": {"reported": {"queries_per_s": 199.0, "lost_percent": 0.5}},
        "sh": {"exit": 0},
    },
}


def test_a_comparison_has_a_row_for_each_figure_of_a_program() -> None:
    found = of_runs([SUMMARY, {"goodput_mbps": {"total": 9.7}}])
    assert set(METRICS) < set(found)
    assert [key.partition(".")[0] for key in list(found)[-4:]] == ["programs"] * 4
    own = {key: compared for key, compared in found.items() if key.startswith("programs.")}
    assert [(each.title, each.metric.unit, each.read(SUMMARY)) for each in own.values()] == [
        ("iperf3: goodput", "Mbit/s", 9.5),
        ("iperf3: retransmits", "", 3.0),
        ("dns.a: queries", "1/s", 199.0),
        ("dns.a: lost", "%", 0.5),
    ]
    assert [each.read({}) for each in own.values()] == [None] * 4


def test_a_summary_of_another_form_has_none() -> None:
    wrong: list[Any] = [None, [], {"a": 1}, {"a": {"reported": 1}}, {"a": {"reported": {"b": "c"}}}]
    for programs in wrong:
        assert reported({"programs": programs}) == {}
    assert reported(SUMMARY)["iperf3: retransmits"] == 3
