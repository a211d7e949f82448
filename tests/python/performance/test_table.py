"""The tables of docs/performance.md and conformance/results/cost.md."""

import pytest

from conformance.page import with_tables
from performance.cases import experiments
from performance.table import page, readable, tables


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
