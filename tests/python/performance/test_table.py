"""The tables of docs/performance.md and conformance/results/cost.md."""

import pytest

from conformance.page import with_tables
from performance import expected
from performance.cases import GUARDED, Case, experiments
from performance.table import DOCUMENT, page, readable, tables

GOALS = {
    "4 flows, htb | fq_codel, 100 Mbit/s": "4 flows, `htb` and `fq_codel` in a router",
    "4 flows, pfifo_fast over a link, 100 Mbit/s": "4 flows, `pfifo_fast` above a link with a rate",
    "Wi-Fi, 1 upload": "an upload over Wi-Fi",
}
"""The rows of the goals, by the name of their case."""


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("tailback_world::host::<impl tailback_world::world::World>::deliver", "World::deliver"),
        ("<tailback_qdisc::htb::Htb as tailback_qdisc::Qdisc>::dequeue", "Htb::dequeue"),
        ("tailback_engine::calendar::Calendar<E>::fill_front", "Calendar::fill_front"),
        ("tailback_world::host::complete", "host::complete"),
    ],
)
def test_a_function_is_named_by_its_type(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_the_pages_have_the_marks_of_each_table() -> None:
    for part in tables():
        assert "written anew" in with_tables(page(part).read_text(), {part: ["written anew"]})


def test_each_experiment_of_the_repository_has_a_first_run() -> None:
    names = [name for name, scenario in experiments() if scenario["duration_ns"] > 0]
    assert "demo.yaml" in names
    assert "wifi-upload.yaml" in names


@pytest.mark.parametrize("case", GUARDED, ids=lambda case: case.name)
def test_the_goals_have_the_expected_count_of_each_case_and_say_which_it_misses(case: Case) -> None:
    count = expected.read()["cases"][case.name]["instructions_per_segment"]
    (row,) = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {GOALS[case.name]} |")]
    _, now, goal = [cell.strip() for cell in row.strip("|").split("|")]
    assert now == f"{count:,} instructions"
    most, *missed = goal.split(": ")
    assert missed == (["**missed**"] if count > int(most.replace(",", "")) else [])
