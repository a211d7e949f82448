"""Columns of a frame as a table of a run: their kinds, their units, and which cells have no value."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tailback import _core

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["text", "uint64", "int64", "float64"]
"""What the values of a column are."""

Values: TypeAlias = npt.NDArray[np.float64]

TEXT: Kind = "text"
COUNT: Kind = "uint64"
SIGNED: Kind = "int64"
NUMBER: Kind = "float64"

READ: Mapping[Kind, str] = {TEXT: "string", COUNT: "UInt64", SIGNED: "Int64", NUMBER: "Float64"}
"""The types of pandas that keep whole numbers exact if others of the column are missing."""


def read_csv(file: Path, kinds: Mapping[str, Kind]) -> "pd.DataFrame":
    """These columns of a CSV file, whose missing values are empty cells."""
    import pandas as pd

    types: dict[str, Any] = {name: READ[kind] for name, kind in kinds.items()}
    return pd.read_csv(file, dtype=types, usecols=list(kinds), keep_default_na=False, na_values=[""])


def table(frame: "pd.DataFrame", form: Mapping[str, tuple[Kind, str | None]]) -> _core.Table:
    """The columns of `form` with their kinds and units."""
    return _core.Table.of_columns([(name, unit, *_cells(frame[name], kind)) for name, (kind, unit) in form.items()])


def as_they_are(frame: "pd.DataFrame", units: Mapping[str, str]) -> _core.Table:
    """All columns with the kinds that pandas found, and these units."""
    return table(frame, {str(name): (_kind(column), units.get(str(name))) for name, column in frame.items()})


def _kind(column: "pd.Series[Any]") -> Kind:
    found: Mapping[str, Kind] = {"u": COUNT, "i": SIGNED, "f": NUMBER}
    return found.get(getattr(column.dtype, "kind", "O"), TEXT)


def _cells(column: "pd.Series[Any]", kind: Kind) -> tuple[Kind, bytes | list[str], bytes | None]:
    missing = column.isna().to_numpy(np.bool_)
    present = np.logical_not(missing).tobytes() if missing.any() else None
    if kind == TEXT:
        return (
            kind,
            ["" if absent else str(word) for word, absent in zip(column, missing.tolist(), strict=True)],
            present,
        )
    return kind, column.to_numpy(np.dtype(kind), na_value=0).tobytes(), present
