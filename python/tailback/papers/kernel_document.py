"""Writes `conformance/results/papers-kernel.md` with its pictures: figures of papers from a real kernel and the
simulator.

python -m tailback.papers.kernel_document RESULTS    # runs what is missing, on the kernel that each paper's file names

It also writes the verdicts on claims for `docs/papers.md` (`kernel.json`).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tailback.papers import standing
from tailback.papers.claims import load_paper, papers
from tailback.papers.document import CLONE, short, value
from tailback.papers.drawing import Drawing
from tailback.papers.made import made
from tailback.papers.on_kernel import Beside, Configuration, beside, configurations, in_words
from tailback.papers.page import draw, in_order
from tailback.papers.reproduction import Wanted
from tailback.papers.scorecard import Row
from tailback.papers.standing import HOLDS
from tailback.results.durable import make_folder, write_file
from tailback.sweep import Silent

PAGE, PICTURES = CLONE / "conformance/results/papers-kernel.md", CLONE / "docs/pictures/papers"
VERDICTS = Path(__file__).with_name(standing.KERNEL)
BOTH = {"pass": "holds on both sides", "fail": "holds on neither side", "skipped": "is not measured on either side"}

INTRODUCTION = """# Figures of papers on a real kernel

    tailback kernel build --with wifi
    tailback reproduce ton22 fig7 --backend uml:wifi

The command runs the experiments of a figure twice: with [the TCP and the mac80211 of a real Linux above the
simulator's air](../../docs/kernel-wifi.md), and on the simulator. It measures the same claims from both, and draws
both figures. `tailback reproduce` without `--backend` has the [figures under the conditions of the
testbed](../../docs/papers.md). Where a kernel of ours cannot have a condition, the file of the paper says what there is
instead, and both sides run under it. So a difference between the two columns of a table is one between Linux and our
model of it. If both sides agree and the paper does not, the cause is what both lack: for ton22 the kernel 5.4, the card
and its firmware, the air. Figures that are not here cannot run on a kernel: wlan18 needs disciplines above ath9k_htc,
which Linux has not since 6.2, and Linux 3.9.8 and FreeBSD of teacup14 are not to be had.

A claim holds on a side if every value there is in the expected range; (!) marks a value outside it. Of more than four
cases the tables give the smallest and the largest value, and those outside the range.
"""


def main(results: Path) -> None:
    """Writes the page, its pictures and the verdicts."""
    there = {name: kernel.backend for name in papers() if (kernel := load_paper(name).kernel) is not None}
    found = [beside(Wanted(name, out=results, backend=backend), Silent()) for name, backend in there.items()]
    make_folder(PICTURES)
    for one in found:
        for name, picture in pictures(one):
            write_file(PICTURES / name, picture)
    parts = [
        INTRODUCTION,
        made("python -m tailback.papers.kernel_document results"),
        "",
        *(part for one in found for part in chapter(one)),
    ]
    write_file(PAGE, "\n".join(parts).encode())
    verdicts = {one.kernel.paper.paper: verdicts_of(one) for one in found}
    write_file(VERDICTS, standing.as_bytes_of_kernels(verdicts))


def verdicts_of(found: Beside) -> dict[str, standing.OnKernel]:
    """The verdicts of both sides on each claim that both measured."""
    version = found.conditions.version
    return {
        kernel.claim.id: standing.OnKernel(version, kernel.status, simulator.status)
        for simulator, kernel in found.rows
        if "skipped" not in (kernel.status, simulator.status)
    }


def pictures(found: Beside) -> Iterator[tuple[str, bytes]]:
    """The figures of both sides with the names of their files."""
    for drawing in found.kernel.drawings:
        for side, name in ((found.simulator, "simulator"), (found.kernel, "kernel")):
            picture = draw(drawing, side.results, side.reported)
            yield f"{found.kernel.paper.paper}-fig{drawing.figure}-{name}.svg", picture


def chapter(found: Beside) -> Iterator[str]:
    """What a paper's runs have in place of its testbed, then each figure."""
    paper, kernel = found.kernel.paper, found.conditions
    yield f"## {paper.paper}\n\n*{paper.title}*.\n"
    yield f"On Linux {kernel.version} (`{kernel.backend}`).\n"
    if kernel.instead:
        yield "| instead of the testbed | why |\n|---|---|"
        yield from (f"| {one.what} | {one.because} |" for one in kernel.instead)
    yield "\nSettings of the experiments; the repetitions are fewer and shorter than on the testbed:\n"
    yield from (f"- `{name}`: {', '.join(f'`{one}`' for one in kernel.settings[name])}" for name in kernel.settings)
    yield "\n± is half the 95 % interval of a mean over the repetitions.\n"
    drawings, owners = in_order(found.kernel)
    pairs = dict(zip((row.claim.id for row in found.kernel.rows), found.rows, strict=True))
    shown: set[str] = set()
    for drawing in drawings:
        yield from _figure(found, drawing)
        about = [pairs[row.claim.id] for row, owner in owners if owner is drawing]
        yield from claims([pair for pair in about if {row.status for row in pair} != {"skipped"}])
        first = drawing.experiments[0]
        if first not in shown:
            shown.add(first)
            yield from _values(found, first)


def _figure(found: Beside, drawing: Drawing) -> Iterator[str]:
    paper = found.kernel.paper.paper
    yield f"### Figure {drawing.figure} of {paper}: {drawing.caption}\n"
    yield "| simulator | kernel |\n|---|---|"
    where = [
        f"![{side}](../../docs/pictures/papers/{paper}-fig{drawing.figure}-{side}.svg)"
        for side in ("simulator", "kernel")
    ]
    yield f"| {' | '.join(where)} |\n"
    note = found.conditions.found.get(drawing.figure)
    if note:
        yield f"{note.strip()}\n"


def claims(rows: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """The claims about a figure: what the paper says, how we measure it, and a table of both sides."""
    for simulator, kernel in rows:
        claim = simulator.claim
        yield f"**{short(simulator)} {verdict(simulator, kernel)}:** {claim.says}. *Measured:* {claim.measure}.\n"
        yield "| quantity | expected | simulator | kernel |\n|---|---|---|---|"
        for quantity, bound in claim.expected.items():
            sides = ("<br>".join(map(value, side.values_of(quantity))) or "–" for side in (simulator, kernel))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in (quantity, str(bound), *sides)) + " |"
        yield ""


def verdict(simulator: Row, kernel: Row) -> str:
    """On which of the two sides a claim holds."""
    if simulator.status == kernel.status:
        return BOTH[simulator.status]
    return f"{HOLDS[simulator.status]} on the simulator, {HOLDS[kernel.status]} on the kernel"


def _values(found: Beside, experiment: str) -> Iterator[str]:
    """The means of every configuration of an experiment."""
    sides = [side.results.get(experiment) for side in (found.simulator, found.kernel)]
    if sides[0] is None or sides[1] is None:
        return
    rows = list(configurations(sides[0], sides[1]))
    scales = list(dict.fromkeys(name for row in rows for name in row.figures))
    axes = list(sides[0].axes)
    yield f"Means of `{experiment}`, simulator and kernel:\n"
    yield "| " + " | ".join([*axes, *(f"{scale} | kernel" for scale in scales)]) + " |"
    yield "|---" * (len(axes) + 2 * len(scales)) + "|"
    yield from (_row(row, axes, scales) for row in rows)
    yield ""


def _row(row: Configuration, axes: Sequence[str], scales: Sequence[str]) -> str:
    pairs = [row.figures.get(scale) for scale in scales]
    cells = [" | ".join(map(in_words, pair)) if pair else " | " for pair in pairs]
    return "| " + " | ".join([*(row.axes[axis] for axis in axes), *cells]) + " |"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
