"""Means over the repetitions of each configuration, with 95 % intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tailback.analysis.intervals import t_interval
from tailback.analysis.metric import Column, Summary
from tailback.analysis.registry import headline


def configurations(
    runs: Sequence[tuple[Mapping[str, str], Summary]], columns: Sequence[Column] | None = None
) -> pd.DataFrame:
    """One row per configuration, in order of appearance: its axes, `runs`, and for each column of `columns` (the
    headline of the registry if none are given) its mean over the repetitions (`TITLE`) and the ends of the 95 %
    interval of that mean (`TITLE low`, `TITLE high`).

    Unknown values are NaN: a number that no repetition has, the interval of a single repetition.
    """
    shown = headline() if columns is None else columns
    groups: dict[tuple[tuple[str, str], ...], list[Summary]] = {}
    for axes, summary in runs:
        groups.setdefault(tuple(axes.items()), []).append(summary)
    rows = [{**dict(axes), "runs": len(group), **_row(group, shown)} for axes, group in groups.items()]
    return pd.DataFrame(rows)


def _row(summaries: Sequence[Summary], columns: Sequence[Column]) -> dict[str, float]:
    row: dict[str, float] = {}
    for column in columns:
        known = [value for value in map(column.read, summaries) if value is not None]
        values = np.array(known or [np.nan], dtype=np.float64)
        row[column.title] = float(np.mean(values))
        row[f"{column.title} low"], row[f"{column.title} high"] = t_interval(values, column.least, column.most)
    return row
