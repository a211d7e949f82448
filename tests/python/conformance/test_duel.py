"""The tables of conformance/results/duels.md are up to date: a part of them is simulated again."""

from __future__ import annotations

from conformance import duel
from tailback import api
from tailback.scenario import CoreRegistry

CONTROLS = CoreRegistry().congestion_controls


def test_the_page_has_a_row_for_every_control_on_each_of_four_paths() -> None:
    runs = api.load(duel.EXPERIMENT).runs()
    text = duel.PAGE.read_text()
    assert {run.axes["control"] for run in runs} == {row.name for row in CONTROLS}
    assert len({run.axes["path"] for run in runs}) == 4
    assert all(text.count(f"\n| `{row.name}` |") == 4 for row in CONTROLS)


def test_the_rows_of_reno_and_vegas_at_ten_megabits_are_those_of_the_page() -> None:
    tables = duel.simulated(["control=[reno, vegas]", "path=10mbit-20ms"])
    section = duel.PAGE.read_text().partition("### 10mbit-20ms")[2].partition("###")[0].splitlines()
    assert [row in section for row in tables["10mbit-20ms"]] == [True, True], tables
