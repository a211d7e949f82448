"""The conditions of testbeds as data, and the rule that chooses among them."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from papers.hand_made import tried
from tailback.papers import UnknownPaper, Wanted, load_paper, papers, search
from tailback.papers.claims import Condition
from tailback.papers.reproduction import Reproduction, experiment_file, variables_of
from tailback.papers.search import as_document, candidates
from tailback.sweep import Silent

TON22 = load_paper("ton22")
PLAIN = {"name": "x", "what": "…", "because": "…"}


@pytest.mark.parametrize("name", papers())
def test_every_experiment_has_the_conditions_of_its_paper(name: str) -> None:
    paper = load_paper(name)
    files = sorted({experiment for claim in paper.claims for experiment in claim.experiments})
    there = {file: variables_of(experiment_file(name, file)) for file in files}
    for condition in paper.conditions:
        for variable, value in condition.let.items():
            found = {file: variables[variable] for file, variables in there.items() if variable in variables}
            assert found, f"{condition.name}: no experiment has the variable {variable}"
            assert set(found.values()) == {value}, f"{condition.name}: {found}"


@pytest.mark.parametrize("let", [{}, {"let": {"b": 2}, "grid": {"one": {"a": 1}}}])
def test_only_inferred_conditions_have_a_grid_which_contains_the_choice(let: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate({**PLAIN, "reason": "inferred", "let": {}, **let})


def test_the_first_candidate_departs_from_nothing() -> None:
    found = list(candidates(TON22))
    assert found[0].departures == 0
    assert [one.departures for one in found].count(0) == 1
    assert len({tuple(one.let.items()) for one in found}) == len(found)


def test_the_candidate_with_most_chosen_claims_is_best_whatever_the_others_say() -> None:
    chosen = [claim.id for claim in TON22.claims[::2]]
    others = {claim.id for claim in TON22.claims[1::2]}
    found = tried(TON22, [others, {chosen[0]}, {chosen[0], chosen[1]}])
    assert found.best is found.tried[2].candidate


def test_of_equal_candidates_the_one_with_fewest_departures_is_best() -> None:
    found = tried(TON22, [{TON22.claims[0].id}] * 4)
    assert found.best is found.tried[0].candidate


def test_of_candidates_that_are_equal_by_short_runs_the_full_set_decides() -> None:
    first, *claims = [claim.id for claim in TON22.claims[::2]]
    equals = [number for number, one in enumerate(candidates(TON22)) if one.departures == 1][:2]
    short = tried(TON22, [{first} if number in equals else set() for number in range(max(equals) + 1)])
    assert [short.tried.index(one) for one in short.equals] == equals
    full = tried(TON22, [set(claims) if number == equals[1] else {first} for number in range(max(equals) + 1)])
    decided = replace(short, in_full=[full.tried[number] for number in equals])
    assert decided.best == short.tried[equals[1]].candidate
    assert as_document(decided)["in_full"][1]["chosen"] == len(claims)


def test_the_document_counts_the_claims_of_each_candidate() -> None:
    found = tried(TON22, [set(), {TON22.claims[0].id}])
    assert [one["chosen"] for one in as_document(found)["candidates"]] == [0, 1]


def test_counts_say_under_how_many_candidates_so_many_chosen_claims_hold() -> None:
    chosen = [claim.id for claim in TON22.claims[::2]]
    found = tried(TON22, [set(), {chosen[0]}, {chosen[0], TON22.claims[1].id}, set(chosen[:3])])
    assert list(found.counts.items()) == [(3, 1), (1, 2), (0, 1)]


def test_each_value_of_a_condition_reaches_what_its_worst_and_its_best_candidate_have() -> None:
    chosen = [claim.id for claim in TON22.claims[::2]]
    both = [one.values["ath10k"] for one in candidates(TON22)][:4]
    assert both == ["MCS 7", "MCS 6", "MCS 7", "MCS 6"]
    found = tried(TON22, [set(chosen[:2]), {chosen[0]}, set(chosen[:5]), set()])
    assert found.reached["ath10k"] == {"MCS 7": (2, 5), "MCS 6": (0, 1)}
    assert found.reached["sender"] == {"Linux 5.4": (0, 5)}


def test_the_best_is_first_of_those_near_it_and_the_plain_one_is_there() -> None:
    chosen = [claim.id for claim in TON22.claims[::2]]
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


def test_a_paper_without_inferred_conditions_is_not_searched() -> None:
    with pytest.raises(UnknownPaper, match="no inferred conditions"):
        search(Wanted("teacup14"), Silent())
