"""Warnings about a file with one code as one: the worst, how many there are, and where the others are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from tailback.scenario.lint import LintWarning

MAX_NAMED = 3
"""The largest number of other places that are named."""


class Alike(Struct, frozen=True):
    """The warnings with one code."""

    worst: LintWarning
    all: Sequence[LintWarning]

    def __str__(self) -> str:
        if len(self.all) == 1:
            return str(self.worst)
        head, _, hint = str(self.worst).rpartition("\n  hint: ")
        return f"{head}\n  the worst of {len(self.all)}{self._elsewhere()}\n  hint: {hint}"

    def _elsewhere(self) -> str:
        """The other places. Those of several configurations or hosts may be one."""
        here = _place(self.worst)
        places = [place for place in dict.fromkeys(map(_place, self.all)) if place != here]
        if not places:
            return "; `tailback check --json` has all"
        more = f" and at {len(places) - MAX_NAMED} more places" if len(places) > MAX_NAMED else ""
        return f"; also {', '.join(places[:MAX_NAMED])}{more}"


def alike(found: Iterable[LintWarning]) -> list[Alike]:
    """One for each code, in the order of the first."""
    kinds: dict[str, list[LintWarning]] = {}
    for each in found:
        kinds.setdefault(each.code, []).append(each)
    return [Alike(max(kind, key=lambda each: each.extent), kind) for kind in kinds.values()]


def _place(each: LintWarning) -> str:
    return each.path if each.where.line is None else f"{each.path} (line {each.where.line})"
