"""Which columns the table of some runs has: those that the runs are about matter most."""

from typing import Any

import pytest

from tailback.analysis.choosing import chosen, latency_of, named
from tailback.analysis.quantities import WrongBound, quantity
from tailback.analysis.repetitions import means

STATISTICS = {"n": 100_000.0} | {f"p{share}": 1.0 for share in (50, 90, 95, 99)}
BULK: dict[str, Any] = {
    "goodput_mbps": {"total": 9.0, "flows": {}}, "ping_ms": STATISTICS, "tcp_rtt_ms": STATISTICS, "jain": 1.0,
    "cwnd_segments": {"a": {"p50": 1.0, "mean": 1.0}}, "drops": {"a -> b": {"overlimit": 3}}, "retransmits": 3,
    "marks": 2,
}  # fmt: skip
APPLICATIONS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a call": ({"mos": {"a": 4.2, "b": 4.0}}, {"MOS"}),
    "requests": ({"request_ms": STATISTICS}, {"request p50", "request p99"}),
    "a video": ({"video": {"v": {"qoe": 3.0, "stalled_s": 0.0, "bitrate_mbps": 4.0}}}, {"QoE"}),
    "pages": ({"page_load_s": STATISTICS}, {"page load p50", "page load p99"}),
    "short flows": ({"flow_completion_s": STATISTICS}, {"completion p50", "completion p99"}),
    "responsiveness": ({"rpm": {"total": 500.0}}, {"RPM"}),
}


def kept(summary: dict[str, Any]) -> set[str]:
    return {each.column.title for each in chosen([summary]) if each.kept}


def test_without_an_application_the_runs_are_about_goodput_delays_and_fairness_not_about_counts() -> None:
    assert {"goodput", "ping p50", "TCP RTT p50", "Jain"} <= kept(BULK)
    assert not {"cwnd p50", "drops", "retrans", "marks"} & kept(BULK)
    tails = {each.column.title: each.rank for each in chosen([BULK]) if each.column.title.startswith("ping")}
    assert min(tails, key=lambda title: (tails[title], title != "ping p50")) == "ping p50"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_what_the_user_of_an_application_sees_comes_before_all_else(name: str) -> None:
    summary, about = APPLICATIONS[name]
    found = chosen([{**BULK, **summary}])
    ranks = {each.column.title: each.rank for each in found}
    assert about <= kept({**BULK, **summary})
    assert all(ranks[title] < ranks["goodput"] < ranks["TCP RTT p50"] < ranks["drops"] for title in about)


def test_udp_is_about_its_loss_and_its_worst_delay() -> None:
    delay = {"cbr": STATISTICS}
    found = kept({"goodput_mbps": {"total": 1.0, "flows": {}}, "udp_loss": {"cbr": 0.1}, "udp_delay_ms": delay})
    assert "UDP loss" in found
    assert any(title.startswith("UDP delay p9") for title in found)


FEW = {**STATISTICS, "n": 300.0}
LATENCIES: dict[str, tuple[dict[str, Any], str | None]] = {
    "bulk with a ping": (BULK, "ping_ms.p99"),
    "a ping that is seldom": ({"ping_ms": FEW, "tcp_rtt_ms": STATISTICS}, "ping_ms.p99"),
    "bulk": ({"tcp_rtt_ms": STATISTICS}, "tcp_rtt_ms.p99"),
    "UDP alone": ({"udp_delay_ms": {"a": STATISTICS, "b": STATISTICS}}, "udp_delay_ms.p99"),
    "few datagrams": ({"udp_delay_ms": {"a": FEW}}, "udp_delay_ms.p95"),
    "requests alone": ({"request_ms": STATISTICS}, "request_ms.p99"),
    "requests beside a ping": ({**BULK, "request_ms": FEW}, "request_ms.p95"),
    "pages beside UDP": ({"page_load_s": FEW, "udp_delay_ms": {"a": STATISTICS}}, "page_load_s.p95"),
    "short flows": ({**BULK, "flow_completion_s": STATISTICS}, "flow_completion_s.p99"),
    "a video": ({"fetch_ms": FEW}, "fetch_ms.p95"),
    "nothing": ({"goodput_mbps": {"total": 1.0}}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", LATENCIES)
def test_the_latency_of_runs_is_that_which_their_table_shows_first(name: str) -> None:
    summary, key = LATENCIES[name]
    found = latency_of([{"goodput_mbps": {"total": 1.0}}, summary])
    assert (None if found is None else found.key) == key
    assert found is None or found.read(summary) == 1.0


def test_p99_is_the_latency_only_if_every_run_has_samples_for_it() -> None:
    found = latency_of([{"request_ms": STATISTICS}, {"request_ms": FEW}])
    assert found is not None
    assert found.key == "request_ms.p95"


def test_names_are_those_of_bounds_and_titles_each_once() -> None:
    titles = [column.title for column in named("Ping p99, mos, MOS, retrans, goodput_mbps.total")]
    assert titles == ["ping p99", "MOS", "retrans", "goodput"]
    with pytest.raises(WrongBound, match="did you mean `ping p99`"):
        named("mos, pign p99")
    with pytest.raises(WrongBound):
        named(" , ")


def test_all_has_every_number_that_some_run_has_once() -> None:
    found = chosen([BULK], "all")
    assert {"cwnd mean", "goodput", "drops", "marks"} <= {each.column.title for each in found}
    assert len({each.column.key for each in found}) == len(found)
    assert all(each.kept for each in found)


@pytest.mark.parametrize(("name", "path"), [("ping p99", "ping_ms.p99"), ("udp delay p99", "udp_delay_ms.p99")])
def test_a_percentile_is_the_same_by_its_name_and_by_its_path_however_few_samples(name: str, path: str) -> None:
    few = {"ping_ms": FEW, "udp_delay_ms": {"a": FEW}}
    assert quantity(name).read(few) == quantity(path).read(few) == 1.0


@pytest.mark.parametrize("key", ["pages_unloaded", "flows_unfinished"])
def test_a_count_is_averaged_over_all_repetitions_also_those_without_any(key: str) -> None:
    runs = [{"goodput_mbps": {"total": 1.0}, key: count} for count in (0, 3, 0)]
    columns = [each.column for each in chosen(runs)]
    assert columns[-1].key == key
    (found,) = means([({"cc": "cubic"}, run) for run in runs], columns)
    assert found.means[columns[-1].title].mean == 1
    none = [{**run, key: 0} for run in runs]
    assert key not in [each.column.key for each in chosen(none)]
