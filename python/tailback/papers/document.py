"""Writes `docs/papers.md` with its pictures, `docs/papers-search.md`, and the scorecard line in README.md from results.

python -m tailback.papers.document RESULTS [--quick] [--tried]    # after `tailback reproduce`; runs what is missing

`--tried` shows the searches as far as they went.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from tailback.papers import search_document
from tailback.papers.claims import Condition, papers
from tailback.papers.page import draw, in_order
from tailback.papers.reproduction import Reproduction, Wanted, reproduce
from tailback.papers.scorecard import Row, Value, held, in_one_line
from tailback.papers.search import Chosen, Search, deciding, every, judging, search
from tailback.results.durable import make_folder, write_file
from tailback.sweep import Silent

CLONE = Path(__file__).resolve().parents[3]
PAGE, PICTURES, README = CLONE / "docs/papers.md", CLONE / "docs/pictures/papers", CLONE / "README.md"
LINE = re.compile(r"(<!-- scorecard -->\n).*?(\n<!-- end -->)", re.DOTALL)
HOLDS = {"pass": "holds", "fail": "does not hold", "skipped": "is not measured"}

TEXT = Template(resources.files("tailback.papers").joinpath("document.md").read_text(encoding="utf-8"))
"""What the page says besides the results: how to read it, its words, and the conditions on a real kernel."""


def main(results: Path, *, quick: bool, among: Chosen) -> None:
    """Writes both pages, the pictures and the scorecard line."""
    found = [reproduce(Wanted(name, quick=quick, out=results), Silent()) for name in papers()]
    make_folder(PICTURES)
    for one in found:
        for name, picture in pictures(one):
            write_file(PICTURES / name, picture)
    searched = {
        one.paper.paper: search(Wanted(one.paper.paper, out=results), Silent(), among)
        for one in found
        if any(condition.grid for condition in one.paper.conditions)
    }
    write_pages(found, {name: one for name, one in searched.items() if one.tried})
    text = README.read_text(encoding="utf-8")
    line = in_one_line([row for one in found for row in one.rows])
    write_file(README, LINE.sub(rf"\g<1>{line}.\g<2>", text).encode())


def write_pages(found: Sequence[Reproduction], searched: Mapping[str, Search]) -> None:
    """Writes the page, and the page of the searches."""
    write_file(PAGE, page(found, searched).encode())
    write_file(PAGE.with_name(search_document.NAME), search_document.page(searched).encode())


def pictures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """The figures of a paper with the names of their files."""
    results = found.results
    for drawing in found.drawings:
        name = f"{found.paper.paper}-fig{drawing.figure}.svg"
        yield name, draw(drawing, results, found.reported)


def page(found: Sequence[Reproduction], searched: Mapping[str, Search]) -> str:
    """The text of the page."""
    chapters = [part for one in found for part in chapter(one, searched.get(one.paper.paper))]
    return TEXT.substitute(overview="\n".join(overview(found, searched)), chapters="\n".join(chapters))


def overview(found: Sequence[Reproduction], searched: Mapping[str, Search]) -> Iterator[str]:
    """The papers with the number of claims that hold, of all and by their part in a search, and those that do not."""
    rows = [row for one in found for row in one.rows]
    yield "| paper | claims that hold | of the chosen | of the others | those that do not hold |\n|---|---|---|---|---|"
    for one in found:
        name = one.paper.paper
        halves = [deciding(one.rows), judging(one.rows)] if name in searched else []
        shares = [f"{held(part)} of {len(part)}" for part in (one.rows, *halves)] + ["–"] * (2 - len(halves))
        misses = ", ".join(short(row) for row in one.rows if row.status != "pass") or "none"
        yield f"| [{name}](#{name}): *{one.paper.title}* | {' | '.join(shares)} | {misses} |"
    yield f"\n{held(rows)} of {len(rows)} claims hold in all. {repetitions(rows)}\n"


def short(row: Row) -> str:
    """The name of a claim within its paper."""
    return f"`{row.claim.id.removeprefix(f'{row.paper}-')}`"


def repetitions(rows: Sequence[Row]) -> str:
    """The number of repetitions of each configuration."""
    counts = {len(sample.values) for row in rows for sample in row.samples}
    if counts == {1}:
        return "This is `--quick`: one repetition of each configuration, shorter ones on Wi-Fi."
    number = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"There were {number} repetitions of each configuration."


def chapter(found: Reproduction, searched: Search | None) -> Iterator[str]:
    """The conditions of a paper, its figures with the claims and the causes of misses, and why these conditions."""
    paper = found.paper
    yield f"## {paper.paper}\n"
    yield f"*{paper.title}*. {paper.setup.strip()}\n"
    yield f"{held(found.rows)} of {len(found.rows)} claims hold.\n"
    if paper.conditions:
        yield f"### Conditions of {paper.paper}\n"
        yield from map(condition, paper.conditions)
        yield f"\n[Why these conditions](#why-these-conditions-of-{paper.paper}).\n"
    drawings, owners = in_order(found)
    for drawing in drawings:
        where = f"pictures/papers/{paper.paper}-fig{drawing.figure}.svg"
        yield f"### Figure {drawing.figure} of {paper.paper}: {drawing.caption}\n\n![{drawing.caption}]({where})\n"
        yield from claims([row for row, owner in owners if owner is drawing])
    left = [row for row, owner in owners if owner is None]
    if left:
        yield f"### Several figures of {paper.paper}\n"
        yield from claims(left)
    if paper.conditions:
        yield f"### Why these conditions of {paper.paper}\n"
        yield from (f"- `{one.name}`: {one.because}." for one in paper.conditions)
        yield ""
    if searched:
        yield from search_document.in_short(searched)
        yield ""


def condition(one: Condition) -> str:
    """A condition as an entry of the list: where it is from, and the choice if it is inferred."""
    chosen = next((f": **{name}**" for name, let in one.grid.items() if let == one.let), "")
    return f"- `{one.name}` ({one.reason}): {one.what}{chosen}."


def claims(rows: Sequence[Row]) -> Iterator[str]:
    """The claims about a figure: what the paper says, how we measure it, and a table of what we expect and measured;
    then what we know of the cause, if a claim does not hold."""
    for row in rows:
        claim = row.claim
        yield f"**{short(row)} {HOLDS[row.status]}:** {claim.says}. *Measured:* {claim.measure}.\n"
        yield "| quantity | expected | measured |\n|---|---|---|"
        for quantity, bound in claim.expected.items():
            measured = "<br>".join(map(value, row.values_of(quantity))) or "–"
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in (quantity, str(bound), measured)) + " |"
        yield ""
        if row.note:
            yield f"*Why {short(row)} {HOLDS[row.status]}:* {row.note}.\n"


def value(one: Value) -> str:
    """A measured value after the case in which it was measured."""
    case = f"*{one.case}:* " if one.case else ""
    return f"{case}{one.words}{' (!)' if one.off else ''}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:], among=Path.is_dir if "--tried" in sys.argv[2:] else every)
