"""Writes `docs/papers.md` with its pictures, the score of `tailback explain` and the line in README.md from results.

python -m tailback.papers.document RESULTS [--quick]    # after `tailback reproduce`; runs what is missing
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import zip_longest
from math import prod
from pathlib import Path
from string import Template

from tailback.papers import standing
from tailback.papers.claims import Paper, papers
from tailback.papers.page import draw, in_order, named
from tailback.papers.reproduction import Reproduction, Wanted, reproduce
from tailback.papers.scorecard import Row, Value, held, in_one_line
from tailback.papers.search import deciding, judging
from tailback.papers.standing import HOLDS, on_a_kernel
from tailback.papers.testbed import PaperTestbed
from tailback.results.durable import make_folder, write_file
from tailback.sweep import Silent

CLONE = Path(__file__).resolve().parents[3]
PAGE, PICTURES, README = CLONE / "docs/papers.md", CLONE / "docs/pictures/papers", CLONE / "README.md"
SEARCHES = "../conformance/results/papers-search.md"
"""The page of the searches, seen from `docs/papers.md`."""
SCORE = Path(__file__).with_name(standing.NAME)
LINE = re.compile(r"(<!-- scorecard -->\n).*?(\n<!-- end -->)", re.DOTALL)

TEXT = Template(resources.files("tailback.papers").joinpath("document.md").read_text(encoding="utf-8"))
"""What the page says besides the results."""


@dataclass(frozen=True)
class Measured:
    """A paper as it states its testbed, and what goes with it."""

    stated: Reproduction
    what_if: Reproduction | None = None

    @property
    def name(self) -> str:
        """The paper."""
        return self.stated.paper.paper

    @property
    def what_if_rows(self) -> Mapping[str, Row]:
        """The claims in the what-if, by id."""
        return {row.claim.id: row for row in self.what_if.rows} if self.what_if else {}


def main(results: Path, *, quick: bool) -> None:
    """Writes the page, the pictures, the score and the line."""
    found = [measured(name, results, quick=quick) for name in papers()]
    make_folder(PICTURES)
    for one in found:
        for name, picture in pictures(one.stated):
            write_file(PICTURES / name, picture)
    write_file(PAGE, page(found).encode())
    write_file(SCORE, standing.as_bytes({one.name: _standing(one) for one in found}))
    text = README.read_text(encoding="utf-8")
    write_file(README, LINE.sub(rf"\g<1>{headline(found)}\g<2>", text).encode())


def measured(name: str, results: Path, *, quick: bool) -> Measured:
    """A paper as stated, and its what-if if there is one, by quick runs; runs what is missing."""
    stated = reproduce(Wanted(name, quick=quick, out=results), Silent())
    what_if = None
    if stated.paper.testbed.against:
        what_if = reproduce(Wanted(name, quick=True, out=results, conditions="what-if"), Silent())
    return Measured(stated, what_if)


def _standing(one: Measured) -> standing.Standing:
    return standing.of_rows(one.stated.rows, one.what_if.rows if one.what_if else None)


def headline(found: Sequence[Measured]) -> str:
    """The score under stated conditions, then that of the what-if."""
    line = in_one_line([row for one in found for row in one.stated.rows])
    more = [f"{held(one.what_if.rows)} of {one.name}" for one in found if one.what_if]
    extra = f" What contradicts the papers would explain more: {', '.join(more)}." if more else ""
    return f"As the papers state their testbeds, {line}.{extra}"


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
    """The conditions of a paper, its claims, what differs where they do not hold, and its figures."""
    found = one.stated
    paper = found.paper
    yield f"## {paper.paper}\n"
    yield f"*{paper.title}*. {standing_line(one)}\n"
    yield from conditions(paper.testbed)
    yield from searched(paper)
    yield from claims(one, by_figure(found))
    yield from gallery(found)


def by_figure(found: Reproduction) -> list[Row]:
    """The claims in the order of the figures."""
    drawings, owners = in_order(found)
    of_figures = [row for drawing in drawings for row, owner in owners if owner is drawing]
    return [*of_figures, *(row for row, owner in owners if owner is None)]


def searched(paper: Paper) -> Iterator[str]:
    """How many combinations of choices were compared, and where they all are."""
    compared = paper.testbed.searched
    if compared:
        number = prod(len(choice.grid) for choice in compared)
        names = ", ".join(f"*{choice.name}*" for choice in compared)
        note = f" {' '.join(paper.testbed.search_note.split())}" if paper.testbed.search_note else ""
        yield f"A search compared {number} combinations of {names}: [all of them]({SEARCHES}#{paper.paper}).{note}\n"


def gallery(found: Reproduction) -> Iterator[str]:
    """The figures that claims are about, two beside each other."""
    drawings, owners = in_order(found)
    about = [drawing for drawing in drawings if any(owner is drawing for _, owner in owners)]
    cells = [
        f"![{drawing.caption}](pictures/papers/{found.paper.paper}-fig{drawing.figure}.svg)"
        f"<br>*{named(drawing.figure)}: {drawing.caption}*"
        for drawing in about
    ]
    yield "| | |\n|---|---|"
    yield from (f"| {left} | {right} |" for left, right in zip_longest(cells[::2], cells[1::2], fillvalue=""))
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


def claims(one: Measured, rows: Sequence[Row]) -> Iterator[str]:
    """A table of claims, one row each; then what differs where one does not hold."""
    yield "| claim | the paper says | expected | measured |\n|---|---|---|---|"
    for row in rows:
        bounds = [f"{quantity}: {bound}" for quantity, bound in row.claim.expected.items()]
        bounds += [f"*witness,* {quantity}: {bound}" for quantity, bound in row.claim.witness.items()]
        values = "<br>".join(_measured(row))
        says = f"{row.claim.says}. *Measured:* {row.claim.measure}"
        yield _cells(_verdict(one, row), says, "<br>".join(bounds), values or "–")
    yield ""
    off = [row for row in rows if row.note]
    if off:
        yield "What differs:\n"
        yield from (f"- {short(row)}: {' '.join(row.note.split())}." for row in off)
        yield ""


def _verdict(one: Measured, row: Row) -> str:
    """The claim by its name with its figure, and on which of our sides it holds."""
    status = "is not reproduced" if row.unwitnessed else HOLDS[row.status]
    parts = [f"{short(row)}, figure {row.claim.figure}: **{status}**"]
    if row.claim.id in one.what_if_rows:
        parts.append(f"what-if: {HOLDS[one.what_if_rows[row.claim.id].status]}")
    kernel = on_a_kernel(one.name).get(row.claim.id)
    if kernel is not None:
        parts.append(kernel.in_one_line)
    return "; ".join(parts)


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
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:])
