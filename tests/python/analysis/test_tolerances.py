"""Tolerances in words, and verdicts."""

import math

import numpy as np
import pytest

from tailback.analysis.differences import SummaryPair, paired_metrics
from tailback.analysis.rows import records
from tailback.analysis.tolerances import (
    FIDELITY,
    NONE,
    WrongTolerance,
    judged,
    share_within,
    tolerance,
    tolerances,
)
from tailback.analysis.wording import overall

Row = dict[str, object]


def summary(goodput: float = 100.0, rtt: float = 20.0, drops: int = 0) -> dict[str, object]:
    rtts = {"p50": rtt, "p90": rtt}
    return {"goodput_mbps": {"total": goodput}, "tcp_rtt_ms": rtts, "drops": {"a -> b": {"tail_full": drops}}}


def verdicts(reference: list[dict[str, object]], candidate: list[dict[str, object]]) -> dict[str, Row]:
    pairs = [SummaryPair(0, there, here) for there, here in zip(reference, candidate, strict=True)]
    table = judged(paired_metrics(pairs), FIDELITY)
    return {str(row["metric"]): {str(key): value for key, value in row.items()} for row in table.to_dict("records")}


@pytest.mark.parametrize(
    ("name", "words", "reference", "candidate", "allowed"),
    [
        ("goodput", "3%", 100, 90, 3.0),
        ("rtt", "10% or 0.5ms", 100, 90, 10.0),
        ("rtt", "10% or 0.5ms", 1, 2, 0.5),
        ("rtt", "10% or 500us", 1, 2, 0.5),
        ("ping", "0.5ms", 100, 90, 0.5),
        ("drops", "25% over 50", 10, 60, 12.5),
        ("drops", "25% over 50", 400, 0, 100.0),
        ("drops", "25% over 50", 50, 50, None),
        ("drops", "20p", 50, 50, 20.0),
        ("cwnd", "off", 50, 90, None),
    ],
)
def test_a_tolerance_in_words_means_what_it_says(
    name: str, words: str, reference: float, candidate: float, allowed: float | None
) -> None:
    found = tolerance(name, words)
    assert found.allowed(reference, candidate) == pytest.approx(allowed)
    each = found.allowed_each(np.array([reference, 1.0]), np.array([candidate, 2.0, 3.0]))
    assert each.shape == (2, 3)
    assert each[0, 0] == pytest.approx(math.nan if allowed is None else allowed, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("goodput", "3", "3%"),
        ("goodput", "0.5ms", "mbit"),
        ("rtt", "10% or 0.5", "0.5ms"),
        ("rtt", "", "off"),
        ("rtt", "over 50", "3%"),
        ("rtt", "-3%", "3%"),
        ("speed", "3%", "`goodput`"),
    ],
)
def test_other_words_are_refused_with_an_example(name: str, words: str, said: str) -> None:
    with pytest.raises(WrongTolerance, match=said):
        tolerance(name, words)


def test_fairness_is_compared_and_shown_without_a_verdict_on_tolerances() -> None:
    pairs = [SummaryPair(0, {"jain": 0.65 + step}, {"jain": 0.85 + step}) for step in (0.0, 0.01, 0.02)]
    [row] = records(judged(paired_metrics(pairs), FIDELITY))
    assert (row["metric"], row["outcome"]) == ("jain", "shown")
    assert (row["reference"], row["candidate"]) == pytest.approx((0.66, 0.86))


def test_setting_one_tolerance_leaves_the_others() -> None:
    found = tolerances({"goodput": "1%", "rtt": "off"}, FIDELITY)
    assert found["goodput"].share == 0.01
    assert found["rtt"].allowed(1, 100) is None
    assert found["drops"] == FIDELITY["drops"]


def test_within_and_off_are_reported_by_the_tolerance() -> None:
    found = verdicts([summary()] * 2, [summary(goodput=98, rtt=25)] * 2)
    assert found["goodput_mbps.total"]["outcome"] == "within"
    assert found["goodput_mbps.total"]["excess"] == pytest.approx(-2 / 3)
    assert found["tcp_rtt_ms.p50"]["outcome"] == "off"
    assert found["tcp_rtt_ms.p50"]["excess"] == pytest.approx(2.5)
    assert str(found["tcp_rtt_ms.p50"]["verdict"]).startswith("off ×2.5; perhaps higher: +25.0 %")


def test_one_repetition_decides_nothing_unless_it_is_the_same() -> None:
    found = verdicts([summary()], [summary(rtt=25)])
    assert found["goodput_mbps.total"]["outcome"] == "within"
    assert str(found["tcp_rtt_ms.p50"]["verdict"]) == "undecided ×2.5; +25.0 %, one repetition: no interval"


def test_a_tolerance_of_zero_accepts_only_equal_values() -> None:
    by = {**NONE, "goodput": tolerance("goodput", "3%")}
    for there, here, outcome in ((0.0, 0.0, "within"), (0.0, 1.0, "off")):
        pair = SummaryPair(0, summary(goodput=there), summary(goodput=here))
        table = judged(paired_metrics([pair, pair]), by).set_index("metric")
        assert table.loc["goodput_mbps.total", "outcome"] == outcome


def test_few_drops_are_shown_and_many_are_judged() -> None:
    assert verdicts([summary(drops=10)], [summary(drops=40)])["drops"]["outcome"] == "shown"
    assert verdicts([summary(drops=10)] * 2, [summary(drops=60)] * 2)["drops"]["outcome"] == "off"


def test_an_interval_across_the_tolerance_decides_nothing() -> None:
    reference = [summary() for _ in range(5)]
    wide = [summary(goodput=100 + off) for off in (0, 5, -3, 6, 2)]
    narrow = [summary(goodput=100 + off) for off in (0.1, 0.2, 0.1, 0.3, 0.2)]
    crossed = verdicts(reference, wide)["goodput_mbps.total"]
    assert (crossed["outcome"], str(crossed["verdict"])[:14]) == ("undecided", "undecided ×0.7")
    assert str(verdicts(reference, narrow)["goodput_mbps.total"]["verdict"]).startswith("within tolerance; higher")


def test_a_difference_whose_interval_contains_zero_is_not_called_a_difference() -> None:
    reference = [summary() for _ in range(4)]
    here = [summary(goodput=100 + off) for off in (-0.5, 0.5, 0.2, -0.1)]
    assert "no difference shown" in str(verdicts(reference, here)["goodput_mbps.total"]["verdict"])
    assert "the same in every repetition" in str(verdicts(reference, reference)["drops"]["verdict"])


def test_a_value_that_one_side_lacks_is_not_judged() -> None:
    blind = {name: value for name, value in summary().items() if name != "tcp_rtt_ms"}
    found = verdicts([summary()], [blind])
    assert found["tcp_rtt_ms.p50"]["outcome"] == "unknown"
    assert found["tcp_rtt_ms.p50"]["verdict"] == "unknown in the candidate"


def test_the_share_within_counts_only_what_was_judged() -> None:
    pairs = [SummaryPair(0, summary(), summary()), *[SummaryPair(1, summary(), summary(goodput=50))] * 2]
    table = share_within(judged(paired_metrics(pairs), FIDELITY)).set_index("tolerance")
    assert (table["within"]["goodput"], table["judged"]["goodput"]) == (1, 2)
    assert (table["within"]["all"], table["judged"]["all"]) == (5, 6)
    assert (table["off"]["all"], table["undecided"]["all"]) == (1, 0)
    assert (table["alike"]["all"], table["ceiling"]["all"]) == (pytest.approx(2 / 3), 1)
    assert "drops" not in table.index


def test_a_small_excess_is_left_out_and_a_small_difference_is_negligible() -> None:
    reference = [summary(rtt=20 + spread) for spread in (0, 8, 3)]
    near = [summary(rtt=20 + spread, goodput=100 - 0.001 - share) for spread, share in ((0.1, 0), (8, 1e-4), (3, 0))]
    found = verdicts(reference, near)
    assert str(found["tcp_rtt_ms.p50"]["verdict"]).startswith("undecided; ")
    goodput = str(found["goodput_mbps.total"]["verdict"])
    assert goodput.startswith("within tolerance; perhaps lower: −0.001 % (−0.0011 … −0.001 %; ")
    assert goodput.endswith("negligible in practice)")


def test_no_direction_is_printed_with_zeros() -> None:
    """A control that changes the goodput by a billionth, always the same way."""
    reference = [summary(goodput=100 + 1e-7 * spread) for spread in (0, 1, 2, 3)]
    near = [summary(goodput=100 + 1e-6 + 1e-7 * spread) for spread in (0, 1, 2, 3)]
    said = str(verdicts(reference, near)["goodput_mbps.total"]["verdict"])
    assert said.startswith("within tolerance; higher by less than 0.001 % (0 … 0 %; ")
    assert "0.00 %" not in said


@pytest.mark.parametrize(("name", "value"), [("goodput", 100.06), ("rtt", 20.4)])
def test_a_difference_within_what_users_would_notice_is_never_a_large_effect(name: str, value: float) -> None:
    spread = (0, 1e-4, -1e-4, 2e-4, 0)
    found = verdicts(
        [summary() for _ in spread],
        [summary(goodput=value + each) if name == "goodput" else summary(rtt=value + each) for each in spread],
    )
    changed = [str(row["verdict"]) for row in found.values() if row["difference"]]
    assert changed
    assert all(said.endswith("paired p < 0.001, significant, but negligible in practice)") for said in changed)


def test_repetitions_that_are_the_same_on_both_sides_are_within_however_they_vary() -> None:
    both = [summary(goodput=goodput) for goodput in (50, 100, 75)]
    assert verdicts(both, both)["goodput_mbps.total"]["verdict"] == "within tolerance; the same in every repetition"


def test_one_sentence_says_how_many_numbers_differ() -> None:
    pairs = [SummaryPair(0, summary(rtt=20 + 0.1 * step), summary(rtt=30 + 0.1 * step)) for step in range(5)]
    rows = records(judged(paired_metrics(pairs), NONE))
    assert overall(rows) == "of 4 numbers, 2 higher, 2 the same"
    assert overall([]) == "nothing to compare"
