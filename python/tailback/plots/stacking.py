"""One table of many parts. A frame for each part, and their concatenation, take longer than reading what is in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd


def stacked(parts: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows of all parts, which have the same columns: an array for the rows of its part, or one value for all of
    them.
    """
    lengths = [max(len(value) for value in part.values() if isinstance(value, np.ndarray)) for part in parts]
    names = list(parts[0]) if parts else []
    return pd.DataFrame({name: _column([part[name] for part in parts], lengths) for name in names})


def _column(values: Sequence[Any], lengths: Sequence[int]) -> Any:
    if all(isinstance(value, np.ndarray) for value in values):
        return np.concatenate(values)
    return [value for value, length in zip(values, lengths, strict=True) for _ in range(length)]
