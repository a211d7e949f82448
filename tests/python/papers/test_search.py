"""The conditions of testbeds as data, and the rule that chooses among them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from papers.hand_made import tried
from tailback.papers import UnknownPaper, Wanted, load_paper, papers
from tailback.papers.reproduction import Reproduction
from tailback.papers.search import as_document, candidates, search
from tailback.sweep import Silent

TON22 = load_paper("ton22")
CHOOSING = [claim.id for claim in TON22.claims if claim.chooses]
TESTING = [claim.id for claim in TON22.claims if not claim.chooses]


def test_the_first_candidate_departs_from_nothing() -> None:
    found = list(candidates(TON22))
    assert found[0].departures == 0
    assert [one.departures for one in found].count(0) == 1
    assert len({tuple(one.let.items()) for one in found}) == len(found)


def test_the_candidate_with_most_chosen_claims_is_best_whatever_the_others_say() -> None:
    chosen, others = CHOOSING, set(TESTING)
    found = tried(TON22, [others, {chosen[0]}, {chosen[0], chosen[1]}])
    assert found.best is found.tried[2].candidate


def test_of_equal_candidates_the_one_with_fewest_departures_is_best() -> None:
    found = tried(TON22, [{CHOOSING[0]}] * 4)
    assert found.best is found.tried[0].candidate


def test_of_candidates_that_are_equal_by_short_runs_the_full_set_decides() -> None:
    first, *claims = CHOOSING
    equals = [number for number, one in enumerate(candidates(TON22)) if one.departures == 1][:2]
    short = tried(TON22, [{first} if number in equals else set() for number in range(max(equals) + 1)])
    assert [short.tried.index(one) for one in short.equals] == equals
    full = tried(TON22, [set(claims) if number == equals[1] else {first} for number in range(max(equals) + 1)])
    decided = replace(short, in_full=[full.tried[number] for number in equals])
    assert decided.best == short.tried[equals[1]].candidate
    assert as_document(decided)["in_full"][1]["chosen"] == len(claims)


def test_the_document_counts_the_claims_of_each_candidate() -> None:
    found = tried(TON22, [set(), {CHOOSING[0]}])
    assert [one["chosen"] for one in as_document(found)["candidates"]] == [0, 1]


def test_counts_say_under_how_many_candidates_so_many_chosen_claims_hold() -> None:
    chosen = CHOOSING
    found = tried(TON22, [set(), {chosen[0]}, {chosen[0], TESTING[0]}, set(chosen[:3])])
    assert list(found.counts.items()) == [(3, 1), (1, 2), (0, 1)]


def test_each_value_of_a_condition_reaches_what_its_worst_and_its_best_candidate_have() -> None:
    chosen = CHOOSING
    both = [one.values["threshold"] for one in candidates(TON22)][:4]
    assert both == ["no threshold", "threshold of 160"] * 2
    found = tried(TON22, [set(chosen[:2]), {chosen[0]}, set(chosen[:5]), set()])
    assert found.reached["threshold"] == {"no threshold": (2, 5), "threshold of 160": (0, 1)}
    assert found.reached["skbs"] == {"one segment per skb": (0, 5)}


def test_the_best_is_first_of_those_near_it_and_the_plain_one_is_there() -> None:
    chosen = CHOOSING
    found = tried(TON22, [set(), {chosen[0]}, set(chosen[:2]), set(chosen[:3]), set(chosen[:3])])
    assert [one.candidate.departures for one in found.tried] == [0, 1, 1, 2, 1]
    assert [found.tried.index(one) for one in found.near()] == [4, 3, 2, 0]
    assert [found.tried.index(one) for one in found.near(fewer=2)] == [4, 3, 2, 1, 0]


def test_a_search_may_be_of_some_candidates(tmp_path: Path) -> None:
    assert search(Wanted("ton22", out=tmp_path), Silent(), Path.is_dir).tried == []


def test_all_candidates_run_in_one_folder_so_that_equal_experiments_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Wanted] = []

    def reproduced(wanted: Wanted, _: object) -> Reproduction:
        asked.append(wanted)
        return Reproduction(TON22, [], [], {}, [])

    monkeypatch.setattr(import_module("tailback.papers.search"), "reproduce", reproduced)
    found = search(Wanted("ton22", out=tmp_path), Silent())
    assert len({wanted.out for wanted in asked if wanted.quick}) == 1
    assert len({tuple(wanted.let.items()) for wanted in asked}) == len(found.tried) == len(list(candidates(TON22)))
    again = search(Wanted("ton22", out=tmp_path), Silent(), Path.is_dir)
    assert len(again.tried) == len(found.tried), "a candidate that was tried has a folder"


def test_a_paper_that_leaves_nothing_open_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = TON22.model_copy(update={"testbed": TON22.testbed.model_copy(update={"chosen": ()})})
    monkeypatch.setattr(import_module("tailback.papers.search"), "load_paper", lambda _: closed)
    with pytest.raises(UnknownPaper, match="leaves nothing open"):
        search(Wanted("ton22"), Silent())


@pytest.mark.parametrize("name", papers())
def test_the_hash_of_its_id_says_whether_a_claim_chooses_or_tests(name: str) -> None:
    claims = load_paper(name).claims
    drawn = {claim.id: hashlib.sha256(claim.id.encode()).hexdigest()[0] < "8" for claim in claims}
    assert {claim.id: claim.chooses for claim in claims} == drawn
    assert len(set(drawn.values())) == 2, "each paper has claims of both"
