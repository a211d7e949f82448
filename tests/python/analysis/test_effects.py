"""The findings under a table: which value of which axis changes what."""

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest

from tailback.analysis.effects import Finding, Run, findings, tolerances_between
from tailback.analysis.news import DELAY, RATE, judged
from tailback.analysis.registry import METRICS
from tailback.analysis.sentences import document, lines, statements
from tailback.analysis.tolerance import Tolerance

CC, TSQ = ["cubic", "bbr"], ["1ms", "off"]


def run(axes: Mapping[str, str], repetition: int, **summary: Any) -> Run:
    return Run(axes, repetition, summary)


def of_tsq(pings: Mapping[str, tuple[float, float]], repetitions: int = 4, noise: float = 0.01) -> list[Run]:
    """Runs of two controls, with the median ping of each value of `tsq`; the goodput is the same everywhere."""
    return [
        run({"cc": cc, "tsq": tsq}, number, goodput_mbps={"total": 95.0}, ping_ms=sampled(p50=ping + noise * number))
        for cc, both in pings.items()
        for tsq, ping in zip(TSQ, both, strict=True)
        for number in range(repetitions)
    ]  # fmt: skip


ONE_CHANGES = {"cubic": (10.0, 110.0), "bbr": (10.0, 10.0)}


def few(runs: list[Run]) -> list[str]:
    return [each.text for each in statements(findings(runs))]


def every(runs: list[Run]) -> list[str]:
    return [each.text for each in statements(findings(runs), "all")]


def of(axis: str, said: list[str]) -> str:
    return next(each for each in said if each.startswith(axis))


def sampled(n: int = 2000, **values: float) -> dict[str, float]:
    return {"n": n, **values}


def two(reference: dict[str, Any], value: dict[str, Any], repetitions: int = 5) -> list[Run]:
    """Repetitions of two configurations, whose numbers differ a little from repetition to repetition."""

    def moved(summary: Any, factor: float) -> Any:
        if isinstance(summary, dict):
            return {key: each if key == "n" else moved(each, factor) for key, each in summary.items()}
        return summary * factor

    return [
        Run({"rto": name}, repetition, moved(summary, 1 + 0.001 * repetition))
        for name, summary in (("200ms", reference), ("10ms", value))
        for repetition in range(repetitions)
    ]


def test_a_sentence_names_the_change_its_interval_and_where_it_is() -> None:
    said = few(of_tsq(ONE_CHANGES))
    assert of("tsq", said) == (
        "tsq off instead of 1ms: ping p50 rises from 10 to 110 ms, by 100 [100, 100] with cubic; goodput stays within "
        "3 %"
    )
    assert (
        "ping p50 rises from 10 to 110 ms, by 100 [100, 100] with cubic and stays within 10 % or 0.5 ms in 1 of 2"
        in of("tsq", every(of_tsq(ONE_CHANGES)))
    )


def test_a_tail_that_moves_is_the_news_although_the_median_stays() -> None:
    """A retransmission timeout of 10 instead of 200 ms: few requests time out, so the median stays."""
    runs = two(
        {"request_ms": sampled(1280, p50=4.63, p90=4.8, p95=208, p99=212)},
        {"request_ms": sampled(1280, p50=4.63, p90=4.8, p95=16.1, p99=16.1)},
    )
    (said,) = few(runs)
    assert said.startswith("rto 10ms instead of 200ms: request p99 falls from 212 to 16.1 ms, by 196 ")
    assert said.endswith("while p50 and p90 stay within 5 % or 0.5 ms")


@pytest.mark.parametrize("metric", [row for row in METRICS.values() if row.sampled or row.name == "slowdown"])
def test_no_sentence_says_stays_of_a_metric_whose_tail_moves(metric: Any) -> None:
    key = str(metric.key)
    ways = ("tcp_rtt_up_ms", "tcp_rtt_down_ms")
    both = ways if key in ways else (key,)

    def summary(p99: float) -> dict[str, Any]:
        samples = sampled(p50=20.0, p90=21.0, p95=22.0, p99=p99)
        return {name: {"x": samples} if metric.of_each else samples for name in both}

    for change in few(two(summary(30.0), summary(90.0))), every(two(summary(30.0), summary(90.0))):
        if change:
            assert "p99 rises from 30.1 to 90.2" in change[0]
            assert "stay within" not in change[0].replace("p50, p90 and p95 stay within", "")


def test_every_metric_with_samples_that_users_notice_is_judged_by_its_tails() -> None:
    """Those that are left out say how something came about, and not what users get."""
    causes = {
        "pacing_rate_mbps",
        "delivery_rate_mbps",
        "sojourn_ms",
        "byte_index_s",
        "passive_rtt_ms",
        "one_way_delay_ms",
        "tcp_rtt_by_ack_ms",
    }
    for row in METRICS.values():
        if not row.sampled or row.key in causes:
            continue
        samples = sampled(p50=20.0, p90=21.0, p95=22.0, p99=30.0)
        summary = {
            key: {"x": samples} if row.of_each else samples
            for key in (str(row.key), "tcp_rtt_up_ms", "tcp_rtt_down_ms")
        }
        found = {number.statistic for number in judged([summary]) if number.read(summary) == 30.0}
        assert found == {"p99"}, row.name


def test_a_tail_of_too_few_samples_is_not_judged() -> None:
    wild = two(
        {"ping_ms": sampled(150, p50=20, p90=21, p95=22, p99=300)},
        {"ping_ms": sampled(150, p50=20, p90=21, p95=22, p99=30)},
    )
    assert few(wild) == ["rto 10ms instead of 200ms: ping up to p90 stays within 10 % or 0.5 ms"]


def test_each_ping_is_judged_by_itself() -> None:
    """The near station gains what the far one loses: of both together, the median stays."""
    mixed = {"ping_ms": sampled(p50=20)}
    runs = two(
        {**mixed, "pings_ms": {"near": sampled(p50=40), "far": sampled(p50=20)}},
        {**mixed, "pings_ms": {"near": sampled(p50=10), "far": sampled(p50=20)}},
    )
    assert few(runs)[0].startswith("rto 10ms instead of 200ms: ping `near` p50 falls from 40.1 to 10 ms")


def test_the_worst_flow_is_news_although_the_total_stays() -> None:
    def shared(worst: float) -> dict[str, Any]:
        return {"jain": 0.9, "goodput_mbps": {"total": 100.0, "flows": {"a": 100 - worst, "b": worst}}}

    (said,) = few(two(shared(40), shared(10)))
    assert said.startswith("rto 10ms instead of 200ms: goodput of the worst flow falls from 40.1 to 10 Mbit/s")
    assert said.endswith("total goodput stays within 3 %")


@pytest.mark.parametrize(
    ("total", "words"),
    [(39.0, "; total goodput falls from"), (60.0, "; total goodput rises from"),
     (54.4, "; total goodput stays within 3 %")],
)  # fmt: skip
def test_beside_the_worst_flow_the_sum_is_said_whatever_it_does(total: float, words: str) -> None:
    def summary(total: float, worst: float, rtt: float) -> dict[str, Any]:
        goodput = {"total": total, "flows": {"long": worst, "cross": total - worst}}
        return {"goodput_mbps": goodput, "tcp_rtt_ms": sampled(p50=rtt), "jain": 0.9}

    found = findings(two(summary(54.5, 1.4, 218.0), summary(total, 9.2, 42.0)))
    (said,) = [each.text for each in statements(found)]
    assert "goodput of the worst flow rises from 1.4" in said
    assert "TCP RTT p50 falls" in said
    assert words in said


def test_runs_are_compared_by_repetition_and_not_by_their_means() -> None:
    """Identical runs whose repetitions differ much from each other: `compare` says that they are the same."""
    spread = [10.0, 300.0, 40.0]
    runs = [run({"cc": cc}, number, ping_ms=sampled(p50=ping)) for cc in CC for number, ping in enumerate(spread)]
    assert few(runs) == ["cc bbr instead of cubic: ping p50 stays within 10 % or 0.5 ms"]


def test_what_gets_its_own_repetitions_is_paired_by_their_numbers() -> None:
    reference = [run({"cc": "cubic"}, number, ping_ms=sampled(p50=10.0 * number)) for number in (1, 2, 3)]
    value = [run({"cc": "bbr"}, number, ping_ms=sampled(p50=10.0 * number)) for number in (3, 2, 1)]
    assert few([*reference, *value]) == ["cc bbr instead of cubic: ping p50 stays within 10 % or 0.5 ms"]


def test_noise_alone_is_no_news_however_many_numbers_are_compared() -> None:
    """With 400 comparisons of pure noise, ten intervals of 95 % would miss the tolerance of 0."""
    draw = random.Random(1)
    runs = [
        run({"cc": cc, "place": str(place)}, repetition, jain=0.5, goodput_mbps={"total": 100 + draw.gauss(0, 8)},
            ping_ms=sampled(p50=20 + draw.gauss(0, 5)))
        for cc in CC for place in range(200) for repetition in range(4)
    ]  # fmt: skip
    found = findings(runs)
    beyond = sum(
        not -3 <= effect.low <= 3 and effect.low * effect.high > 0
        for finding in found for family in finding.families for outcome in family.outcomes for effect in outcome.effects
    )  # fmt: skip
    assert beyond > 3
    assert not any(finding.size for finding in found)


def test_a_size_compares_metrics_and_is_the_same_both_ways() -> None:
    assert tolerances_between(10, 20, DELAY) == pytest.approx(math.log(2) / 0.1)
    assert tolerances_between(20, 10, DELAY) == tolerances_between(10, 20, DELAY)
    assert tolerances_between(1, 2, DELAY) == pytest.approx(2)
    assert tolerances_between(1, 10, DELAY) == pytest.approx(8 + math.log(2) / 0.1)
    assert tolerances_between(100, 50, RATE) == pytest.approx(math.log(2) / 0.03)
    assert tolerances_between(0.5, 1, Tolerance(absolute=0.05)) == pytest.approx(10)
    assert tolerances_between(0, 100, Tolerance(share=0.25, over=50)) == pytest.approx(4 + math.log(2) / 0.25)


def test_the_largest_news_comes_first_and_one_line_of_each_axis() -> None:
    runs = [
        run({"cc": cc, "q": q}, repetition, goodput_mbps={"total": 95.0},
            ping_ms=sampled(p50=10 + 3 * CC.index(cc) + 100 * number + 0.01 * repetition))
        for cc in CC for number, q in enumerate(("fq_codel", "codel", "pie", "pfifo")) for repetition in range(3)
    ]  # fmt: skip
    said = few(runs)
    assert [each.split(":")[0] for each in said] == [
        "q pfifo instead of fq_codel", "q pie instead of fq_codel", "cc bbr instead of cubic",
    ]  # fmt: skip
    assert lines(findings(runs))[-1] == "• 1 more change: `--findings all`"
    assert statements(findings(runs), "none") == []


def test_the_other_side_of_the_tradeoff_is_said_beside_the_largest_change() -> None:
    fast = {"goodput_mbps": {"total": 98}, "tcp_rtt_ms": sampled(p50=91, p99=285), "retransmits": 3000, "drops": {}}
    slow = {"goodput_mbps": {"total": 5}, "tcp_rtt_ms": sampled(p50=91, p99=101), "retransmits": 100, "drops": {}}
    (said,) = few(two(slow, fast))
    assert "goodput rises from 5.01 to 98.2 Mbit/s" in said
    assert "TCP RTT p99 rises from 101 to 286 ms" in said
    assert "while p50 stays within 10 % or 0.5 ms" in said
    assert "retransmits" not in said
    assert "retransmits rise from 100 to 3006" in every(two(slow, fast))[0]


def test_fairness_and_losses_are_said_only_where_they_change() -> None:
    same = {"goodput_mbps": {"total": 95}, "jain": 0.98, "retransmits": 3}
    assert every(two(same, same))[0] == "rto 10ms instead of 200ms: goodput stays within 3 %"
    other = {**same, "jain": 0.5, "retransmits": 203, "udp_loss": {"call": 0.05}}
    said = every(two({**same, "udp_loss": {"call": 0.001}}, other))[0]
    assert "Jain's index falls from 0.982 to 0.501" in said
    assert "UDP loss rises from 0.1 to 5.01 %" in said
    assert "retransmits rise from 3.01 to 203" in said


def test_one_repetition_gives_no_findings() -> None:
    assert few(of_tsq(ONE_CHANGES, repetitions=1)) == []


def test_noise_as_large_as_the_effect_is_undecided_and_not_an_effect() -> None:
    draws = {"1ms": (10, 110, 210), "off": (210, 110, 40)}
    runs = [
        run({"tsq": tsq}, number, ping_ms=sampled(p50=ping)) for tsq in TSQ for number, ping in enumerate(draws[tsq])
    ]
    assert few(runs) == ["tsq off instead of 1ms: ping p50 is undecided: +10 ms [−450, 470], across 10 % or 0.5 ms"]


def test_a_certain_difference_of_about_the_tolerance_is_said_as_that() -> None:
    runs = [
        run({"port": port}, number, ping_ms=sampled(p50=mean + offset))
        for port, mean in (("fifo", 1.1), ("codel", 0.55))
        for number, offset in enumerate((-0.04, 0.0, 0.03) if port == "fifo" else (0.0, 0.0, 0.0))
    ]
    assert few(runs)[0] == (
        "port codel instead of fifo: ping p50 falls from 1.1 to 0.55 ms, by 0.547 [0.459, 0.634], about as much as the "
        "tolerance of 10 % or 0.5 ms"
    )


def test_a_difference_far_beyond_the_tolerance_is_not_said_to_be_about_as_much() -> None:
    """Two repetitions, of which no test can say more than p = 0.01, and many numbers beside the ping."""
    runs = [
        run(
            {"port": port},
            number,
            ping_ms=sampled(p50=mean + offset, p90=100.0, p95=100.0, p99=100.0),
            tcp_rtt_ms=sampled(p50=50.0),
        )
        for port, mean in (("fifo", 150.0), ("codel", 53.0))
        for number, offset in enumerate((0.0, 6.5) if port == "fifo" else (0.0, 0.0))
    ]
    said = few(runs)[0]
    assert "ping p50 falls from 153 to 53 ms, by 100 [59, 142], beyond 10 % or 0.5 ms" in said
    assert "but not significant at a false discovery rate of 5 %" in said


def test_many_cases_are_given_by_the_largest_and_the_smallest() -> None:
    runs = [
        run({"flows": number, "tsq": tsq}, repetition,
            ping_ms=sampled(p50=10 + (10 * int(number) if tsq == "off" else 0) + 0.01 * repetition))
        for number in map(str, range(1, 6)) for tsq in TSQ for repetition in range(3)
    ]  # fmt: skip
    assert "ping p50 rises in all 5 cases, most from 10 to 60 ms with flows 5" in of("tsq", few(runs))
    assert (
        "ping p50 rises in all 5 cases, least from 10 to 20 ms with flows 1 and most from 10 to 60 ms with flows 5"
    ) in of("tsq", every(runs))


def test_effects_of_both_signs_are_both_said() -> None:
    pings = {"1": 30.0, "2": -15.0, "3": 0.0, "4": 20.0}
    runs = [
        run({"flows": number, "tsq": tsq}, repetition,
            ping_ms=sampled(p50=40 + (added if tsq == "off" else 0) + 0.01 * repetition))
        for number, added in pings.items() for tsq in TSQ for repetition in range(3)
    ]  # fmt: skip
    assert (
        "ping p50 rises in 2 of 4 cases, most from 40 to 70 ms with flows 1, and falls from 40 to 25 ms, by 15 "
        "[15, 15] with flows 2"
    ) in of("tsq", few(runs))
    assert "ping p50 changes in 3 of 4 cases: falls at most from 40 to 25 ms with flows 2 and rises at most" in of(
        "tsq", every(runs)
    )


def test_with_both_directions_their_sum_is_not_mentioned() -> None:
    ways = {"goodput_mbps": {"total": 105.0, "up": 10.0, "down": 95.0}}
    assert few(two(ways, ways)) == ["rto 10ms instead of 200ms: goodput up and goodput down stay within 3 %"]


def test_in_a_network_of_microseconds_half_a_millisecond_is_much() -> None:
    rtt = {"tcp_rtt_ms": sampled(min=0.02, p50=0.1)}
    quick, slow = ({**rtt, "flow_completion_s": sampled(30, p50=p50)} for p50 in (0.001264, 0.0017))
    (said,) = few(two(quick, slow))
    assert said.startswith("rto 10ms instead of 200ms: completion p50 rises from 1.27 to 1.7 ms, by 0.437 [")


def test_what_is_said_is_also_a_document() -> None:
    found: list[Finding] = findings(of_tsq(ONE_CHANGES))
    entry = document(found)[1]
    assert (entry["axis"], entry["value"], entry["reference"]) == ("tsq", "off", "1ms")
    effect = entry["effects"][0]
    assert (effect["metric"], effect["axes"], effect["decision"]) == ("ping p50", {"cc": "cubic"}, "changes")
    assert effect["difference"] == pytest.approx(100)
    assert {each["metric"] for each in document(found, "all")[1]["effects"]} == {"ping p50", "goodput"}
    assert document(found, "none") == []


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ((9.0, 7.8), "page load p50 falls from 9.02 to 7.82 s"),
        (
            (9.0, 8.55),
            "page load p50 falls from 9.02 to 8.57 s, by 0.451 [0.45, 0.452], about as much as the tolerance",
        ),
        ((9.0, 9.0), "page load p50 stays within 5 % or 0.5 ms"),
    ],
)
def test_what_users_see_is_said_although_something_else_changes_more(there: tuple[float, float], said: str) -> None:
    def summary(load: float, rtt: float) -> dict[str, Any]:
        return {"page_load_s": sampled(p50=load), "tcp_rtt_ms": sampled(p50=rtt), "goodput_mbps": {"total": 27}}

    (found,) = few(two(summary(there[0], 20), summary(there[1], 200)))
    assert "TCP RTT p50 rises from 20" in found
    assert said in found


@pytest.mark.parametrize("extent", ["few", "all"])
@pytest.mark.parametrize("metric", [row for row in METRICS.values() if row.sampled])
def test_what_changes_in_another_case_or_the_other_way_is_said_too(metric: Any, extent: str) -> None:
    """Requests over a cable uplink: BBR raises p99 behind PIE, and behind a FIFO all of p50 and p95 falls."""
    both = ("tcp_rtt_up_ms", "tcp_rtt_down_ms")

    def summary(p50: float, p99: float, factor: float) -> dict[str, Any]:
        samples = sampled(p50=p50 * factor, p90=p50 * factor, p95=p50 * factor, p99=p99 * factor)
        keys = both if metric.key in both else (str(metric.key),)
        return {key: {"x": samples} if metric.of_each else samples for key in keys}

    values = {
        "fifo": {"cubic": (200.0, 290.0), "bbr": (60.0, 290.0)},
        "pie": {"cubic": (40.0, 55.0), "bbr": (40.0, 380.0)},
    }
    runs = [
        Run({"q": q, "cc": cc}, number, summary(*pair, 1 + 0.001 * number))
        for q, each in values.items() for cc, pair in each.items() for number in range(5)
    ]  # fmt: skip
    found = [each for each in findings(runs) if each.axis == "cc" and each.size]
    if not found:
        return
    (said,) = [each.text for each in statements(found, extent) if each.text.startswith("cc")]  # type: ignore[arg-type]
    assert "p99 rises from 55.1 to 381" in said
    assert "falls from 200 to 60.1" in said
    shown = {effect["metric"][-3:] for each in document(found, extent) for effect in each["effects"]}  # type: ignore[arg-type]
    assert len(shown) > 1
