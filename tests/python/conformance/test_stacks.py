"""The page of stacks is what `references/stacks.toml` and the core say."""

from __future__ import annotations

from conformance import stacks as tables
from conformance.page import with_tables
from tailback.scenario.stacks import differences, in_order, stacks


def test_the_tables_of_the_page_are_those_of_the_file() -> None:
    page = tables.PAGE.read_text(encoding="utf-8")
    assert with_tables(page, tables.tables()) == page, "run `python -m conformance.stacks`"


def test_each_stack_is_in_one_value_of_each_mechanism() -> None:
    heading, _, *body = tables.tables()["mechanisms"]
    assert len(body) == len(differences())
    assert heading.startswith("| mechanism")
    for line in body:
        assert "7.3" in line


def test_stacks_are_in_the_order_of_their_versions() -> None:
    names = [stack.name for stack in in_order(stacks())]
    assert names[0] == "linux-3.10"
    assert names[-3:] == ["linux-6.12", "linux-7.3", "freebsd-9"]


def test_a_stack_between_two_that_are_known_says_so() -> None:
    evidence = next(each for each in differences() if each.key == "syn_linear_timeouts").evidence
    assert evidence.of("linux-6.12").startswith("measured by conformance/drill/")
    assert evidence.of("linux-6.1").startswith("measured by conformance/drill/stacks/")
    assert evidence.of("linux-5.10") == "read"
    assert evidence.of("linux-6.6") == "between linux-6.1 and linux-6.12"
    assert evidence.of("linux-4.14") == "before linux-5.10"
    assert evidence.of("freebsd-9") == "from its sources"
