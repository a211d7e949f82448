"""The findings under a table in words: the few that matter, one line each, or all of them.

`few` has at most `MOST` changes, of each axis the largest first. A line has what changes most, and the other side of
the trade-off: the rate beside a latency, a latency beside the rate, also that goodput stays, because a latency that
falls at no cost is news. If neither is what a user of an application sees, that is said, too. `all` has a list for each
change: every metric that changes, may change, or stays.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from tailback.analysis import phrases
from tailback.analysis.effects import DISCOVERIES, FOLDERS, Effect, Family, Finding, Outcome
from tailback.analysis.news import WORST_FLOW, Judged

Extent = Literal["few", "all", "none"]

MOST = 3
"""Lines of `few`."""

BESIDE = 1 / 3
"""How large a change of losses must be to be said beside another change, or another beside it, relative to it."""

ON_REQUEST = "`--findings all`"

CONTROL = (
    "intervals: 95 %, of the differences between runs of the same repetition; of all changes, at most 1 in 20 is "
    "expected to be due to chance"
)


class Statement(Struct, frozen=True):
    """`head` alone, or with a list of `parts`."""

    head: str
    parts: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """The statement as an item of a list of text."""
        return [f"• {self.head}{':' if self.parts else ''}", *(f"  – {part}" for part in self.parts)]

    @property
    def text(self) -> str:
        """The statement as one line."""
        return f"{self.head}: {'; '.join(self.parts)}" if self.parts else self.head


def statements(found: Sequence[Finding], extent: Extent = "few") -> list[Statement]:
    """The findings in words, the largest news first."""
    if extent == "none" or not found:
        return []
    if extent == "all":
        return [*map(_complete, found), Statement(CONTROL)]
    return list(map(_short, few(found)))


def few(found: Sequence[Finding]) -> list[Finding]:
    """The findings of `few`: the largest of each axis, then the largest of the rest, in the order of their size."""
    firsts: dict[str, Finding] = {}
    for each in found:
        firsts.setdefault(each.axis, each)
    rest = [each for each in found if each is not firsts[each.axis]]
    return sorted([*firsts.values(), *rest][:MOST], key=lambda each: -each.size)


def lines(found: Sequence[Finding], extent: Extent = "few") -> list[str]:
    """The findings as lines of text; `few` ends with how many changes it leaves out."""
    said = [line for statement in statements(found, extent) for line in statement.lines]
    more = sum(map(_changes, found)) - sum(len(_said(each)) for each in few(found) if each.size)
    if extent == "few" and more > 0:
        said.append(f"• {more} more change{'s' if more > 1 else ''}: {ON_REQUEST}")
    return said


def document(found: Sequence[Finding], extent: Extent = "few") -> list[dict[str, Any]]:
    """The findings as JSON: with `few`, what the lines say; with `all`, everything that was judged."""
    if extent == "none":
        return []
    return [_entry(each, extent) for each in (found if extent == "all" else few(found))]


def _entry(finding: Finding, extent: Extent) -> dict[str, Any]:
    whole = extent == "all"
    outcomes = (
        [outcome for family in finding.families for outcome in family.outcomes]
        if whole
        else [outcome for family in _said(finding) for outcome in _outcomes(family)]
    )
    return {
        "axis": finding.axis,
        "value": finding.value,
        "reference": finding.reference,
        "text": (_complete(finding) if whole else _short(finding)).text,
        "effects": [_effect(outcome, effect) for outcome in outcomes for effect in outcome.effects],
    }


def _effect(outcome: Outcome, effect: Effect) -> dict[str, Any]:
    judged = outcome.judged
    return {
        "metric": judged.subject,
        "unit": judged.unit,
        "tolerance": judged.tolerance.words,
        "axes": dict(effect.place),
        "decision": effect.decision,
        "before": effect.before,
        "after": effect.after,
        "difference": effect.difference,
        "interval": [effect.low, effect.high],
        "size": effect.size,
    }


def _changes(finding: Finding) -> int:
    return sum(family.decision == "changes" for family in finding.families)


def _head(finding: Finding) -> str:
    change = f"{finding.value} instead of {finding.reference}"
    # A path says by itself that it is one of results.
    return change if finding.axis == FOLDERS else f"{finding.axis} {change}"


def _short(finding: Finding) -> Statement:
    """One line: what changes most, or that nothing does."""
    if not finding.size:
        return Statement(f"{_head(finding)}: {'; '.join(_unchanged(finding))}")
    said = _said(finding)
    apart = any(each.name == WORST_FLOW for each in said)
    parts = [f"total {_change(each)}" if apart and each.name == "goodput" else _change(each) for each in said]
    parts += [] if any(each.is_of_users for each in said) else _of_users(finding)
    parts += [_undecided(each) for each in _open(finding) if _is_sure(each)][:1] if len(parts) == 1 else []
    return Statement(f"{_head(finding)}: {'; '.join([*parts, *_unchanged_goodput(finding)])}")


def _said(finding: Finding) -> list[Family]:
    """The families of a line: what changes most, and the other side of the trade-off."""
    first = finding.families[0]
    said = [first, *(each for each in finding.families if each.size and _is_beside(each, first))][:2]
    if not any(each.is_of_users for each in said):
        said += [each for each in finding.families if each.size and each.is_of_users][:1]
    return [*said, *_sums_beside(said, finding)]


def _sums_beside(said: Sequence[Family], finding: Finding) -> list[Family]:
    """The sums of goodput that change, beside that of the worst flow, which may rise while they fall."""
    if all(each.name != WORST_FLOW for each in said):
        return []
    return [each for each in finding.families if each.size and _is_sum(each) and each not in said]


def _is_sum(family: Family) -> bool:
    return family.name.startswith("goodput") and family.name != WORST_FLOW


def _of_users(finding: Finding) -> list[str]:
    """What a user of an application sees, where none of it changes for certain."""
    seen = [each for each in finding.families if each.is_of_users]
    undecided = [each for each in seen if each.decision == "undecided"]
    return [_undecided(undecided[0])] if undecided else _constancy(seen)


def _is_beside(other: Family, first: Family) -> bool:
    """Whether another family is said, too: of a kind of its own, and of some size if it is no side of the trade-off."""
    if other.kind in (first.kind, "cause"):
        return False
    return {other.kind, first.kind} == {"delay", "rate"} or other.size >= BESIDE * first.size


def _unchanged(finding: Finding) -> list[str]:
    """That no number changes, what may, and within what the others stay."""
    said = [_undecided(each) for each in _open(finding)[: phrases.FEW]]
    return [*said, *_constancy([each for each in finding.families if each.decision == "stays"])]


def _open(finding: Finding) -> list[Family]:
    """The families of which more repetitions would tell whether they change."""
    found = [each for each in finding.families if each.decision == "undecided" and _is_always_said(each)]
    return sorted(found, key=lambda each: not each.is_of_users)


def _is_always_said(family: Family) -> bool:
    return family.outcomes[0].judged.mentioned == "always"


def _unchanged_goodput(finding: Finding) -> list[str]:
    """`goodput stays within 3 %`, if all of its sums do; the total, if a flow may get less than before."""
    rates = [each for each in finding.families if each.name.startswith("goodput")]
    sums = [each for each in rates if _is_sum(each)]
    if not sums or any(each.decision != "stays" for each in sums):
        return []
    apart = WORST_FLOW in finding.open or len(rates) > len(sums)
    return [f"total {_constancy(sums)[0]}"] if apart else _constancy(sums)


def _change(family: Family) -> str:
    """`request p95 falls from 208 to 16.1 ms, by 192 [191.7, 192.1], while p50 stays within 5 % or 0.5 ms`."""
    outcome = family.largest
    real = outcome.having("changes")
    ways = [[each for each in real if (each.difference > 0) == up] for up in (True, False)]
    ordered = sorted(filter(None, ways), key=lambda each: -each[-1].size)
    text = f"{outcome.judged.subject} {', and '.join(phrases.way(each, outcome) for each in ordered)}"
    if (apart := _otherwise(family)) is not None:
        joint = "and" if len(ordered) == 1 and _rises(real[-1]) == _rises(apart.effects[-1]) else "but"
        return f"{text}, {joint} {apart.outcome.judged.statistic} {phrases.way(apart.effects, apart.outcome)}"
    others = [each.judged.statistic for each in family.outcomes if each is not outcome and each.stays]
    if outcome.judged.statistic in ("", "p50") or "p50" not in others:
        return text
    verb = "stays" if len(others) == 1 else "stay"
    return f"{text}, while {phrases.listed(others)} {verb} within {outcome.judged.tolerance.words}"


class _Apart(Struct, frozen=True):
    """What a statistic of a metric does where the one that is said does not change, or changes the other way."""

    outcome: Outcome
    effects: Sequence[Effect]
    """Of one direction, the smallest first."""

    @property
    def size(self) -> float:
        """The sum of its changes."""
        return sum(each.size for each in self.effects)


def _otherwise(family: Family) -> _Apart | None:
    """What would be denied if only the largest change of a metric were said; `None` if that is little beside it."""
    largest = family.largest.having("changes")
    said = {(_placed(each), _rises(each)) for each in largest}
    found = [
        _Apart(outcome, apart)
        for outcome in family.outcomes
        for up in (True, False)
        if (
            apart := [
                each for each in outcome.having("changes") if _rises(each) is up and (_placed(each), up) not in said
            ]
        )
    ]
    most = max(found, key=lambda each: each.size, default=None)
    return most if most and most.effects[-1].size >= BESIDE * largest[-1].size else None


def _placed(effect: Effect) -> tuple[tuple[str, str], ...]:
    return tuple(effect.place.items())


def _rises(effect: Effect) -> bool:
    return effect.difference > 0


def _outcomes(family: Family) -> list[Outcome]:
    """The outcomes that a line says."""
    apart = _otherwise(family)
    return [family.largest, *([] if apart is None else [apart.outcome])]


def _complete(finding: Finding) -> Statement:
    """What changes, then what may, then what stays."""
    parts = [part for family in finding.families if family.size for part in _details(family)]
    parts += [_undecided(each) for each in _open(finding)]
    parts += _constancy([each for each in finding.families if each.decision == "stays" and _is_always_said(each)])
    return Statement(_head(finding), parts)


def _details(family: Family) -> list[str]:
    """The statistic that changes most, the farthest tail that changes, and those that stay."""
    tail = next(each for each in reversed(family.outcomes) if each.size)
    said = [each for each in family.outcomes if each in (*_outcomes(family), tail)]
    staying = [each for each in family.outcomes if each.stays]
    parts = [_detail(each) for each in said]
    if staying:
        names = phrases.listed([each.judged.statistic for each in staying])
        verb = "stays" if len(staying) == 1 else "stay"
        parts.append(f"{family.name} {names} {verb} within {staying[0].judged.tolerance.words}")
    return parts


def _detail(outcome: Outcome) -> str:
    """What happens to one number: the changes, then under how many combinations there is none."""
    real, judged, total = outcome.having("changes"), outcome.judged, len(outcome.effects)
    if len(real) > phrases.FEW:
        parts = [phrases.span(real, outcome)]
    else:
        parts = [phrases.one(each, judged) for each in reversed(real)]
    staying, open_ = outcome.having("stays"), outcome.having("undecided")
    if staying and judged.mentioned == "always":
        parts.append(f"{phrases.stays(judged)} within {judged.tolerance.words} in {len(staying)} of {total}")
    if open_ and judged.mentioned == "always":
        parts.append(f"is undecided in {len(open_)} of {total}: {phrases.difference(_widest(open_), judged.unit)}")
    return f"{judged.subject} {phrases.listed(parts)}"


def _undecided(family: Family) -> str:
    """`ping p50 is undecided: −0.6 ms [−1.4, 0.2], across 10 % or 0.5 ms`; `falls from 23.1 to 20.8 ms, by 2.33 [2.2,
    2.47], about as much as the tolerance` if there is a difference for certain. One beyond its tolerance is open only
    because chance may do as much in one of so many comparisons.
    """
    outcome = max(family.outcomes, key=lambda each: max((one.size for one in each.having("undecided")), default=-1.0))
    open_, judged, total = outcome.having("undecided"), outcome.judged, len(outcome.effects)
    if _is_sure(family):
        where = _undiscovered(open_[0], judged) or f"about as much as the tolerance of {judged.tolerance.words}"
        return f"{judged.subject} {phrases.one(open_[0], judged)}, {where}"
    where = "" if total == 1 else f" in {phrases.cases(len(open_), total)}"
    widest = _widest(open_)
    said = phrases.difference(widest, judged.unit)
    relation = _undiscovered(widest, judged) or f"across {judged.tolerance.words}"
    return f"{judged.subject} is undecided{where}: {said}, {relation}"


def _undiscovered(effect: Effect, judged: Judged) -> str:
    """The words for a difference that is beyond its tolerance, but not at the false discovery rate; else empty."""
    allowed = judged.tolerance.allowed(effect.before, effect.after)
    if allowed is None or max(effect.low, -effect.high) <= allowed:
        return ""
    return f"beyond {judged.tolerance.words}, but not significant at a false discovery rate of {100 * DISCOVERIES:g} %"


def _is_sure(family: Family) -> bool:
    """Whether there is one combination, and a difference for certain, of which only the relevance is undecided."""
    effects = [each for outcome in family.outcomes for each in outcome.having("undecided")]
    alone = all(len(outcome.effects) == 1 for outcome in family.outcomes)
    return alone and all(each.low * each.high > 0 for each in effects)


def _widest(open_: Sequence[Effect]) -> Effect:
    """The difference of which least is known."""
    return max(open_, key=lambda each: each.high - each.low)


def _constancy(families: Sequence[Family]) -> list[str]:
    """`ping up to p99 and TCP RTT p50 stay within 10 % or 0.5 ms, goodput within 3 %`."""
    groups: dict[str, list[Family]] = {}
    for each in families:
        groups.setdefault(each.outcomes[0].judged.tolerance.words, []).append(each)
    said: list[str] = []
    for words, group in groups.items():
        verb = "" if said else " stays" if len(group) == 1 else " stay"
        said.append(f"{phrases.listed([_reach(each) for each in group])}{verb} within {words}")
    return [", ".join(said)] if said else []


def _reach(family: Family) -> str:
    """The metric, with how far into the tail it was judged: `ping p50`, `ping up to p99`."""
    last = family.outcomes[-1].judged.statistic
    return family.name if not last else f"{family.name} p50" if last == "p50" else f"{family.name} up to {last}"
