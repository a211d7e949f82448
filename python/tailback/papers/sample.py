"""The result of a measurement: values of a quantity, one per repetition."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tailback.analysis import half_width


@dataclass(frozen=True)
class Sample:
    """A quantity in one case."""

    quantity: str
    case: str
    values: Sequence[float]

    @property
    def half_width(self) -> float:
        """Half the 95 % interval of the mean over the repetitions; 0 if there is only one."""
        return half_width(np.array(self.values, dtype=np.float64)) if len(self.values) > 1 else 0.0

    @property
    def median(self) -> float:
        """The median over the repetitions."""
        return statistics.median(self.values)


Evaluator: TypeAlias = Callable[..., Iterator[Sample]]
"""Measures a claim from the `Results` of each of its experiments."""
