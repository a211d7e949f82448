"""Searches the inferred conditions of a paper's testbed: one choice for all its figures.

Candidates: every combination of the values in the grids of the inferred conditions.
Rule, fixed before the first search: the candidate under which most of the chosen claims hold; of equals the one with
the fewest departures (conditions that are not at the first value of their grid), then the first in the order of the
grid. The chosen claims are every second one of the file, beginning with the first; the others judge the choice and
have no part in it. Experiments run as with `--quick`, and once for all candidates that do not differ in their
variables.
"""

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


@dataclass(frozen=True)
class Candidate:
    """One value for each inferred condition, by the name of the condition."""

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
        return self.rows[::2]

    @property
    def others(self) -> Sequence[Row]:
        """The claims that judge the decision."""
        return self.rows[1::2]


@dataclass(frozen=True)
class Search:
    """All candidates, in the order of the grid, and the best of them."""

    paper: Paper
    tried: Sequence[Tried]

    @property
    def best(self) -> Tried:
        """The candidate that the rule prefers."""
        return max(self.tried, key=lambda one: (held(one.chosen), -one.candidate.departures))


def candidates(paper: Paper) -> Iterator[Candidate]:
    """Every combination of the inferred conditions of a paper, the one without departures first."""
    inferred = [condition for condition in paper.conditions if condition.grid]
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
    found = list(candidates(paper))
    if len(found) < 2:
        raise UnknownPaper(f"`{wanted.paper}` has no inferred conditions to search\n  hint: ton22 has some")
    out = wanted.out / FOLDER
    tried = []
    for one in found:
        mark = out / slug(one) / wanted.paper
        if among(mark):
            carried = reproduce(replace(wanted, quick=True, figure=None, let=one.let, out=out / RUNS), watch)
            make_folder(mark)
            tried.append(Tried(one, carried.rows))
    return Search(paper, tried)


def slug(candidate: Candidate) -> str:
    """The name of the candidate's folder."""
    return "-".join(candidate.values.values()).replace(" ", "_")


def as_document(found: Search) -> dict[str, Any]:
    """The search as the document of `--json`."""
    return {
        "paper": found.paper.paper,
        "best": dict(found.best.candidate.values),
        "candidates": [
            {
                "conditions": dict(one.candidate.values),
                "departures": one.candidate.departures,
                "chosen": held(one.chosen),
                "others": held(one.others),
                "claims": {row.claim.id: row.status for row in one.rows},
            }
            for one in found.tried
        ],
    }


def in_words(found: Search) -> Iterator[str]:
    """The table of candidates and claims in Markdown, with the choice in bold; then how many were not tried."""
    claims = [row.claim.id.removeprefix(f"{found.paper.paper}-") for row in found.tried[0].rows]
    marked = [f"**{claim}**" if number % 2 == 0 else claim for number, claim in enumerate(claims)]
    yield "| conditions | chosen | others | " + " | ".join(marked) + " |"
    yield "|---|---|---|" + "---|" * len(claims)
    for one in found.tried:
        verdicts = " | ".join({"pass": "✓", "fail": "·", "skipped": "–"}[row.status] for row in one.rows)
        counts = f"{held(one.chosen)} of {len(one.chosen)} | {held(one.others)} of {len(one.others)}"
        name = f"**{one.candidate.name}**" if one is found.best else one.candidate.name
        yield f"| {name} | {counts} | {verdicts} |"
    there = len(list(candidates(found.paper)))
    if len(found.tried) < there:
        all_of_them = f"tailback reproduce {found.paper.paper} --search"
        yield f"\n{len(found.tried)} of {there} combinations were tried; `{all_of_them}` tries all."
