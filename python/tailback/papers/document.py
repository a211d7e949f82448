"""Writes `docs/papers.md` with its pictures, and the line of the scorecard in README.md, from results that are there.

python -m tailback.papers.document RESULTS [--quick]    # after `tailback reproduce`; runs what is missing
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailback.papers.claims import papers
from tailback.papers.page import draw
from tailback.papers.reproduction import Reproduction, Wanted, reproduce
from tailback.papers.scorecard import Row, held, in_one_line
from tailback.results.durable import make_folder, write_file

CLONE = Path(__file__).resolve().parents[3]
PAGE, PICTURES, README = CLONE / "docs/papers.md", CLONE / "docs/pictures/papers", CLONE / "README.md"
LINE = re.compile(r"(<!-- scorecard -->\n).*?(\n<!-- end -->)", re.DOTALL)
VERDICTS = {"pass": "holds", "fail": "**missed**", "skipped": "not measured"}

INTRODUCTION = """# What papers report, and what we get

<!-- written by `make papers` -->

    tailback reproduce                       # all papers; complete runs are not run again
    tailback reproduce ton22 fig6            # one figure, and the claims about it
    tailback reproduce --quick               # one shorter repetition of each configuration
    tailback reproduce --json                # one document for scripts

runs the experiments of [experiments/papers](../experiments/papers) into `results/PAPER`, measures each claim, prints
the scorecard, and writes `results/reproduction.html`: each figure, in the form of the paper, beside the claims about
it. The claims are data, a YAML file for each paper in [python/tailback/papers](../python/tailback/papers): what the
paper reports, in our words, how that is measured and where it is expected; the file of the same name in Python has
the functions that measure. A claim holds if the median over repetitions lies where it is expected, in every case; ±
is half the 95 % interval of the mean over repetitions, (!) marks what lies elsewhere. A claim without results is not
measured, never passed. No constant of the simulator is there to make a claim hold: a miss is written down with what
is known of its reason, and where a real kernel says what we say, with that.

The full set is 1765 runs and some 30 CPU minutes, `--quick` 405 runs and some 4: divide by your cores. Captures for
passive RTT take 300 MB.
"""


class _Nobody:
    """A watch that looks away."""

    def update(self, done: int, total: int, fraction: float) -> None:
        pass


def main(results: Path, *, quick: bool) -> None:
    """Writes the page, the pictures and the line."""
    found = [reproduce(Wanted(name, quick=quick, out=results), _Nobody()) for name in papers()]
    make_folder(PICTURES)
    for one in found:
        for name, picture in pictures(one):
            write_file(PICTURES / name, picture)
    write_file(PAGE, page(found).encode())
    text = README.read_text(encoding="utf-8")
    line = in_one_line([row for one in found for row in one.rows])
    write_file(README, LINE.sub(rf"\g<1>{line}.\g<2>", text).encode())


def pictures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """The figures of a paper with the names of their files."""
    results = found.results
    for drawing in found.drawings:
        yield f"{found.paper.paper}-fig{drawing.figure}.svg", draw(drawing, results)


def page(found: Sequence[Reproduction]) -> str:
    """The text of the page."""
    rows = [row for one in found for row in one.rows]
    parts = [
        INTRODUCTION,
        f"{in_one_line(rows)}. {repetitions(rows)}\n",
        *(part for one in found for part in chapter(one)),
    ]
    return "\n".join(parts)


def repetitions(rows: Sequence[Row]) -> str:
    """How many there were of each configuration."""
    counts = {len(sample.values) for row in rows for sample in row.samples}
    if counts == {1}:
        return "This is `--quick`: one repetition of each configuration, shorter ones on Wi-Fi."
    number = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"There were {number} repetitions of each configuration."


def chapter(found: Reproduction) -> Iterator[str]:
    """The scorecard of a paper, why claims are missed, its figures."""
    paper = found.paper
    yield f"## {paper.paper}\n"
    yield f"*{paper.title}*. {paper.setup.strip()}\n"
    yield "| claim | figure | what the paper says | expected | measured | |\n|---|---|---|---|---|---|"
    yield from map(line, found.rows)
    yield f"\n{held(found.rows)} of {len(found.rows)} claims hold.\n"
    missed = [row for row in found.rows if row.note]
    if missed:
        yield "Why others do not:\n"
        yield from (f"- `{row.claim.id}`: {row.note}." for row in missed)
        yield ""
    for drawing in found.drawings:
        where = f"pictures/papers/{paper.paper}-fig{drawing.figure}.svg"
        yield f"**Figure {drawing.figure}**: {drawing.caption}\n\n![{drawing.caption}]({where})\n"


def line(row: Row) -> str:
    """A row of the table."""
    claim = row.claim
    cells = (f"`{claim.id.removeprefix(f'{row.paper}-')}`", claim.figure, claim.says, row.expected, row.measured or "–")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + f" | {VERDICTS[row.status]} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:])
