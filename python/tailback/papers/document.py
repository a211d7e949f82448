"""Writes `docs/papers.md` with its pictures, the page of searches, the score of `tailback explain` and the line in
README.md from results.

python -m tailback.papers.document RESULTS [--quick] [--tried]    # after `tailback reproduce`; runs what is missing

`--tried` shows the searches as far as they went.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from tailback.papers import search_document, standing
from tailback.papers.claims import papers
from tailback.papers.drawing import Drawing
from tailback.papers.page import draw, in_order
from tailback.papers.reproduction import Reproduction, Wanted, reproduce
from tailback.papers.scorecard import Row, Value, held, in_one_line
from tailback.papers.search import Chosen, Search, deciding, every, judging, search
from tailback.papers.testbed import PaperTestbed
from tailback.results.durable import make_folder, write_file
from tailback.sweep import Silent

CLONE = Path(__file__).resolve().parents[3]
PAGE, PICTURES, README = CLONE / "docs/papers.md", CLONE / "docs/pictures/papers", CLONE / "README.md"
SEARCHES = CLONE / "conformance/results" / search_document.NAME
SCORE = Path(__file__).with_name(standing.NAME)
LINE = re.compile(r"(<!-- scorecard -->\n).*?(\n<!-- end -->)", re.DOTALL)
HOLDS = {"pass": "holds", "fail": "does not hold", "skipped": "is not measured"}

TEXT = Template(resources.files("tailback.papers").joinpath("document.md").read_text(encoding="utf-8"))
"""What the page says besides the results."""


@dataclass(frozen=True)
class Measured:
    """A paper as it states its testbed, and what goes with it."""

    stated: Reproduction
    what_if: Reproduction | None = None
    searched: Search | None = None

    @property
    def name(self) -> str:
        """The paper."""
        return self.stated.paper.paper

    @property
    def what_if_rows(self) -> Mapping[str, Row]:
        """The claims in the what-if, by id."""
        return {row.claim.id: row for row in self.what_if.rows} if self.what_if else {}


def main(results: Path, *, quick: bool, among: Chosen) -> None:
    """Writes both pages, the pictures, the score and the line."""
    found = [measured(name, results, quick=quick, among=among) for name in papers()]
    make_folder(PICTURES)
    for one in found:
        for name, picture in pictures(one.stated):
            write_file(PICTURES / name, picture)
    write_pages(found)
    write_file(SCORE, standing.as_bytes({one.name: _standing(one) for one in found}))
    text = README.read_text(encoding="utf-8")
    write_file(README, LINE.sub(rf"\g<1>{headline(found)}\g<2>", text).encode())


def measured(name: str, results: Path, *, quick: bool, among: Chosen) -> Measured:
    """Everything about a paper; runs what is missing."""
    stated = reproduce(Wanted(name, quick=quick, out=results), Silent())
    testbed = stated.paper.testbed
    what_if = None
    if testbed.against:
        what_if = reproduce(Wanted(name, quick=quick, out=results, conditions="what-if"), Silent())
    searched = search(Wanted(name, out=results), Silent(), among) if testbed.searched else None
    return Measured(stated, what_if, searched if searched and searched.tried else None)


def _standing(one: Measured) -> standing.Standing:
    return standing.of_rows(one.stated.rows, one.what_if.rows if one.what_if else None)


def headline(found: Sequence[Measured]) -> str:
    """The score under stated conditions, then that of the what-if."""
    line = in_one_line([row for one in found for row in one.stated.rows])
    more = [f"{held(one.what_if.rows)} of {one.name}" for one in found if one.what_if]
    extra = f" What contradicts the papers would explain more: {', '.join(more)}." if more else ""
    return f"As the papers state their testbeds, {line}.{extra}"


def write_pages(found: Sequence[Measured]) -> None:
    """Writes the page, and the page of the searches."""
    write_file(PAGE, page(found).encode())
    searched = {one.name: one.searched for one in found if one.searched}
    write_file(SEARCHES, search_document.page(searched).encode())


def pictures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """The figures of a paper with the names of their files."""
    results = found.results
    for drawing in found.drawings:
        name = f"{found.paper.paper}-fig{drawing.figure}.svg"
        yield name, draw(drawing, results, found.reported)


def page(found: Sequence[Measured]) -> str:
    """The text of the page."""
    parts = [part for one in found for part in chapter(one)]
    counts = repetitions([row for one in found for row in one.stated.rows])
    return TEXT.substitute(overview="\n".join(overview(found)), runs=counts, chapters="\n".join(parts))


def overview(found: Sequence[Measured]) -> Iterator[str]:
    """The papers with the number of claims that hold, of all and by their part in the choice, and those that do not."""
    yield f"**{headline(found)}**\n"
    yield "| paper | claims that hold | of the choosing | of the testing | what-if | that do not hold |"
    yield "|---|---|---|---|---|---|"
    for one in found:
        rows = one.stated.rows
        shares = [f"{held(part)} of {len(part)}" for part in (rows, deciding(rows), judging(rows))]
        what_if = f"{held(one.what_if.rows)}" if one.what_if else "–"
        misses = ", ".join(short(row) for row in rows if row.status != "pass") or "none"
        title = one.stated.paper.title
        yield f"| [{one.name}](#{one.name}): *{title}* | {' | '.join(shares)} | {what_if} | {misses} |"


def short(row: Row) -> str:
    """The name of a claim within its paper."""
    return f"`{row.claim.id.removeprefix(f'{row.paper}-')}`"


def repetitions(rows: Sequence[Row]) -> str:
    """The number of repetitions of each configuration."""
    counts = {len(sample.values) for row in rows for sample in row.samples}
    if counts == {1}:
        return "This page is of `--quick`: one repetition of each configuration, shorter ones on Wi-Fi."
    number = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"This page has {number} repetitions of each configuration."


def chapter(one: Measured) -> Iterator[str]:
    """The conditions of a paper, its figures with the claims and the causes of misses, and the search."""
    found = one.stated
    paper = found.paper
    yield f"## {paper.paper}\n"
    yield f"*{paper.title}*. {standing_line(one)}\n"
    yield from conditions(paper.testbed)
    drawings, owners = in_order(found)
    for drawing in drawings:
        rows = [row for row, owner in owners if owner is drawing]
        if rows:
            yield from section(one, drawing, rows)
    left = [row for row, owner in owners if owner is None]
    if left:
        yield from claims(one, left)
    if one.searched:
        yield "### The search\n"
        if found.paper.testbed.search_note:
            yield f"{found.paper.testbed.search_note.strip()}\n"
        yield from search_document.in_short(one.searched)
        yield ""


def standing_line(one: Measured) -> str:
    """The score of a paper."""
    return f"{_standing(one).in_one_line}."


def conditions(testbed: PaperTestbed) -> Iterator[str]:
    """A table of the conditions by kind."""
    yield "| kind | condition | where, or why |\n|---|---|---|"
    for fact in testbed.stated:
        here = f" Here: {fact.nearest}." if fact.nearest else ""
        yield _cells("stated", f"{fact.name}: {fact.what}", f"{fact.section}.{here}")
    for choice in testbed.chosen:
        yield _cells("chosen", f"{choice.name}: {choice.what}", f"Silent: {choice.silent}. {choice.because}")
    for departure in testbed.against:
        reason = f"contradicts `{departure.contradicts}`; {departure.because}"
        yield _cells("against", f"{departure.name}: {departure.what}", reason)
    for one in testbed.disagrees:
        yield _cells("disagrees", one.what, one.section)
    yield ""


def _cells(*texts: str) -> str:
    return "| " + " | ".join(" ".join(text.split()).replace("|", "\\|") for text in texts) + " |"


def section(one: Measured, drawing: Drawing, rows: Sequence[Row]) -> Iterator[str]:
    """A figure with the claims about it."""
    name = one.name
    where = f"pictures/papers/{name}-fig{drawing.figure}.svg"
    yield f"### Figure {drawing.figure} of {name}: {drawing.caption}\n\n![{drawing.caption}]({where})\n"
    yield from claims(one, rows)


def claims(one: Measured, rows: Sequence[Row]) -> Iterator[str]:
    """A table of claims, one row each; then what we know of the cause, if one does not hold."""
    what_if = one.what_if_rows
    yield "| claim | the paper says | expected | measured |\n|---|---|---|---|"
    for row in rows:
        status = HOLDS[row.status] if not row.unwitnessed else "is not reproduced"
        also = f"; what-if: {HOLDS[what_if[row.claim.id].status]}" if row.claim.id in what_if else ""
        bounds = [f"{quantity}: {bound}" for quantity, bound in row.claim.expected.items()]
        bounds += [f"*witness,* {quantity}: {bound}" for quantity, bound in row.claim.witness.items()]
        values = "<br>".join(_measured(row))
        says = f"{row.claim.says}. *Measured:* {row.claim.measure}"
        yield _cells(f"{short(row)} **{status}**{also}", says, "<br>".join(bounds), values or "–")
    yield ""
    for row in rows:
        if row.note:
            yield f"{short(row)}: {' '.join(row.note.split())}.\n"


def _measured(row: Row) -> Iterator[str]:
    for quantity in row.claim.bounds:
        found = "; ".join(map(value, row.values_of(quantity)))
        if found:
            yield f"{quantity}: {found}"


def value(one: Value) -> str:
    """A measured value after the case in which it was measured."""
    case = f"*{one.case}:* " if one.case else ""
    return f"{case}{one.words}{' (!)' if one.off else ''}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:], among=Path.is_dir if "--tried" in sys.argv[2:] else every)
