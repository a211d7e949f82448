"""Finds what a plot draws for `--metric`, by any name of the metric."""

from collections.abc import Mapping
from typing import TypeVar

from tailback import plain
from tailback.analysis import quantities
from tailback.plots.errors import NotDrawable

Row = TypeVar("Row")


def one_of(words: str, rows: Mapping[str, Row], kind: str) -> Row:
    """The row of the metric that is called `words`; the keys of `rows` are names of metrics."""
    metric = quantities.metric(words)
    by_metric = {quantities.metric(name): row for name, row in rows.items()}
    if metric is None or metric not in by_metric:
        near = plain.meant(words, list(rows))
        raise NotDrawable(f"`{words}` is not a metric of {kind}\n  hint: {near}--metric is one of {', '.join(rows)}")
    return by_metric[metric]
