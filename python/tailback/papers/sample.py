"""What an evaluator gives: values of a quantity, one per repetition."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tailback.results import Results


@dataclass(frozen=True)
class Sample:
    """A quantity in one case."""

    quantity: str
    case: str
    values: Sequence[float]

    @property
    def median(self) -> float:
        """Over the repetitions."""
        return statistics.median(self.values)


Evaluator: TypeAlias = Callable[[Results], Iterator[Sample]]
