"""Writes the searches for the conditions of testbeds: `conformance/results/papers-search.md`.

python -m tailback.papers.search_document RESULTS [--tried]    # runs what is missing

`--tried` shows the searches as far as they went.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tailback.papers.claims import load_paper, papers
from tailback.papers.made import made
from tailback.papers.reproduction import Wanted
from tailback.papers.scorecard import Row, held
from tailback.papers.search import Chosen, Search, Tried, candidates, every, search
from tailback.results.durable import write_file
from tailback.sweep import Silent

PAGE = Path(__file__).resolve().parents[3] / "conformance/results/papers-search.md"
SIGNS = {"pass": "✓", "fail": "·", "skipped": "–"}

INTRODUCTION = f"""# The searches for what papers leave open

Where a paper is silent about its testbed, a search compares values, under what the paper states; [the
scorecard](../../docs/papers.md) says how. This page has every combination, in the order of the grid: the first is the
plain one, and the rule's choice is bold. {SIGNS["pass"]} is a claim that holds in one short repetition,
{SIGNS["fail"]} one that
does not. The claims that choose have bold names; *chosen* counts those of them that hold, and *others* the rest, which
test the choice.
"""

CONDITIONS = (
    "How many chosen claims hold with each value of a condition, under the worst and under the best combination of the "
    "others. The condition that changes the best most is first; the values that were chosen are bold:"
)
CLOSEST = (
    "The chosen combination (bold), those under which at most one chosen claim less holds than under the best, and the "
    "plain one. Combinations with the same verdicts share a row. In parentheses: how many conditions are not at their "
    "plain value. Of the claims, the chosen ones are bold:"
)
ALL = "Every combination:"
EQUALS = "The combinations that are best and equal, with the full set of runs:"


def main(results: Path, among: Chosen) -> None:
    """Searches for every paper that leaves something open, and writes the page."""
    open_ones = [name for name in papers() if load_paper(name).testbed.searched]
    found = [search(Wanted(name, out=results), Silent(), among) for name in open_ones]
    write_file(PAGE, page({one.paper.paper: one for one in found if one.tried}).encode())


def page(searched: Mapping[str, Search]) -> str:
    """The text of the page that has every combination of every paper."""
    sections = [line for name, found in searched.items() for line in (f"## {name}\n", *in_full(found), "")]
    return "\n".join([INTRODUCTION, made("make papers-search"), "", *sections])


def in_full(found: Search) -> Iterator[str]:
    """The search in short, then all candidates with their claims."""
    yield from in_short(found)
    yield f"\n{ALL}\n"
    yield from _table(found, found.tried)
    if found.in_full:
        yield f"\n{EQUALS}\n"
        yield from _table(found, found.in_full)
    yield from _untried(found)


def in_short(found: Search) -> Iterator[str]:
    """How the counts are distributed, which conditions matter, and what comes closest."""
    yield f"{_distribution(found)}\n"
    yield f"{CONDITIONS}\n"
    yield from _conditions(found)
    yield f"\n{CLOSEST}\n"
    yield from _misses(found, found.near())


def _distribution(found: Search) -> str:
    """How many combinations there are, and how many chosen claims hold under how many of them."""
    chosen = len(found.tried[0].chosen)
    (most, first), *others = found.counts.items()
    rest = "".join(f", {number} under {combinations}" for number, combinations in others)
    return (
        f"It compared {len(found.tried)} combinations of what the paper leaves open. {most} of the {chosen} "
        f"choosing claims hold under {first} of the combinations{rest}."
    )


def _conditions(found: Search) -> Iterator[str]:
    """The conditions with the chosen claims that hold with each of their values, largest difference first."""
    yield "| condition | chosen claims that hold, fewest to most |\n|---|---|"
    for condition, values in sorted(found.reached.items(), key=lambda one: _effect(one[1].values()), reverse=True):
        cells = [
            f"**{words}**" if value == found.best.values[condition] else words
            for value, (fewest, most) in values.items()
            for words in [f"{value}: {fewest} to {most}" if fewest < most else f"{value}: {most}"]
        ]
        yield f"| `{condition}` | {'<br>'.join(cells)} |"


def _effect(reached: Collection[tuple[int, int]]) -> tuple[int, int]:
    """How far the values of a condition are apart, by the most claims that hold with each, then by the fewest."""
    fewest, most = zip(*reached, strict=True)
    return max(most) - min(most), max(fewest) - min(fewest)


def _misses(found: Search, tried: Sequence[Tried]) -> Iterator[str]:
    """A table of candidates with the claims that do not hold; those with the same verdicts share a row."""
    yield "| combination | chosen | others | claims that do not hold |\n|---|---|---|---|"
    rows: dict[tuple[str, ...], list[Tried]] = {}
    for one in tried:
        rows.setdefault(tuple(row.status for row in one.rows), []).append(one)
    for alike in rows.values():
        names = "<br>".join(f"{_named(found, one)} ({one.candidate.departures})" for one in alike)
        claims = _claims(found, alike[0].rows)
        off = [claim for claim, row in zip(claims, alike[0].rows, strict=True) if row.status != "pass"]
        yield f"| {names} | {_counts(alike[0])} | {', '.join(off) or 'none'} |"


def _table(found: Search, tried: Sequence[Tried]) -> Iterator[str]:
    """A table of candidates with the verdict of every claim."""
    claims = _claims(found, tried[0].rows)
    yield f"| combination | chosen | others | {' | '.join(claims)} |"
    yield "|---|---|---|" + "---|" * len(claims)
    for one in tried:
        verdicts = " | ".join(SIGNS[row.status] for row in one.rows)
        yield f"| {_named(found, one)} | {_counts(one)} | {verdicts} |"


def _claims(found: Search, rows: Sequence[Row]) -> list[str]:
    """The names of the claims, those that decide in bold."""
    names = [row.claim.id.removeprefix(f"{found.paper.paper}-") for row in rows]
    return [f"**{name}**" if row.claim.chooses else name for name, row in zip(names, rows, strict=True)]


def _named(found: Search, one: Tried) -> str:
    return f"**{one.candidate.name}**" if one.candidate == found.best else one.candidate.name


def _counts(one: Tried) -> str:
    return f"{held(one.chosen)} of {len(one.chosen)} | {held(one.others)} of {len(one.others)}"


def _untried(found: Search) -> Iterator[str]:
    """How many combinations were not tried, if any."""
    there = len(list(candidates(found.paper)))
    if len(found.tried) < there:
        all_of_them = f"tailback reproduce {found.paper.paper} --search"
        yield f"\n{len(found.tried)} of {there} combinations were tried; `{all_of_them}` tries all."


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path.is_dir if "--tried" in sys.argv[2:] else every)
