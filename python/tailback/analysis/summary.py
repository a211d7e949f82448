"""The summary of one run: the value of each metric of the registry, over the measurement window.

Unknown values are absent, never 0: a metric is present if its table exists and has anything to measure.
"""

from collections.abc import Mapping
from typing import Any

from tailback.analysis import cautions
from tailback.analysis.measured import Measure, Measured
from tailback.analysis.metric import Metric
from tailback.analysis.registry import METRICS
from tailback.analysis.table import Columns, Table

__all__ = ["Measure", "summarise"]


def summarise(tables: Mapping[str, Columns], cost: Mapping[str, float], measure: Measure) -> dict[str, Any]:
    """The summary of a run from its tables, in the order of the registry, and the warnings about it."""
    run = Measured({name: Table.of(table) for name, table in tables.items()}, cost, measure)
    for metric in METRICS.values():
        if metric.key is not None and metric.value is not None:
            value = metric.value(run)
            if value is not None:
                run.found[metric.key] = _of_its_form(metric, value)
    warnings = cautions.of_run(run)
    if warnings is not None:
        run.found["warnings"] = warnings
    return run.found


def _of_its_form(metric: Metric, value: Any) -> Any:
    """The value, which readers of `summary.json` refuse if it is of another form than its row says."""
    of_names: tuple[type, ...] = (Mapping,)
    if isinstance(value, {"number": (int, float), "names": (list,)}.get(metric.form, of_names)):
        return value
    what = f"the metric `{metric.name}` gives {value!r}, but the form of its row is {metric.form!r}"
    raise TypeError(
        f"{what}\n  hint: give the row the `form` of what its function returns (tailback.analysis.metric.Form)"
    )
