"""The summaries of all runs as CSV, as pandas writes `Results.summary`, without a frame.

That of a run with 60,000 flows has 800,000 columns, which pandas makes one by one.
"""

import csv
import io
import math
from typing import Any

from tailback.results import Results
from tailback.results.reading import flatten
from tailback.results.run import REPETITION


def csv_of(results: Results) -> str:
    """One row per run: axes, repetition, seed, and each number of its summary."""
    rows = [{**run.axes, REPETITION: run.repetition, "seed": run.seed, **flatten(run.summary)} for run in results.runs]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [_column([row.get(name) for row in rows]) for name in names]
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return sink.getvalue()


def _column(values: list[Any]) -> list[Any]:
    """The values as a column of one type: among fractions and unknown values, whole numbers are fractions too."""
    kinds = set(map(type, values))
    if kinds <= {int, float, type(None)} and len(kinds) > 1:
        return [None if value is None or math.isnan(value) else float(value) for value in values]
    if float in kinds:
        return [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    return values
