"""Tables as rows, and rows with their configuration."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Axes = Mapping[str, str]

Sides: TypeAlias = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""The values of reference and candidate, pair by pair."""


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Each row as a mapping of its columns."""
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def by_configuration(table: "pd.DataFrame") -> dict[int, list[dict[str, Any]]]:
    """The rows of each configuration that has some; all at once, because a frame takes a millisecond for each part."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in records(table):
        found.setdefault(int(row["configuration"]), []).append(row)
    return found


def sides(paired: "pd.DataFrame") -> dict[tuple[int, str], Sides]:
    """The values of each configuration and metric of `differences.paired_metrics`, in the order of their first rows."""
    found: dict[tuple[int, str], tuple[list[float], list[float]]] = {}
    columns = (paired[name].tolist() for name in ("configuration", "metric", "reference", "candidate"))
    for configuration, metric, reference, candidate in zip(*columns, strict=True):
        theirs, ours = found.setdefault((configuration, metric), ([], []))
        theirs.append(reference)
        ours.append(candidate)
    return {key: (np.array(theirs), np.array(ours)) for key, (theirs, ours) in found.items()}


def with_axes(table: "pd.DataFrame", configurations: Sequence[Axes]) -> "pd.DataFrame":
    """`table` with the axes of each row's `configuration` in front, instead of its number."""
    places = table["configuration"].to_numpy()
    rest = table.drop(columns="configuration").reset_index(drop=True)
    names = list(configurations[0]) if configurations else []
    for at, axis in enumerate(names):
        # If a column of the table has the name of an axis, the axis gets a prefix.
        column = axis if axis not in rest else f"axis.{axis}"
        rest.insert(at, column, [configurations[place][axis] for place in places])
    return rest
