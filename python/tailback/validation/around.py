"""A table of the samples around a first divergence: a row per side and quantity, a column per sample.

Quantities that diverge come first. Constant quantities are listed once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tailback.analysis.divergence import ACK, TIME, of_side
from tailback.results.pairing import CANDIDATE, REFERENCE, Side
from tailback.validation.comparison import Divergence


@dataclass(frozen=True)
class Quantity:
    """One column of `tcp_info` over the samples."""

    name: str
    values: Mapping[Side, Sequence[Any]]
    apart: Sequence[bool]
    """Whether the sides differ, for each sample."""


@dataclass(frozen=True)
class Around:
    """The samples of one flow around its divergence."""

    quantities: Sequence[Quantity]
    constant: Mapping[str, Any]
    """Quantities that are constant and equal on both sides."""
    here: int
    """The index of the divergence among the samples."""


def around(first: Divergence) -> Around:
    """Lays out the rows of `first`."""
    found = [_quantity(first.rows, name) for name in _names(first)]
    constant = [quantity for quantity in found if _is_constant(quantity)]
    here = int((first.rows["place"] == first.place).to_numpy().argmax())
    return Around(
        [quantity for quantity in found if quantity not in constant],
        {quantity.name: next(iter(quantity.values.values()))[0] for quantity in constant},
        here,
    )


def _names(first: Divergence) -> list[str]:
    suffix = of_side("", REFERENCE)
    names = [str(column).removesuffix(suffix) for column in first.rows if str(column).endswith(suffix)]
    leading = [TIME] if first.column == ACK else [TIME, first.column]
    return [*leading, *(name for name in names if name not in leading)]


def _quantity(rows: pd.DataFrame, name: str) -> Quantity:
    sides: dict[Side, list[Any]] = {side: rows[of_side(name, side)].tolist() for side in (REFERENCE, CANDIDATE)}
    apart = [not _are_equal(*values) for values in zip(*sides.values(), strict=True)]
    # Samples of a kernel are some microseconds late, which is not a difference.
    return Quantity(name, sides, [False] * len(apart) if name == TIME else apart)


def _is_constant(quantity: Quantity) -> bool:
    values = [value for side in quantity.values.values() for value in side]
    return quantity.name != TIME and all(_are_equal(value, values[0]) for value in values)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two values are equal; unknown values are."""
    return bool(one == other) or bool(pd.isna(one) and pd.isna(other))
