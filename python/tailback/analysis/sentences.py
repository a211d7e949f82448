"""The findings under a table in words: one statement for each value of an axis."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from tailback.analysis.effects import Effect, Finding, Outcome

MOST = 6
"""Statements; the rest is counted."""

FEW = 2
"""Up to so many combinations are named one by one."""

ONE_LINE = 160
"""Characters of a statement that is not broken into a list."""


class Statement(Struct, frozen=True):
    """`head` alone, or with a list of `parts` that is too long for one line."""

    head: str
    parts: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The statement as an item of a list of text."""
        return [f"• {self.head}{':' if self.parts else ''}", *(f"  – {part}" for part in self.parts)]


def statements(found: Sequence[Finding]) -> list[Statement]:
    """The findings in words, those with the most effects first."""
    ordered = sorted(found, key=lambda each: -each.size)
    said = [_statement(each) for each in ordered[:MOST]]
    rest = len(ordered) - MOST
    more = [Statement(f"and {rest} more: `tailback sensitivity` ranks the axes")] if rest > 0 else []
    return [*said, *more, *_undecided([outcome for each in ordered[:MOST] for outcome in each.outcomes])]


def _undecided(outcomes: Sequence[Outcome]) -> list[Statement]:
    """What the word means, if it is said of some outcome: the tolerances may be on no other line."""
    found = [each for each in outcomes if each.judged.mentioned == "always" and each.having("undecided")]
    bounds = dict.fromkeys(f"{each.judged.subject} {_bound(each)}" for each in found)
    text = f"undecided: the 95 % interval crosses the tolerance ({', '.join(bounds)}); more repetitions would tell"
    return [Statement(text)] if found else []


def _statement(finding: Finding) -> Statement:
    """First what changes, or may change, then in one part what stays."""
    moving = [outcome for outcome in finding.outcomes if len(outcome.having("within")) < len(outcome.effects)]
    staying = [outcome for outcome in finding.outcomes if outcome not in moving]
    parts = [f"{outcome.judged.subject} {_movement(outcome)}" for outcome in moving] + _constancy(staying)
    head = f"with {finding.axis} {finding.value} instead of {finding.reference}"
    line = f"{head}, {'; '.join(parts)}"
    return Statement(line) if len(parts) == 1 or len(line) <= ONE_LINE else Statement(head, parts)


def _constancy(outcomes: Sequence[Outcome]) -> list[str]:
    """`ping p50 and TCP RTT p50 stay within 10 % or 0.5 ms, goodput within 3 %`."""
    said: list[str] = []
    for bound, group in groupby(outcomes, key=_bound):
        subjects = [outcome.judged.subject for outcome in group]
        verb = "" if said else " stays" if len(subjects) == 1 else " stay"
        said.append(f"{' and '.join(subjects)}{verb} within {bound}")
    return [", ".join(said)] if said else []


def _movement(outcome: Outcome) -> str:
    """What happens to one number: the real effects, then under how many combinations there is none."""
    real, absent, undecided = (outcome.having(decision) for decision in ("off", "within", "undecided"))
    total, unit = len(outcome.effects), outcome.judged.unit
    parts = [_real(real, total, unit)] if real else []
    if outcome.judged.mentioned == "where it changes":
        return parts[0]
    if absent:
        parts.append(f"stays within {_bound(outcome)} in {len(absent)} of {total}")
    if undecided:
        parts.append(f"is undecided{_open(undecided, total, unit)}")
    return ", and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else parts[0]


def _real(real: Sequence[Effect], total: int, unit: str) -> str:
    if len(real) > FEW:
        return _range(real, total, unit)
    return ", ".join(
        f"{verb} {' and '.join(_by(each, unit) for each in group)}"
        for verb, group in groupby(reversed(real), key=_verb)
    )


def _by(effect: Effect, unit: str) -> str:
    """`by 112 ms [108, 115] with cubic`."""
    low, high = sorted((abs(effect.low), abs(effect.high)))
    return f"by {_with_unit(_digits(abs(effect.mean)), unit)} [{_digits(low)}, {_digits(high)}]{_with(effect)}"


def _range(real: Sequence[Effect], total: int, unit: str) -> str:
    """`rises in all 7 cases, by 3.07 ms (cubic) to 18.4 ms (bbr)`; `real` begins with the smallest."""
    cases = f"all {total} cases" if len(real) == total else f"{len(real)} of {total} cases"
    signs = {each.mean > 0 for each in real}
    if len(signs) == 1:
        ends = [f"{_with_unit(_digits(abs(each.mean)), unit)}{_place(each)}" for each in (real[0], real[-1])]
        return f"{_verb(real[0])} in {cases}, by {' to '.join(ends)}"
    ends = [f"{_signed(each.mean, unit)}{_place(each)}" for each in _extremes(real)]
    return f"changes in {cases}, by {' to '.join(ends)}"


def _extremes(effects: Sequence[Effect]) -> tuple[Effect, Effect]:
    return min(effects, key=lambda each: each.mean), max(effects, key=lambda each: each.mean)


def _open(undecided: Sequence[Effect], total: int, unit: str) -> str:
    """The differences that may be an effect, with their intervals: how far they may be from none."""
    if total == 1:
        return f", {_interval(undecided[0], unit)}"
    where = f" in {len(undecided)} of {total}"
    if len(undecided) <= FEW:
        return f"{where}: {', '.join(_interval(each, unit) for each in undecided)}"
    return f"{where}, at the widest {_interval(max(undecided, key=lambda each: each.high - each.low), unit)}"


def _interval(effect: Effect, unit: str) -> str:
    """`−0.55 ms [−0.731, −0.369] with codel`."""
    return f"{_signed(effect.mean, unit)} [{_digits(effect.low)}, {_digits(effect.high)}]{_with(effect)}"


def _verb(effect: Effect) -> str:
    return "rises" if effect.mean > 0 else "falls"


def _bound(outcome: Outcome) -> str:
    """`10 % or 0.5 ms`."""
    return re.sub(r"(\d)([%a-zµ])", r"\1 \2", outcome.judged.tolerance.words)


def _with(effect: Effect) -> str:
    return f" with {effect.place[0]}" if len(effect.place) == 1 else _place(effect)


def _place(effect: Effect) -> str:
    return f" ({', '.join(effect.place)})" if effect.place else ""


def _signed(value: float, unit: str) -> str:
    return _with_unit(f"{'+' if value > 0 else '−' if value < 0 else ''}{_digits(abs(value))}", unit)


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}".rstrip()


def _digits(value: float) -> str:
    return f"{value:.0f}".replace("-", "−") if abs(value) >= 1000 else f"{value:.3g}".replace("-", "−")


def lines(said: Iterable[Statement]) -> list[str]:
    """All statements as lines of text."""
    return [line for statement in said for line in statement.lines]
