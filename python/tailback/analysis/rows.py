"""Tables as rows, and rows with their configuration."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Axes = Mapping[str, str]


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Each row as a mapping of its columns."""
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def of_configuration(table: "pd.DataFrame", configuration: int) -> list[dict[str, Any]]:
    """The rows of one configuration."""
    return records(table[table["configuration"] == configuration])


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
