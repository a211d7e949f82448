"""The parts of a sentence about findings: a change, a difference with its interval, a combination of axes."""

from collections.abc import Sequence

from tailback.analysis.digits import decimals, fixed, readable, significant
from tailback.analysis.effects import Effect, Outcome
from tailback.analysis.news import PLURAL, Judged

FEW = 2
"""Up to so many combinations are named one by one."""

MOST_DIGITS = 3
"""Decimal places more than those of the value, to tell the ends of an interval from each other."""


def way(real: Sequence[Effect], outcome: Outcome) -> str:
    """The changes of one direction, the smallest first: `rises in all 4 cases, most from 3.85 to 116 ms (cubic)`."""
    largest, total = real[-1], len(outcome.effects)
    if len(real) == 1:
        return one(largest, outcome.judged)
    how = f"{verb(largest, outcome.judged)} in {cases(len(real), total)}"
    return f"{how}, most {ends(largest, outcome.judged.unit)}{place(largest)}"


def one(effect: Effect, judged: Judged) -> str:
    """`rises from 3.85 to 116 ms, by 112 [110, 114] (cubic, pfifo_fast)`."""
    return f"{verb(effect, judged)} {ends(effect, judged.unit)}, {by(effect, judged.unit)}{place(effect)}"


def span(real: Sequence[Effect], outcome: Outcome) -> str:
    """`rises in all 7 cases, from 1.06 to 4.13 ms with cubic at least and from 3 to 21.4 ms with bbr at most`."""
    total, judged = len(outcome.effects), outcome.judged
    if len({each.difference > 0 for each in real}) == 1:
        least, most = (f"{ends(each, judged.unit)}{place(each)}" for each in (real[0], real[-1]))
        return f"{verb(real[0], judged)} in {cases(len(real), total)}, least {least} and most {most}"
    falls, rises = (
        max((each for each in real if (each.difference > 0) == up), key=lambda each: each.size) for up in (False, True)
    )
    both = " and ".join(
        f"{verb(each, judged)} at most {ends(each, judged.unit)}{place(each)}" for each in (falls, rises)
    )
    return f"{'change' if judged.family in PLURAL else 'changes'} in {cases(len(real), total)}: {both}"  # fmt: skip


def cases(count: int, total: int) -> str:
    """`all 4 cases`, `3 of 4 cases`."""
    if count == total:
        return "both cases" if total == FEW else f"all {total} cases"
    return f"{count} of {total} cases"


def verb(effect: Effect, judged: Judged) -> str:
    """`rises`, or `fall` of what is many."""
    return ("rise" if effect.difference > 0 else "fall") + ("" if judged.family in PLURAL else "s")


def stays(judged: Judged) -> str:
    """`stays`, or `stay` of what is many."""
    return "stay" if judged.family in PLURAL else "stays"


def ends(effect: Effect, unit: str) -> str:
    """`from 208 to 16.1 ms`."""
    named, (before, after) = readable(unit, (effect.before, effect.after))
    return f"from {_with_unit(f'{significant(before)} to {significant(after)}', named)}"


def by(effect: Effect, unit: str) -> str:
    """`by 192 [191.7, 192.1]`, in the unit of `ends`."""
    low, high = (
        sorted((abs(effect.low), abs(effect.high))) if effect.low * effect.high > 0 else (effect.low, effect.high)
    )
    _, (apart, low, high, *_) = readable(unit, (abs(effect.difference), low, high, effect.before, effect.after))
    return f"by {significant(apart)} {interval(low, high, apart)}"  # fmt: skip


def difference(effect: Effect, unit: str) -> str:
    """`−2.33 ms [−2.47, −2.2] with cubic`."""
    named, (mean, low, high) = readable(unit, (effect.difference, effect.low, effect.high))
    sign = "+" if mean > 0 else ""
    return f"{_with_unit(f'{sign}{significant(mean)}', named)} {interval(low, high, mean)}{place(effect)}"


def interval(low: float, high: float, mean: float) -> str:
    """The ends of an interval, with the decimal places that tell them from each other."""
    width, fewest = high - low, decimals(mean)
    narrow = min(max(fewest, decimals(width, 1)), fewest + MOST_DIGITS)
    places = decimals(width, 2) if width >= abs(mean) else narrow
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def place(effect: Effect) -> str:
    """The combination of the other axes: ` with cubic`, ` (cubic, tsq off)`."""
    names = [_named(axis, value) for axis, value in effect.place.items()]
    return f" with {names[0]}" if len(names) == 1 else f" ({', '.join(names)})" if names else ""


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def _named(axis: str, value: str) -> str:
    """A value as a sentence names it: `cubic`, but `tsq off` and `flows 4`."""
    return f"{axis} {value}" if value[:1].isdigit() or value in ("on", "off", "true", "false") else value


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}".rstrip()
