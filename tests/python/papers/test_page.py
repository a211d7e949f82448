"""The page of a reproduction: figures beside claims, and the reasons of misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.hand_made import results, wireless
from tailback.papers import Reproduction, in_full, in_one_line, load_paper, score, write_page
from tailback.papers.document import page
from tailback.papers.drawing import Drawing, Scatter
from tailback.papers.figures import DRAWINGS
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


def test_the_line_counts_claims_of_each_paper(found: Held) -> None:
    passed = sum(row.status == "pass" for row in found.rows)
    assert in_one_line(found.rows) == f"{passed} of 3 claims hold: {passed} of 3 of wlan18"


def test_the_full_scorecard_has_numbers(found: Held) -> None:
    first = in_full(found.rows)["claims"][0]["quantities"][0]
    assert (first["case"], first["median"], first["repetitions"], first["holds"]) == ("cubic", 94, 3, True)
    assert first["half_width"] == pytest.approx(2.484, abs=1e-3)


def test_a_scatter_has_a_series_for_each_value() -> None:
    figure = Drawing("3", ("uploads",), "", Scatter("cc")).draw(uploads().select(flows="1"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == CONTROLS


def test_the_document_has_each_claim_its_verdict_and_the_figures(found: Held) -> None:
    text = page([found], {})
    assert "| `f3-sat` | one upload without TSQ" in text
    assert "![one upload, no TSQ](pictures/papers/wlan18-fig3.svg)" in text
    assert "There were 3 repetitions" in text
    assert text.count("**missed**") == sum(row.status == "fail" for row in found.rows)
