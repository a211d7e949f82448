"""Writes `conformance/results/assess.md`: rows of `tailback assess`, judged on the simulator and on a kernel.

python -m conformance.assess DIR

DIR keeps the runs; what is there is not run again. A kernel takes hours.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.page import RESULTS, rows, write_tables
from tailback import sweep
from tailback.assess import Assessment, Place, Row, Wanted, assess, load_suite, words

PAGE = RESULTS / "assess.md"
SUITE = "rfc9743"
REPETITIONS = 3
KERNEL = "uml"

ROWS: Mapping[str, Sequence[str]] = {
    "cubic": (
        "collapse-loss", "tunnels", "wireless-loss", "constrained", "misbehaving-senders", "reordering", "transient",
    ),
    "bbr": (
        "collapse-loss", "collapse-crowd", "tunnels", "varying-delay", "misbehaving-senders", "path-change-rate",
        "path-change-loss",
    ),
}  # fmt: skip
"""The rows of each control, over different mechanisms."""

HEADING = ("control", "row", "place", "simulator", "kernel", "bound of each", "verdicts")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of rows on the simulator and on a kernel.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    pairs = [tuple(judged(control, backend, folder) for backend in ("sim", KERNEL)) for control in ROWS]
    write_tables({"rows": told(pairs)}, PAGE, "python -m conformance.assess DIR")


def judged(control: str, backend: str, folder: Path) -> Assessment:
    """The rows of a control on one backend."""
    suite = load_suite(SUITE)
    suite = suite.model_copy(update={"criteria": tuple(each for each in suite.criteria if each.id in ROWS[control])})
    out = folder / (control if backend == "sim" else f"{control}-{backend}")
    return assess(Wanted(control, suite, backend, out=out, repeat=REPETITIONS, alone=True), sweep.Silent())


def told(pairs: Sequence[Sequence[Assessment]]) -> Iterator[str]:
    """How many verdicts are the same, and the places of all rows."""
    alike = [(here.outcome, there.outcome) for found in pairs for here, there in both(found)]
    same = sum(here == there for here, there in alike)
    against = sum({here, there} == {"meets", "fails"} for here, there in alike)
    yield f"{same} of {len(alike)} rows have the same verdict, {against} the opposite one."
    yield f"Each place has {REPETITIONS} repetitions a side."
    yield ""
    lines = [line for found in pairs for here, there in both(found) for line in places(found[0].control, here, there)]
    yield from rows(HEADING, lines)


def both(found: Sequence[Assessment]) -> Iterator[tuple[Row, Row]]:
    """The rows of both sides."""
    yield from zip(found[0].rows, found[1].rows, strict=True)


def places(control: str, here: Row, there: Row) -> Iterator[list[str]]:
    """A line for each place of a row."""
    kernel = {words.place(each): each for each in there.places}
    for place in here.places:
        name = words.place(place)
        sides = (place, kernel[name])
        yield [f"`{control}`", f"`{here.criterion.id}`", name, *cells(control, here, sides)]


def cells(control: str, row: Row, sides: Sequence[Place]) -> list[str]:
    """The numbers, bounds and verdicts of both sides."""
    unit = row.criterion.unit
    numbers = [words.value(side.found.get(control), unit) for side in sides]
    bounds = [words.limit(row.criterion, side) for side in sides]
    outcomes = [side.outcome for side in sides]
    return [*numbers, once(bounds), once(outcomes)]


def once(sides: Sequence[str]) -> str:
    """What both sides say, once if it is the same."""
    return sides[0] if sides[0] == sides[1] else " / ".join(sides)


if __name__ == "__main__":
    main()
