"""An assessment in words: what a row measured, its bound, and what an undecided one needs."""

import math

from tailback.analysis.digits import significant
from tailback.analysis.intervals import spread_in_words
from tailback.assess.suite import Criterion
from tailback.assess.verdicts import MOST_REPETITIONS, Estimate, Place, Row


def value(found: Estimate | None, unit: str = "") -> str:
    """`17.9 ±0.3 Mbit/s`."""
    if found is None:
        return "–"
    spread = "" if math.isnan(found.low) else f" {spread_in_words(found.mean, (found.low, found.high))}"
    return f"{significant(found.mean, 3)}{spread} {unit}".rstrip()


def bound(criterion: Criterion, place: Place) -> str:
    """`at most 40 ms`, `at least 17.9 Mbit/s (reno, cubic, less 5 %)`."""
    return limit(criterion, place) + ("" if math.isnan(place.bound) else of(criterion))


def limit(criterion: Criterion, place: Place) -> str:
    """`at most 40 ms`, `at least 17.9 Mbit/s`."""
    if math.isnan(place.bound):
        return "–"
    side = "at most" if criterion.better == "low" else "at least"
    return f"{side} {significant(place.bound, 3)} {criterion.unit}".rstrip()


def of(criterion: Criterion) -> str:
    """Whose interval a bound is: ` (reno, cubic, less 5 %)`; empty for a number of a source."""
    if not criterion.against:
        return ""
    more = "more" if criterion.better == "low" else "less"
    allowed = f", {more} {100 * criterion.allow:g} %" if criterion.allow else ""
    return f" ({', '.join(criterion.against)}{allowed})"


def place(found: Place) -> str:
    """The values of the axes."""
    return ", ".join(found.axes.values())


def in_words(row: Row, control: str) -> str:
    """What a row measured, at its worst place: `16 BDP: 480 ±6 ms, at most 40 ms`."""
    worst = row.worst
    if worst is None:
        return row.reason or row.outcome
    where = f"{place(worst)}: " if worst.axes else ""
    said = f"{where}{value(worst.found.get(control), row.criterion.unit)}, {bound(row.criterion, worst)}"
    return f"{said}{needs(worst, control)}" if row.outcome == "undecided" else said


def needs(undecided: Place, control: str) -> str:
    """How many repetitions stand behind what is undecided, and how many would decide."""
    own = undecided.found.get(control)
    done = 0 if own is None else own.n
    if done < 2:
        return f"; {done} repetition has no interval, --repeat 3 has one"
    if undecided.enough is None:
        return f"; after {done} repetitions, more than {MOST_REPETITIONS} would decide"
    return f"; after {done} repetitions, about {undecided.enough} would decide"
