"""The conformance matrix: every configuration of a grid by every judged metric, as a deviation in tolerances.

Deviation = (candidate − reference) / tolerance: within tolerance from −1 to 1, and of the sign of the difference.
`worst` is the largest in size over the judged metrics.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis.differences import METRICS
from tailback.analysis.rows import Axes, with_axes

WORST = "worst"


def deviations(judged: pd.DataFrame, configurations: Sequence[Axes]) -> pd.DataFrame:
    """One row per configuration and judged metric, and one for the worst of them: the axes, `metric`, `deviation`.

    A configuration in which a metric was not judged (too few drops to tell) has no row for it.
    """
    counted = judged[judged["outcome"].isin(["within", "off"])]
    cells = counted[["configuration", "metric", "excess"]].rename(columns={"excess": "deviation"})
    worst = cells.iloc[_farthest(cells)].assign(metric=WORST)
    table = pd.concat([cells, worst], ignore_index=True)
    table["metric"] = table["metric"].map({key: metric.title for key, metric in METRICS.items()} | {WORST: WORST})
    return with_axes(table, configurations)


def joined(matrices: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One matrix of several, as of experiments that share most of their axes; an axis one lacks is empty there."""
    table = pd.concat(matrices, ignore_index=True)
    axes = [column for column in table if column not in ("metric", "deviation")]
    return table[[*axes, "metric", "deviation"]].fillna(dict.fromkeys(axes, ""))


def _farthest(cells: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The row of the largest deviation of each configuration."""
    order = np.argsort(-cells["deviation"].abs().to_numpy(), kind="stable")
    _, first = np.unique(cells["configuration"].to_numpy()[order], return_index=True)
    return order[first]
