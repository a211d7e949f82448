"""The table of means over the repetitions of configurations."""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from tailback.analysis import digits
from tailback.analysis.choosing import Chosen
from tailback.analysis.metric import Column
from tailback.analysis.repetitions import Configuration, Mean
from tailback.cli.sheets import UNKNOWN, Cell, Field, Interval, Sheet, has_both_ends, keys, words

USUAL_DECIMALS = 3
"""Most numbers of a table have no more."""


def of_configurations(rows: Sequence[Configuration], columns: Sequence[Chosen], title: str) -> Sheet:
    """The means of configurations: a row for each, with the axes and the columns."""
    counts = len({row.runs for row in rows}) > 1
    repeated = any(row.runs > 1 for row in rows)
    fields = [
        *keys(rows[0].axes),
        *[Field("runs")] * counts,
        *(
            Field(
                each.column.title,
                unit=each.column.unit,
                spread=repeated,
                rank=each.rank,
                kept=each.kept,
                family=each.column.key.partition(".")[0],
            )
            for each in columns
        ),
    ]
    cells = [
        [*words(*row.axes.values()), *[Cell(str(row.runs), row.runs)] * counts, *_means(row, columns)] for row in rows
    ]
    sheet = Sheet(title, fields, cells)
    return replace(sheet, remarks=[_remark(sheet)]) if repeated else sheet


def _remark(sheet: Sheet) -> str:
    """What stands beside the means."""
    both = ", or [both its ends]" if has_both_ends(sheet) else ""
    return f"means over repetitions, ± half their 95 % interval{both}"


def _means(row: Configuration, columns: Sequence[Chosen]) -> list[Cell]:
    return [_mean(row.means[each.column.title], each.column) for each in columns]


def _mean(found: Mean, column: Column) -> Cell:
    if math.isnan(found.mean):
        return Cell(UNKNOWN, math.nan)
    decimals = _decimals(found) if column.decimals is None else column.decimals
    text = f"{found.mean:.{decimals}f}"
    ends = (found.low, found.high)
    return Cell(text, found.mean, ends, interval=Interval(found.mean, ends, f".{decimals}f"))


def _decimals(found: Mean) -> int:
    """Decimal places for three significant digits of the mean; more than three places only as far as the interval
    tells.
    """
    of_mean = digits.decimals(found.mean)
    half = max(found.mean - found.low, found.high - found.mean)
    if of_mean <= USUAL_DECIMALS or math.isnan(half) or half == 0:
        return of_mean
    return max(USUAL_DECIMALS, min(of_mean, digits.decimals(half, 2)))
