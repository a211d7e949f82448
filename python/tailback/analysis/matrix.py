"""The conformance matrix: the deviation of each configuration of a grid in each judged metric, in tolerances.

Deviation = (candidate − reference) / tolerance; from −1 to 1 it is within tolerance. `worst` is the deviation with the
largest absolute value over the judged metrics.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis.differences import METRICS
from tailback.analysis.rows import Axes, with_axes
from tailback.analysis.tolerances import JUDGED

WORST = "worst"


def deviations(judged: pd.DataFrame, configurations: Sequence[Axes]) -> pd.DataFrame:
    """One row per configuration and judged metric, and one for the worst of them: the axes, `metric`, `deviation`.

    A metric that was not judged in a configuration (for example too few drops) has no row there.
    """
    counted = judged[judged["outcome"].isin(JUDGED)]
    cells = counted[["configuration", "metric", "excess"]].rename(columns={"excess": "deviation"})
    worst = cells.iloc[_farthest(cells)].assign(metric=WORST)
    table = pd.concat([cells, worst], ignore_index=True)
    table["metric"] = table["metric"].map({key: metric.title for key, metric in METRICS.items()} | {WORST: WORST})
    return with_axes(table, configurations)


def joined(matrices: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenates matrices of experiments with similar axes; missing axes are empty."""
    table = pd.concat(matrices, ignore_index=True)
    axes = [column for column in table if column not in ("metric", "deviation")]
    return table[[*axes, "metric", "deviation"]].fillna(dict.fromkeys(axes, ""))


def _farthest(cells: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The index of the row with the largest deviation of each configuration."""
    order = np.argsort(-cells["deviation"].abs().to_numpy(), kind="stable")
    _, first = np.unique(cells["configuration"].to_numpy()[order], return_index=True)
    return order[first]
