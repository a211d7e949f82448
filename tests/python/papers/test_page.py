"""The page of a reproduction: figures beside claims, and the reasons of misses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from papers.hand_made import results, wireless
from tailback.papers import Reproduction, document, in_full, in_one_line, load_paper, score, write_page
from tailback.papers.document import Measured, claims, conditions, headline, overview, page
from tailback.papers.drawing import Drawing, Scatter, marker_of
from tailback.papers.figures import DRAWINGS
from tailback.papers.standing import OnKernel
from tailback.plots import style
from tailback.results import Results

WLAN18 = load_paper("wlan18")
CONTROLS = ["bbr", "nv", "cubic", "highspeed", "hybla", "illinois", "reno", "scalable", "westwood", "yeah"]


def uploads() -> Results:
    runs = [
        wireless({"flows": flows, "cc": name}, 90.0 + place + number, 5.0 + 10 * place, number)
        for flows in ("1", "4")
        for place, name in enumerate(CONTROLS)
        for number in (1, 2, 3)
    ]
    return results(*runs)


class Held(Reproduction):
    """A reproduction with results in memory."""

    @property
    def results(self) -> dict[str, Results]:
        return {"uploads": uploads()}


@pytest.fixture
def found() -> Held:
    claims = WLAN18.of_figure("3")
    drawings = [one for one in DRAWINGS["wlan18"] if one.figure in ("3", "6")]
    return Held(WLAN18, score(WLAN18, claims, {"uploads": uploads()}), drawings, {}, [])


def test_the_page_has_figures_claims_and_the_reasons_of_misses(found: Held, tmp_path: Path) -> None:
    text = write_page([found], tmp_path).read_text()
    assert text.count("<svg") == 1
    assert "Figure 6" in text
    assert "not drawn, because results are missing" in text
    missed = [row for row in found.rows if row.status == "fail"]
    assert missed
    assert all(row.claim.id in text and row.note.split("<")[0][:40] in text for row in missed)
    assert (tmp_path / "wlan18" / "figures" / "fig3.svg").is_file()
    assert "<script" not in text


def test_the_line_counts_claims_and_of_several_papers_those_of_each(found: Held) -> None:
    passed = sum(row.status == "pass" for row in found.rows)
    assert in_one_line(found.rows) == f"{passed} of 3 claims of wlan18 hold"
    two = [*found.rows, replace(found.rows[0], paper="ton22", status="fail")]
    assert in_one_line(two) == f"{passed} of 4 claims hold: {passed} of 3 of wlan18, 0 of 1 of ton22"


def test_the_full_scorecard_has_numbers(found: Held) -> None:
    first = in_full(found.rows)["claims"][0]["quantities"][0]
    assert (first["case"], first["median"], first["repetitions"], first["holds"]) == ("cubic", 94, 3, True)
    assert first["half_width"] == pytest.approx(2.484, abs=1e-3)


def test_a_scatter_has_a_series_for_each_value() -> None:
    figure = Drawing("3", ("uploads",), "", Scatter("cc")).draw(uploads().select(flows="1"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == CONTROLS


@pytest.mark.parametrize(("paper", "figure"), [("wlan18", "3"), ("ton22", "7"), ("ton22", "10")])
def test_no_two_series_of_a_scatter_look_alike(paper: str, figure: str) -> None:
    (series,) = [form.series for form in load_paper(paper).testbed.figures if form.figure == figure]
    colours = style.colours(series)
    looks = [(colours[value], marker_of(place)) for place, value in enumerate(series)]
    assert len(set(looks)) == len(series)


def test_the_page_folds_cases_that_it_has_as_a_range(found: Held, tmp_path: Path) -> None:
    text = write_page([found], tmp_path).read_text()
    ranges = [row for row in found.rows if len(row.described) > len(row.in_short)]
    assert text.count("<details>") == len(ranges) > 0
    assert f"each of the {len(ranges[0].described)} cases" in text


def test_the_document_has_each_claim_its_verdict_and_the_figures(found: Held) -> None:
    text = page([Measured(found)])
    assert "| `f3-sat`, figure 3: **holds** | one upload without TSQ" in text
    assert "![one upload, no TSQ, FIFO](pictures/papers/wlan18-fig3.svg)" in text
    assert "This page has 3 repetitions" in text
    assert text.count("** | ") >= 3
    assert text.count(" **does not hold** | ") == sum(row.status == "fail" for row in found.rows)


def test_a_claim_has_a_row_with_a_break_between_quantities(found: Held) -> None:
    row = next(row for row in found.rows if row.claim.id == "wlan18-f3-lat")
    _, cells, _, _, why, _ = claims(Measured(found), [row])
    says = f"{row.claim.says}. *Measured:* {row.claim.measure}"
    assert cells.startswith(f"| `f3-lat`, figure 3: **does not hold** | {says} | ")
    assert "ping, loss-based: ≥ 50 ms<br>ping, bbr and nv: ≤ 12 ms<br>*witness,* longest queue" in cells
    assert "ping, bbr and nv: *bbr:* 5 ms; *nv:* " in cells
    assert why.startswith("- `f3-lat`: ")


def test_a_claim_says_what_the_what_if_makes_of_it(found: Held) -> None:
    held = replace(found, rows=[replace(row, status="pass") for row in found.rows])
    row = next(row for row in found.rows if row.status == "fail")
    _, cells, *_ = claims(Measured(found, held), [row])
    assert " **does not hold**; what-if: holds | " in cells


def test_a_claim_says_what_a_real_kernel_makes_of_it(found: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in found.rows if row.status == "fail")
    alike, other = OnKernel("6.12", "fail", "fail"), OnKernel("5.10", "pass", "fail")
    for verdict, words in ((alike, "Linux 6.12: does not hold"), (other, "Linux 5.10: holds (simulator beside it: ")):
        monkeypatch.setattr(document, "on_a_kernel", lambda _, verdict=verdict: {row.claim.id: verdict})
        _, cells, *_ = claims(Measured(found), [row])
        assert f" **does not hold**; {words}" in cells


def test_a_claim_without_results_is_not_measured(found: Held) -> None:
    (row,) = score(WLAN18, WLAN18.of_figure("13"), {})
    _, cells, *_ = claims(Measured(found), [row])
    assert cells.startswith("| `f13`, figure 13: **is not measured** | ")
    assert cells.endswith(" | – |")


def test_the_overview_counts_the_claims_that_choose_and_those_that_test(found: Held) -> None:
    (line,) = [one for one in overview([Measured(found)]) if one.startswith("| [")]
    passed = sum(row.status == "pass" for row in found.rows)
    parts = [[row for row in found.rows if row.claim.chooses is chooses] for chooses in (True, False)]
    shares = [f"{sum(row.status == 'pass' for row in part)} of {len(part)}" for part in parts]
    assert f"| {passed} of 3 | {' | '.join(shares)} | – | " in line
    missed = [row for row in found.rows if row.status == "fail"]
    assert all(f"`{row.claim.id.removeprefix('wlan18-')}`" in line for row in missed)


def test_the_headline_is_the_score_as_stated_and_the_what_if_comes_second(found: Held) -> None:
    held = replace(found, rows=[replace(row, status="pass") for row in found.rows])
    line = headline([Measured(found, held)])
    passed = sum(row.status == "pass" for row in found.rows)
    assert line.startswith(f"As the papers state their testbeds, {passed} of 3 claims of wlan18 hold.")
    assert line.endswith("What contradicts the papers would explain more: 3 of wlan18.")


def test_the_conditions_are_listed_by_kind_with_sections() -> None:
    lines = list(conditions(load_paper("ton22").testbed))
    kinds = [line.split(" | ")[0] for line in lines[1:] if line]
    assert list(dict.fromkeys(kinds)) == ["| stated", "| chosen", "| against", "| disagrees"]
    assert any("| kernel: every node" in line and "| §V, T II. |" in line for line in lines)
    assert any("contradicts `kernel`" in line for line in lines)


def test_the_page_has_one_table_of_claims_a_paper_and_names_the_search(found: Held) -> None:
    text = page([Measured(found)])
    assert text.count("| claim | the paper says |") == 1
    assert "compared 12 combinations of *length of FIFO*" in text
    assert "(../conformance/results/papers-search.md#wlan18)" in text


LINES = 424
"""Twenty minutes of reading."""


def test_the_committed_page_is_short_enough_to_be_read() -> None:
    assert len(document.PAGE.read_text(encoding="utf-8").splitlines()) <= LINES
