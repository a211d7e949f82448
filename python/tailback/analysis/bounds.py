"""Reads bounds such as `ping p99 < 10ms and goodput >= 95% of best`.

A quantity is a number by any of its names (`analysis.quantities`). Times and rates need a unit. `95% of best` is a
share of the best mean among the configurations that are compared: of the highest for a bound from below, of the lowest
for a bound from above.
"""

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tailback.analysis.digits import significant
from tailback.analysis.metric import UNITS, Column
from tailback.analysis.quantities import WrongBound, quantity

__all__ = ["Bound", "WrongBound", "bounds", "quantity"]

Sign = Literal["<", ">", "<=", ">="]
SIGNS: dict[str, Sign] = {"<": "<", ">": ">", "<=": "<=", ">=": ">=", "≤": "<=", "≥": ">="}

MEASURES = ("ms", "s", "Mbit/s")
"""Units that a value must have, because `< 110` might be 110 ms or 110 s; counts and shares have none."""

HINT = (
    'write a quantity, `<` or `>`, and a value: "ping p99 < 10ms", "goodput up > 50mbit and jain > 0.9", '
    '"goodput >= 95% of best"'
)

_BOUND = (
    r"(?P<words>[a-zA-Z][\w. '’-]*?)\s*(?P<sign><=|>=|[<>≤≥])\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<unit>[a-zµ%]*)"
    r"(?P<of>\s+of\s+(?:the\s+)?best)?"
)


class Bound(Struct, frozen=True):
    """A bound on a quantity."""

    column: Column
    sign: Sign
    value: float
    """In the unit of the column; if `of_best`, a share of the best."""
    of_best: bool = False
    """Whether the value is a share of the best mean, which is not known yet (`against`)."""

    @property
    def from_above(self) -> bool:
        """Whether smaller values meet the bound."""
        return self.sign in ("<", "<=")

    def holds(self, value: float) -> bool:
        """Whether a value meets the bound."""
        if value == self.value:
            return self.sign in ("<=", ">=")
        return value < self.value if self.from_above else value > self.value

    def against(self, best: float) -> "Bound":
        """The bound with its share of the best as a value."""
        return replace(self, value=self.value * best, of_best=False) if self.of_best else self

    def __str__(self) -> str:
        value = (
            f"{100 * self.value:g} % of best" if self.of_best else f"{significant(self.value, 6)} {self.column.unit}"
        )
        return f"{self.column.title} {self.sign} {value}".rstrip()


def bounds(text: str) -> list[Bound]:
    """Reads bounds that are joined by `and`."""
    return [_bound(part) for part in re.split(r"\s+and\s+|\s*,\s*", text.strip())]


def _bound(text: str) -> Bound:
    match = re.fullmatch(_BOUND, text.strip())
    if match is None:
        raise WrongBound(f"`{text}` is not a bound\n  hint: {HINT}")
    column, sign, value = quantity(match["words"]), SIGNS[match["sign"]], float(match["value"])
    if match["of"]:
        if match["unit"] not in ("", "%"):
            raise WrongBound(f"`{match['unit']}` is not a share\n  hint: write a share in %: 95% of best")
        return Bound(column, sign, value / 100 if match["unit"] else value, of_best=True)
    return _possible(Bound(column, sign, value * _factor(match, column)), match["value"])


def _factor(match: re.Match[str], column: Column) -> float:
    """The factor of the unit of a value; raises `WrongBound` if it is none, or if it is missing."""
    factors, unit = UNITS.get(column.unit, {}), match["unit"]
    if not unit and float(match["value"]) and column.unit in MEASURES:
        example = f"{match['words']} {match['sign']} {match['value']}{next(iter(factors))}"
        raise WrongBound(f"`{match[0]}` has no unit\n  hint: write `{example}`; units: {', '.join(factors)}")
    if unit and unit != column.unit and unit not in factors:
        known = ", ".join(name for name in factors if name != column.unit) or "none"
        raise WrongBound(f"`{unit}` is not a unit of {column.title}\n  hint: units: {known}")
    return factors.get(unit, 1.0)


def _possible(bound: Bound, written: str) -> Bound:
    """The bound; refused if no value meets it, or every one (`udp loss < 1`, which is all but 100 %)."""
    column = bound.column
    most = column.most_meant if column.most is None else column.most
    if most is None or bound.value < most or (bound.value == most and bound.sign == ">="):
        return bound
    # A scale that begins above 0, as that of MOS, is no share.
    is_share = column.unit == "" and not column.least
    share = f"write a share in %: `{column.title} {bound.sign} {written}%`" if is_share else "write less"
    known = "is at most" if column.most is not None else "is seldom above"
    raise WrongBound(f"{column.title} {known} {most:g}, and the bound is {written}\n  hint: {share}")
