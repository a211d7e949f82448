"""The conformance matrix: every configuration of a grid by every judged metric, as a deviation in tolerances.

Deviation = (candidate − reference) / tolerance: within tolerance from −1 to 1, and of the sign of the difference.
`worst` is the largest in size over the judged metrics.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from tailback.analysis.differences import METRICS

WORST = "worst"

Axes = Mapping[str, str]


def deviations(judged: pd.DataFrame, configurations: Sequence[Axes]) -> pd.DataFrame:
    """One row per configuration and judged metric, and one for the worst of them: the axes, `metric`, `deviation`.

    A configuration in which a metric was not judged (too few drops to tell) has no row for it.
    """
    counted = judged[judged["outcome"].isin(["within", "off"])]
    cells = counted[["configuration", "metric", "excess"]].rename(columns={"excess": "deviation"})
    worst = cells.loc[cells.groupby("configuration")["deviation"].apply(_largest)].assign(metric=WORST)
    table = pd.concat([cells, worst], ignore_index=True)
    table["metric"] = table["metric"].map({key: metric.title for key, metric in METRICS.items()} | {WORST: WORST})
    return with_axes(table, configurations)


def with_axes(table: pd.DataFrame, configurations: Sequence[Axes]) -> pd.DataFrame:
    """`table` with the axes of each row's `configuration` in front, instead of its number."""
    places = table["configuration"].to_numpy()
    rest = table.drop(columns="configuration").reset_index(drop=True)
    names = list(configurations[0]) if configurations else []
    for at, axis in enumerate(names):
        # An axis may be called like a column of the table; the axis then keeps the longer name.
        column = axis if axis not in rest else f"axis.{axis}"
        rest.insert(at, column, [configurations[place][axis] for place in places])
    return rest


def _largest(deviation: "pd.Series[float]") -> int:
    return int(deviation.abs().idxmax())
