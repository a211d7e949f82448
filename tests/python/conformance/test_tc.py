"""`tc`'s grammar: compares our reading of some five hundred strings with that of a real `tc` and a real kernel."""

from __future__ import annotations

import pytest

from conformance.tc import golden
from conformance.tc.compare import Ours, differences, ours
from conformance.tc.known import APART, PRINTED_OTHERWISE
from conformance.tc.strings import commands, strings
from tailback.tc.errors import WordError

ROWS = golden.rows()


def test_the_table_holds_every_string_of_the_list() -> None:
    assert [row.text for row in ROWS] == strings(), "measure anew: python -m conformance.tc --measure"


def test_every_string_is_accepted_or_refused_as_tc_does_and_means_the_same() -> None:
    apart = {row.text: found for row in ROWS if row.text not in APART and (found := differences(row))}
    assert not apart, "\n".join(f"{text}: {'; '.join(found)}" for text, found in apart.items())


@pytest.mark.parametrize("text", APART)
def test_known_differences_from_tc_still_exist(text: str) -> None:
    row = next(row for row in ROWS if row.text == text)
    assert isinstance(ours(text), Ours) != (row.status == 0)


def test_every_refusal_has_a_remedy() -> None:
    refused = [error for text in strings() if isinstance(error := ours(text), WordError)]
    assert len(refused) > 100
    assert all(error.message and error.hint for error in refused)


def test_words_that_are_only_printed_differently_are_in_the_list() -> None:
    assert set(PRINTED_OTHERWISE) <= set(strings())


def test_classes_become_commands_of_their_own() -> None:
    assert commands("htb default 1; class 1:1 parent 1:5 rate 1mbit", "d0") == [
        ["qdisc", "add", "dev", "d0", "root", "handle", "1:", "htb", "default", "1"],
        ["class", "add", "dev", "d0", "parent", "1:5", "classid", "1:1", "htb", "rate", "1mbit"],
    ]
