"""The page of a reproduction: figures beside claims, and the reasons of misses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from papers.hand_made import results, tried, wireless
from tailback.papers import Reproduction, document, in_full, in_one_line, load_paper, score, write_page
from tailback.papers.document import claims, condition, overview, page, write_pages
from tailback.papers.drawing import Drawing, Scatter
from tailback.papers.figures import DRAWINGS
from tailback.papers.search import Search
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


def test_the_page_folds_cases_that_it_has_as_a_range(found: Held, tmp_path: Path) -> None:
    text = write_page([found], tmp_path).read_text()
    ranges = [row for row in found.rows if len(row.described) > len(row.in_short)]
    assert text.count("<details>") == len(ranges) > 0
    assert f"each of the {len(ranges[0].described)} cases" in text


def test_the_document_has_each_claim_its_verdict_and_the_figures(found: Held) -> None:
    text = page([found], {})
    assert "**`f3-sat` holds:** one upload without TSQ" in text
    assert "![one upload, no TSQ](pictures/papers/wlan18-fig3.svg)" in text
    assert "There were 3 repetitions" in text
    assert text.count(" does not hold:** ") == sum(row.status == "fail" for row in found.rows)
    assert text.count("*Why `f3-lat` does not hold:* ") == 1


def test_a_claim_has_a_row_for_each_quantity_and_a_break_between_cases(found: Held) -> None:
    row = next(row for row in found.rows if row.claim.id == "wlan18-f3-lat")
    says, _, loss_based, gentle, *_ = claims([row])
    assert says == f"**`f3-lat` does not hold:** {row.claim.says}. *Measured:* {row.claim.measure}.\n"
    assert loss_based.startswith("| ping, loss-based | ≥ 50 ms | ")
    assert gentle.startswith("| ping, bbr and nv | ≤ 12 ms | *bbr:* 5 ms<br>*nv:* ")
    assert gentle.endswith(" (!) |")


def test_a_claim_without_results_is_not_measured() -> None:
    (row,) = score(WLAN18, WLAN18.of_figure("13"), {})
    says, _, first, *_ = claims([row])
    assert says.startswith("**`f13` is not measured:** ")
    assert first == "| goodput ratio | ≥ 1 × | – |"


def test_the_overview_names_the_claims_that_do_not_hold(found: Held) -> None:
    (line,) = [one for one in overview([found], {}) if one.startswith("| [")]
    passed, missed = ([row for row in found.rows if (row.status == "pass") is good] for good in (True, False))
    assert f"| {len(passed)} of 3 | – | – | " in line
    assert all(f"`{row.claim.id.removeprefix('wlan18-')}`" in line for row in missed)


def test_after_a_search_the_overview_counts_the_claims_that_decided_and_the_others(found: Held) -> None:
    (line,) = [one for one in overview([found], {"wlan18": Search(WLAN18, [])}) if one.startswith("| [")]
    assert [row.status for row in found.rows] == ["pass", "fail", "fail"]
    assert "| 1 of 3 | 1 of 2 | 0 of 1 | " in line


def test_an_inferred_condition_says_what_was_chosen() -> None:
    given, inferred = (next(one for one in WLAN18.conditions if one.name == name) for name in ("kernel", "threshold"))
    assert condition(given) == f"- `kernel` (given): {given.what}."
    assert condition(inferred) == f"- `threshold` (inferred): {inferred.what}: **none**."


def test_why_the_conditions_are_so_is_said_after_the_figures(found: Held) -> None:
    text = page([found], {})
    places = [text.index(words) for words in ("### Conditions of", "### Figure 3 of", "### Why these conditions of")]
    assert places == sorted(places)
    assert text.count("(#why-these-conditions-of-wlan18)") == 1
    assert all(f"- `{one.name}`: {one.because}." in text for one in WLAN18.conditions)


def test_both_pages_are_written_by_the_same_command(
    found: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "PAGE", tmp_path / "papers.md")
    searched = tried(WLAN18, [{claim.id for claim in WLAN18.claims}, set()])
    write_pages([found], {"wlan18": searched})
    assert "(papers-search.md#wlan18)" in (tmp_path / "papers.md").read_text()
    assert "\n## wlan18\n" in (tmp_path / "papers-search.md").read_text()
