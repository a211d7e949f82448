"""Writes `docs/papers.md` with its pictures, and the scorecard line in README.md, from existing results.

python -m tailback.papers.document RESULTS [--quick] [--tried]    # after `tailback reproduce`; runs what is missing

`--tried` shows the searches as far as they went.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tailback.papers.claims import papers
from tailback.papers.page import draw, in_order
from tailback.papers.reproduction import Reproduction, Wanted, reproduce
from tailback.papers.scorecard import Row, held, in_one_line
from tailback.papers.search import Chosen, Search, every, in_words, search
from tailback.results.durable import make_folder, write_file
from tailback.sweep import Silent

CLONE = Path(__file__).resolve().parents[3]
PAGE, PICTURES, README = CLONE / "docs/papers.md", CLONE / "docs/pictures/papers", CLONE / "README.md"
LINE = re.compile(r"(<!-- scorecard -->\n).*?(\n<!-- end -->)", re.DOTALL)
VERDICTS = {"pass": "holds", "fail": "**missed**", "skipped": "not measured"}

INTRODUCTION = """# What papers report, and what we measure

<!-- written by `make papers` -->

    tailback reproduce                       # all papers; complete runs are not run again
    tailback reproduce ton22 fig6            # one figure, and the claims about it
    tailback reproduce --quick               # one shorter repetition of each configuration
    tailback reproduce --json                # one document for scripts
    tailback reproduce ton22 --search        # which conditions of its testbed explain most claims

These commands run the experiments of [experiments/papers](../experiments/papers) into `results/PAPER`, measure each
claim, print the scorecard, and write `results/reproduction.html`, which shows each figure, in the form of the paper,
beside the claims about it.

The claims are data: [python/tailback/papers](../python/tailback/papers) has a YAML file for each paper. It says, in our
words, what the paper reports, how we measure it, and which values we expect. The Python file of the same name has the
functions that measure. A claim holds if, in every case, the median over repetitions is in the expected range; ± is half
the 95 % interval of the mean over repetitions, and (!) marks values outside the range. A claim without results is "not
measured", and does not count as holding. No constant of the simulator was chosen so that a claim holds. For each miss
we write down what we know of its cause, and what a real kernel gives in the same case where we have measured it.

What we assume of a testbed is data, too: the conditions of a paper are variables of all its experiments, each given by
the paper, the default of the kernel or device that it names, or inferred. Inferred conditions are chosen once for all
figures of a paper, by a search over a stated grid. Its rule was written before the first search: the conditions under
which most of the chosen claims hold (every second one), of equal ones those with the fewest departures from the plain
values. The search runs one short repetition. If some are still equal, the full set of runs decides; we added this when
four candidates of `ton22` were equal, whose first in the order of the grid, which was taken until then, has 11 of 20
claims in the full set. The other claims have no part in the choice, and show whether it is more than a fit.

**The figures have the form of the paper's, and its values are drawn into them**: rings are points that were read off
or that its text gives, shaded areas are ranges, black lines stand on bars. Where a ring is around our mark, the two
agree.

The full set has 2128 runs, 900 of them of figure 8a of `access21`. On two cores that tests and builds used, too, it
took 9.2 minutes (`access21` 4.1, `ton22` 4.0, `wlan18` 1.0, `teacup14` 0.1); `--quick` has 576 runs and took 50 seconds
(1.2 CPU minutes). Where a paper gives no number of repetitions there are three. Captures for passive RTT take 300 MB.

## The conditions on a real kernel

| condition | simulator | Linux 6.12 |
|---|---|---|
| `ton22`: voice's contention at the access point (earlier searches' choice) | -51 %, -2.4 ms | -53 %, -2.2 ms |
| `ton22`: the sender behaves as Linux 4.14 | BBR: 35 → 46 Mbit/s, 1 to 16 ms of TSQ | 6.12 cannot: 36 → 187 |
| `access21`: none explains figure 5b at 10 Mbit/s | TSQ saves 66 ms | TSQ saves 70 ms |
| `ton22`, `wlan18`: pauses between interrupts of NICs and radios, GRO | see there | not asked |
| `teacup14`: FreeBSD 9, Linux 3.10 | see there | has neither behaviour |

The first row is goodput and ping of CUBIC with a TSQ of 1 ms (129 → 62.5 and 136 → 64 Mbit/s; `uml:wifi`), the third
the median TCP RTT of BBR (the kernel over a base RTT of 0.2 ms). [Figures of ton22 on a real kernel](papers-kernel.md).
"""


def main(results: Path, *, quick: bool, among: Chosen) -> None:
    """Writes the page, the pictures and the scorecard line."""
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
    write_file(PAGE, page(found, searched).encode())
    text = README.read_text(encoding="utf-8")
    line = in_one_line([row for one in found for row in one.rows])
    write_file(README, LINE.sub(rf"\g<1>{line}.\g<2>", text).encode())


def pictures(found: Reproduction) -> Iterator[tuple[str, bytes]]:
    """The figures of a paper with the names of their files."""
    results = found.results
    for drawing in found.drawings:
        name = f"{found.paper.paper}-fig{drawing.figure}.svg"
        yield name, draw(drawing, results, found.reported)


def page(found: Sequence[Reproduction], searched: Mapping[str, Search]) -> str:
    """The text of the page."""
    rows = [row for one in found for row in one.rows]
    parts = [
        INTRODUCTION,
        f"{in_one_line(rows)}. {repetitions(rows)}\n",
        *(part for one in found for part in chapter(one, searched.get(one.paper.paper))),
    ]
    return "\n".join(parts)


def repetitions(rows: Sequence[Row]) -> str:
    """The number of repetitions of each configuration."""
    counts = {len(sample.values) for row in rows for sample in row.samples}
    if counts == {1}:
        return "This is `--quick`: one repetition of each configuration, shorter ones on Wi-Fi."
    number = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
    return f"There were {number} repetitions of each configuration."


def chapter(found: Reproduction, searched: Search | None) -> Iterator[str]:
    """The conditions and the scorecard of a paper, the causes of its misses, and its figures."""
    paper = found.paper
    yield f"## {paper.paper}\n"
    yield f"*{paper.title}*. {paper.setup.strip()}\n"
    if paper.conditions:
        yield "| condition | | why |\n|---|---|---|"
        yield from (f"| {one.what} | {one.reason} | {one.because} |" for one in paper.conditions)
        yield ""
    if searched and searched.tried:
        yield "Claims by inferred conditions (one short repetition; the chosen claims are bold):\n"
        yield from in_words(searched)
        yield ""
    yield f"{held(found.rows)} of {len(found.rows)} claims hold.\n"
    drawings, owners = in_order(found)
    for drawing in drawings:
        where = f"pictures/papers/{paper.paper}-fig{drawing.figure}.svg"
        yield f"### Figure {drawing.figure} of {paper.paper}: {drawing.caption}\n\n![{drawing.caption}]({where})\n"
        yield from claims([row for row, owner in owners if owner is drawing])
    left = [row for row, owner in owners if owner is None]
    if left:
        yield f"### Several figures of {paper.paper}\n"
        yield from claims(left)


def claims(rows: Sequence[Row]) -> Iterator[str]:
    """The claims about a figure, then what we know of those that do not hold."""
    if not rows:
        return
    yield "| claim | what the paper says | expected | measured | |\n|---|---|---|---|---|"
    yield from map(line, rows)
    yield ""
    for row in rows:
        if row.note:
            yield f"Why `{row.claim.id}` does not hold: {row.note}.\n"


def line(row: Row) -> str:
    """A row of the table."""
    claim = row.claim
    cells = (f"`{claim.id.removeprefix(f'{row.paper}-')}`", claim.says, row.expected, row.measured or "–")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + f" | {VERDICTS[row.status]} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]), quick="--quick" in sys.argv[2:], among=Path.is_dir if "--tried" in sys.argv[2:] else every)
