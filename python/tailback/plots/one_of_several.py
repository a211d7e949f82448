"""Which repetition a figure shows that shows one of several, because curves of different runs have no meaningful mean:
its columns in the table, and its words in the figure.
"""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.lines import Line2D

from tailback.plots import style
from tailback.results import RunResult

NUMBER, COUNT = "repetition", "repetitions"
"""Columns with the number of the repetition that is drawn, and how many there are."""


def columns(runs: Sequence[RunResult]) -> Mapping[str, int]:
    """The columns for the first of the repetitions of a configuration. Of a single one that was chosen from several, it
    is not known how many there are.
    """
    numbers = [run.repetition for run in runs]
    return {NUMBER: numbers[0], COUNT: max(numbers) if len(numbers) > 1 else 1}


def words(table: pd.DataFrame) -> str:
    """`Repetition 1 of 5`; empty if there are no others."""
    if COUNT not in table or table.empty:
        return ""
    pairs = table[[NUMBER, COUNT]].drop_duplicates()
    numbers, counts = sorted(pairs[NUMBER].unique()), sorted(pairs[COUNT].unique())
    if counts == [1]:
        return "" if numbers == [1] else f"Repetition {_listed(numbers)}"
    return f"Repetition {_listed(numbers)} of {_listed(counts)}"


def _listed(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def key(table: pd.DataFrame) -> list[Line2D]:
    """The entry of the legend."""
    said = words(table)
    return [Line2D([], [], linestyle="none", color=style.BLACK, label=said)] if said else []
