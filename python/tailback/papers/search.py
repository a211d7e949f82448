"""Searches the conditions of a testbed about which the paper is silent: one choice for all its figures.

Candidates: every combination of the values in the grids of the choices. What the paper states is the same in all.
Rule: the candidate under which most of the choosing claims hold; of equals the one with the fewest departures (choices
that are not at the first value of their grid); if some are still equal, the one of them under which most of the
choosing claims hold in the full set of runs, then the first in the order of the grid. Which claims choose and which
test is drawn by the hash of their ids (`Claim.chooses`). Experiments run as with `--quick`, and once for all candidates
that do not differ in their variables.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from tailback.papers.claims import Paper, load_paper
from tailback.papers.errors import UnknownPaper
from tailback.papers.reproduction import Wanted, reproduce
from tailback.papers.scorecard import Row, held
from tailback.results.durable import make_folder
from tailback.sweep import Watch

FOLDER = "search"
"""The folder of the search in the folder of results; it has a folder for each candidate that was tried."""
RUNS = "runs"
"""The folder in it with the runs of all candidates."""
FULL = "full"
"""The folder in it with the full sets of candidates that are equal by short runs."""


@dataclass(frozen=True)
class Candidate:
    """One value for each condition that is compared, by the name of the condition."""

    values: Mapping[str, str]
    let: Mapping[str, str | int]
    """The variables of the experiments."""
    departures: int
    """Number of conditions that are not at the first value of their grid."""

    @property
    def name(self) -> str:
        """The values, as text."""
        return ", ".join(self.values.values())


@dataclass(frozen=True)
class Tried:
    """A candidate with its scorecard."""

    candidate: Candidate
    rows: Sequence[Row]

    @property
    def chosen(self) -> Sequence[Row]:
        """The claims that decide."""
        return deciding(self.rows)

    @property
    def others(self) -> Sequence[Row]:
        """The claims that judge the decision."""
        return judging(self.rows)


@dataclass(frozen=True)
class Search:
    """All candidates, in the order of the grid, and the best of them."""

    paper: Paper
    tried: Sequence[Tried]
    in_full: Sequence[Tried] = ()
    """The candidates that are best and equal by short runs, by the full set; none if one is best alone."""

    @property
    def equals(self) -> Sequence[Tried]:
        """The candidates that the rule prefers by short runs."""
        best = max(map(_rank, self.tried), default=None)
        return [one for one in self.tried if _rank(one) == best]

    @property
    def best(self) -> Candidate:
        """The candidate that the rule prefers."""
        return max(self.in_full or self.equals, key=lambda one: held(one.chosen)).candidate

    @property
    def counts(self) -> Mapping[int, int]:
        """How many candidates there are by the number of chosen claims that hold, largest number first."""
        found = Counter(held(one.chosen) for one in self.tried)
        return dict(sorted(found.items(), reverse=True))

    @property
    def reached(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """The fewest and the most chosen claims that hold with a value of a condition, by condition and value."""
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for one in self.tried:
            number = held(one.chosen)
            for condition, value in one.candidate.values.items():
                fewest, most = found.setdefault(condition, {}).get(value, (number, number))
                found[condition][value] = (min(fewest, number), max(most, number))
        return found

    def near(self, fewer: int = 1) -> Sequence[Tried]:
        """The best candidate; those under which at most so many `fewer` chosen claims hold than under any, most first;
        and the one with the fewest departures."""
        most = max(self.counts)
        close = [one for one in self.tried if one.candidate == self.best or held(one.chosen) >= most - fewer]
        close.sort(key=lambda one: (one.candidate == self.best, _rank(one)), reverse=True)
        plain = min(self.tried, key=lambda one: one.candidate.departures)
        return close if plain in close else [*close, plain]


def deciding(rows: Sequence[Row]) -> Sequence[Row]:
    """The claims that choose."""
    return [row for row in rows if row.claim.chooses]


def judging(rows: Sequence[Row]) -> Sequence[Row]:
    """The claims that test the choice, and have no part in it."""
    return [row for row in rows if not row.claim.chooses]


def _rank(one: Tried) -> tuple[int, int]:
    return held(one.chosen), -one.candidate.departures


def candidates(paper: Paper) -> Iterator[Candidate]:
    """Every combination of the silent conditions of a paper, the one without departures first."""
    inferred = paper.testbed.searched
    for names in product(*(condition.grid for condition in inferred)):
        pairs = list(zip(inferred, names, strict=True))
        yield Candidate(
            {condition.name: name for condition, name in pairs},
            {variable: value for condition, name in pairs for variable, value in condition.grid[name].items()},
            sum(name != next(iter(condition.grid)) for condition, name in pairs),
        )


Chosen: TypeAlias = Callable[[Path], bool]
"""Which candidates to try, by the folder of their results."""


def every(_: Path) -> bool:
    """Tries all candidates."""
    return True


def search(wanted: Wanted, watch: Watch, among: Chosen = every) -> Search:
    """Runs the experiments of a paper under each candidate, and measures all claims."""
    paper = load_paper(wanted.paper)
    every_one = list(candidates(paper))
    if len(every_one) < 2:
        raise UnknownPaper(f"`{wanted.paper}` leaves nothing open that a search compares\n  hint: ton22 does")
    out = wanted.out / FOLDER
    tried = []
    for one in every_one:
        mark = out / slug(one) / wanted.paper
        if among(mark):
            carried = reproduce(replace(wanted, quick=True, figure=None, let=one.let, out=out / RUNS), watch)
            make_folder(mark)
            tried.append(Tried(one, carried.rows))
    found = Search(paper, tried)
    return found if len(found.equals) < 2 else replace(found, in_full=_in_full(found.equals, wanted, watch))


def _in_full(equals: Sequence[Tried], wanted: Wanted, watch: Watch) -> list[Tried]:
    full = replace(wanted, figure=None, out=wanted.out / FOLDER / FULL)
    return [replace(one, rows=reproduce(replace(full, let=one.candidate.let), watch).rows) for one in equals]


def slug(candidate: Candidate) -> str:
    """The name of the candidate's folder."""
    return "-".join(candidate.values.values()).replace(" ", "_")


def as_document(found: Search) -> dict[str, Any]:
    """The search as the document of `--json`."""
    return {
        "paper": found.paper.paper,
        "best": dict(found.best.values),
        "candidates": [_entry_of(one) for one in found.tried],
        "in_full": [_entry_of(one) for one in found.in_full],
    }


def _entry_of(one: Tried) -> dict[str, Any]:
    return {
        "conditions": dict(one.candidate.values),
        "departures": one.candidate.departures,
        "chosen": held(one.chosen),
        "others": held(one.others),
        "claims": {row.claim.id: row.status for row in one.rows},
    }
