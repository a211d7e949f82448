"""Claims as data: every claim can be measured, and the scorecard has the right verdict for each."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from pydantic import ValidationError

from papers.hand_made import HandMade, results, run
from tailback.papers import Claim, Paper, Row, UnknownPaper, as_document, load_paper, papers, score
from tailback.papers.claims import Expected, is_part
from tailback.papers.figures import DRAWINGS, drawings_of
from tailback.papers.reproduction import experiment_file
from tailback.papers.sample import Sample
from tailback.papers.scorecard import EVALUATORS, NOT_REPRODUCED, UNEXPLAINED
from tailback.results import Results

ACCESS21 = load_paper("access21")


def row(claim: str, found: Results) -> Row:
    wanted = [one for one in ACCESS21.claims if one.id == claim]
    (scored,) = score(ACCESS21, wanted, {wanted[0].experiments[0]: found})
    return scored


def ping_run(tsq: str, ms: float, repetition: int = 1, bottleneck: str = "L100M") -> HandMade:
    return run({"bottleneck": bottleneck, "tsq": tsq}, {"ping_ms": {"p50": ms}}, repetition)


DROP = pd.DataFrame({"t": [1.0], "what": "drop", "flow": "upload", "reason": "tail"})


def rtt_run(axes: dict[str, str], **percentiles: float) -> HandMade:
    return run(axes, {"tcp_rtt_ms": percentiles}, events=DROP)


def fifo(tsq: str, cc: str, ms: float, bottleneck: str = "L10M") -> HandMade:
    return rtt_run({"bottleneck": bottleneck, "cc": cc, "qdisc": "pfifo_fast", "tsq": tsq}, p50=ms)


@pytest.mark.parametrize("name", papers())
def test_every_claim_of_a_paper_can_be_measured_and_no_other(name: str) -> None:
    assert [claim.id for claim in load_paper(name).claims] == list(EVALUATORS[name])


def test_every_claim_is_there_once() -> None:
    listed = Path(__file__).with_name("claims.txt").read_text().split()
    assert sorted(claim.id for name in papers() for claim in load_paper(name).claims) == sorted(listed)


@pytest.mark.parametrize("name", papers())
def test_the_experiments_of_claims_and_figures_are_in_the_library(name: str) -> None:
    wanted = [*(claim.experiments for claim in load_paper(name).claims), *(one.experiments for one in DRAWINGS[name])]
    used = {experiment for each in wanted for experiment in each}
    there = {file.stem for file in experiment_file(name, min(used)).parent.glob("*.yaml")}
    assert used == there
    assert len(drawings_of(load_paper(name))) > len(DRAWINGS[name])


@pytest.mark.parametrize("name", papers())
def test_every_claim_is_about_a_figure_that_is_drawn(name: str) -> None:
    for claim in load_paper(name).claims:
        assert any(is_part(claim.figure, drawing.figure) for drawing in DRAWINGS[name]), claim.id


def test_the_median_over_repetitions_decides() -> None:
    values = ((1.0, 12.0), (1.0, 50.0), (2.0, 4.0))
    runs = [
        one
        for number, (std, off) in enumerate(values, 1)
        for one in (ping_run("1ms", std, number), ping_run("off", off, number))
    ]
    found = row("access21-f4-ping-local", results(*runs))
    assert (found.status, found.samples[0].median) == ("pass", 12)
    assert found.measured == "ping ratio 12 ± 63 ×"


def test_repetitions_that_only_one_side_has_do_not_count() -> None:
    found = row("access21-f4-ping-local", results(ping_run("1ms", 1), ping_run("off", 30), ping_run("off", 1, 2)))
    assert list(found.samples[0].values) == [30]


def test_a_claim_holds_only_if_it_holds_in_every_case() -> None:
    runs = [
        run({"bottleneck": place, "tsq": tsq}, {"goodput_mbps": {"total": 95.0 if place == "L100M" else 80.0}})
        for place in ("L100M", "R100M")
        for tsq in ("1ms", "off")
    ]
    found = row("access21-f4-thr", results(*runs))
    assert (found.status, found.note) == ("fail", UNEXPLAINED)
    assert len([sample for sample in found.samples if sample.quantity == "goodput"]) == 4


def test_a_claim_that_the_kernel_misses_too_says_so() -> None:
    found = row("access21-f5b-l10", results(fifo("off", "bbr", 82.0), fifo("1ms", "bbr", 15.0)))
    assert found.status == "fail"
    assert "Linux 5.10" in found.note


def test_the_same_claim_passes_without_a_word_when_it_holds() -> None:
    found = row("access21-f5b-l10", results(fifo("off", "bbr", 25.0), fifo("1ms", "bbr", 15.0)))
    assert (found.status, found.note, found.measured) == ("pass", "", "TCP RTT saved 10 ms")


def test_a_ratio_of_two_orders_of_magnitude() -> None:
    assert row("access21-f5a-l10", results(fifo("off", "cubic", 900), fifo("1ms", "cubic", 10))).status == "pass"
    assert row("access21-f5a-l10", results(fifo("off", "cubic", 200), fifo("1ms", "cubic", 10))).status == "fail"


@pytest.mark.parametrize(
    ("p99", "p1", "verdict"), [(122.0, 80.0, "pass"), (90.0, 50.0, "fail"), (122.0, 110.0, "fail")]
)
def test_a_saw_tooth_has_a_peak_and_a_valley(p99: float, p1: float, verdict: str) -> None:
    assert row("access21-f6-saw", results(rtt_run({"cc": "cubic", "tsq": "off"}, p99=p99, p1=p1))).status == verdict


def probing(*entries: tuple[float, str]) -> Results:
    table = pd.DataFrame(entries, columns=["t", "flow"]).assign(what="cc_state", reason="probe_rtt")
    return results(run({"cc": "bbr", "tsq": "off"}, {}, events=table))


def test_entries_into_probe_rtt_are_distinguished_by_flow() -> None:
    found = row("access21-f6-probertt", probing((15, "a"), (18, "b"), (25, "a"), (28.5, "b")))
    assert [sample.median for sample in found.samples] == [10, 10.5]
    assert found.status == "pass"


def test_probe_rtt_every_five_seconds_is_a_miss() -> None:
    assert row("access21-f6-probertt", probing((15, "a"), (20, "a"))).status == "fail"


def test_one_entry_into_probe_rtt_has_no_interval_and_is_skipped() -> None:
    found = row("access21-f6-probertt", probing((15, "a")))
    assert (found.status, found.measured) == ("skipped", "")
    assert "shortest interval" in found.note


def small_queue(drops: int) -> Results:
    dropped = pd.DataFrame({"t": [1.0] * drops, "what": "drop", "flow": "upload", "reason": "tail"})
    cubic = run({"cc": "cubic", "tsq": "1ms"}, {"tcp_rtt_ms": {"p90": 4.0}}, events=dropped)
    return results(cubic, rtt_run({"cc": "bbr", "tsq": "1ms"}, p90=2.7))


def test_a_drop_at_the_local_queue_is_a_miss() -> None:
    assert row("access21-f7-tsq", small_queue(0)).status == "pass"
    assert row("access21-f7-tsq", small_queue(1)).status == "fail"


def test_a_claim_without_results_is_skipped_not_passed() -> None:
    (first, *_rest) = score(ACCESS21, ACCESS21.claims, {})
    assert (first.status, first.note) == ("skipped", "experiment `fig4` was not run")
    found = row("access21-f4-ping-remote", results(ping_run("1ms", 1), ping_run("off", 2)))
    assert found.status == "skipped"
    assert "`R100M`" in found.note


def test_the_document_says_what_scripts_rely_on() -> None:
    rows = score(ACCESS21, ACCESS21.claims, {"fig4": results(ping_run("1ms", 1), ping_run("off", 30))})
    claims = {entry["id"]: entry for entry in as_document(rows)["claims"]}
    assert len(claims) == len(ACCESS21.claims)
    local = claims["access21-f4-ping-local"]
    assert local == {
        "id": "access21-f4-ping-local",
        "paper": "access21",
        "figure": "4",
        "status": "pass",
        "measured": "ping ratio 30 ×",
        "expected": "ping ratio ≥ 10 ×; held by TSQ ≥ 50 %",
        "note": "",
    }
    assert claims["access21-f7-tsq"]["measured"] is None


def test_a_figure_names_its_parts_too() -> None:
    assert [claim.id for claim in ACCESS21.of_figure("5b")] == ["access21-f5b-l10", "access21-f5b-l100"]
    assert len(ACCESS21.of_figure("fig5")) == 4
    assert ACCESS21.of_figure("12") == []


@pytest.mark.parametrize(
    ("figures", "wanted", "verdict"),
    [("5a", "5", True), ("5a", "5b", False), ("4a-b", "fig4b", True), ("4a-b", "4c", False), ("5, 12", "12", True),
     ("10-14", "12", True), ("10-14", "15", False), ("9", "9c", True), ("4d, 4f", "4e", False), ("4", "x", False)],
)  # fmt: skip
def test_figures_are_ranges_of_numbers_and_letters(figures: str, wanted: str, verdict: bool) -> None:
    assert is_part(figures, wanted) is verdict


def test_an_unknown_paper_is_an_error_that_lists_the_papers() -> None:
    with pytest.raises(UnknownPaper, match="there is `access21`, `teacup14`"):
        load_paper("rfc1149")


def test_an_expectation_without_bounds_or_with_a_slip_is_refused() -> None:
    with pytest.raises(ValidationError, match="a bound is missing"):
        Expected.model_validate({"unit": "ms"})
    with pytest.raises(ValidationError):
        Paper.model_validate({"paper": "x", "title": "x", "testbed": {}, "quick": {}, "claims": [], "clams": []})


def test_a_claim_about_a_value_that_is_not_a_number_does_not_hold() -> None:
    assert not Expected.model_validate({"from": 0, "unit": "ms"}).holds(float("nan"))


WITNESS = [claim for name in papers() for claim in load_paper(name).claims if claim.witness]
DIRECT = {
    "access21-f6-probertt", "wlan18-f3-yeah", "wlan18-f4-lat", "wlan18-f5-fair", "wlan18-f5-lat", "ton22-f4-htc",
    "ton22-f4-9k", "ton22-f4-udp", "ton22-f5a-low", "ton22-f7-nv", "ton22-f7-bbr", "ton22-f8-agg", "ton22-f9",
    "ton22-f10-cubic", "ton22-f10-reno", "ton22-drv", "ton22-f15-32", "teacup14-f4-fq", "teacup14-f5",
    "teacup14-f7-codel",
}  # fmt: skip
"""Claims whose quantities are the mechanism itself: aggregates, shares, states, or the order of several."""


def test_every_claim_has_a_witness_unless_it_measures_the_mechanism_itself() -> None:
    assert {claim.id for name in papers() for claim in load_paper(name).claims} - {one.id for one in WITNESS} == DIRECT


@pytest.mark.parametrize("claim", WITNESS, ids=lambda claim: claim.id)
def test_a_claim_that_holds_without_its_witness_is_not_reproduced(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inside(bound: Expected) -> float:
        return bound.low if bound.low is not None else bound.high or 0.0

    def outside(bound: Expected) -> float:
        return bound.low - 1 if bound.low is not None else (bound.high or 0.0) + 1

    paper = claim.id.split("-")[0]
    values = {name: inside(bound) for name, bound in claim.expected.items()}
    for missing in (None, *claim.witness):
        seen = {name: outside(bound) if name == missing else inside(bound) for name, bound in claim.witness.items()}
        samples = [Sample(name, "case", [value]) for name, value in (values | seen).items()]
        monkeypatch.setitem(EVALUATORS[paper], claim.id, lambda *_, found=samples: iter(found))
        given = dict.fromkeys(claim.experiments, results(run({}, {})))
        (scored,) = score(load_paper(paper), [claim], given)
        assert (scored.status, scored.unwitnessed) == (("pass", False) if missing is None else ("fail", True))
        assert missing is None or scored.note.startswith(NOT_REPRODUCED)


@pytest.mark.parametrize("claim", WITNESS, ids=lambda claim: claim.id)
def test_a_witness_that_a_kernel_does_not_report_does_not_deny_a_claim(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inside(bound: Expected) -> float:
        return bound.low if bound.low is not None else bound.high or 0.0

    paper = claim.id.split("-")[0]
    values = {name: inside(bound) for name, bound in claim.expected.items()} | dict.fromkeys(claim.witness, math.nan)
    samples = [Sample(name, "case", [value]) for name, value in values.items()]
    monkeypatch.setitem(EVALUATORS[paper], claim.id, lambda *_: iter(samples))
    (scored,) = score(load_paper(paper), [claim], dict.fromkeys(claim.experiments, results(run({}, {}))))
    assert (scored.status, {one.quantity for one in scored.samples}) == ("pass", set(claim.expected))
