"""How mutants are judged and recorded. Planting and compiling them takes minutes: `make campaign-mutants`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from campaigns import mutants, mutants_page
from campaigns.mutants import Net, judge
from campaigns.mutants_page import Record
from campaigns.planting import CRATES, Mutant
from campaigns.seeds import REPOSITORY

LISTED: dict[str, Any] = {
    "file": "crates/cc/src/reno.rs",
    "name": "crates/cc/src/reno.rs:1:2: replace < with <= in Reno::ssthresh",
    "package": "tailback-cc",
    "span": {"start": {"line": 1, "column": 2}},
}
MUTANT = Mutant(7, LISTED)


def net(name: str, *words: str) -> Net:
    """A net of one command."""
    command: Callable[[Mutant], Sequence[tuple[Sequence[str], Path]]] = lambda _: [(words, REPOSITORY)]  # noqa: E731
    return Net(name, command, {mutants.key(words): 1.0})


SEES, PASSES = ("sh", "-c", "echo seen; exit 1"), ("true",)


@pytest.mark.parametrize(
    ("golden", "experiments", "tests", "outcome"),
    [
        (SEES, SEES, SEES, "killed"),
        (PASSES, SEES, SEES, "killed"),
        (PASSES, PASSES, SEES, "killed"),
        (PASSES, SEES, PASSES, "gap"),
        (PASSES, PASSES, PASSES, "survived"),
    ],
)
def test_a_mutant_that_only_experiments_see_is_a_gap(
    golden: Sequence[str], experiments: Sequence[str], tests: Sequence[str], outcome: str
) -> None:
    words = {"golden tables": golden, "experiments": experiments, "tests of the crate": tests}
    assert judge(MUTANT, [net(name, *each) for name, each in words.items()]).outcome == outcome


def test_a_program_knows_its_mutant_and_one_that_never_ends_is_seen() -> None:
    assert net("tests", "sh", "-c", "exit $MUTANT").sees(MUTANT) == "it does not end"
    ends = mutants.chosen(("sh", "-c", "while :; do :; done"), 7, REPOSITORY, 0.5)
    assert ends.returncode != 0


def test_the_page_counts_each_mutant_once_and_shows_survivors_with_their_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    survivor = Record("cc", MUTANT.name, "let a = b;", "survived")
    monkeypatch.setattr(
        mutants_page, "reasons", lambda: {(mutants_page.change(survivor.mutant), survivor.code): "they are equal"}
    )
    found = mutants_page.page([survivor, Record("tcp", "x", "y", "golden tables", "cells")], 9, "make it")
    assert "| cc | 1 | 0 | 0 | 0 | 1 | 0 | 0 |" in found
    assert "| all | 2 | 1 | 0 | 0 | 1 | 0 | 0 |" in found
    assert "- `crates/cc/src/reno.rs: replace < with <= in Reno::ssthresh` in `let a = b;`: they are equal" in found


def test_each_reason_is_of_code_that_there_is() -> None:
    for (change, code), reason in mutants_page.reasons().items():
        crate, _, rest = change.partition("/")
        file = REPOSITORY / "crates" / crate / "src" / rest.split(":")[0]
        assert crate in CRATES
        assert code in [line.strip() for line in file.read_text(encoding="utf-8").splitlines()], change
        assert len(reason.split()) > 2


def test_experiments_are_cut_to_two_seconds() -> None:
    names = [name for name, _ in mutants.experiments()]
    assert len(names) > 80
    assert len(set(names)) == len(names)
