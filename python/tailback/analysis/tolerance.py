"""A tolerance: how far a number may be from another one before they count as different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


class Tolerance(Struct, frozen=True):
    """`10% or 0.5ms`, `25% over 50` (`analysis.tolerances` reads these words); `None` for parts that are not given."""

    share: float | None = None
    absolute: float | None = None
    """In the unit of the metric."""
    over: float | None = None
    words: str = "off"

    def allowed(self, reference: float, candidate: float) -> float | None:
        """The largest difference that is within tolerance; `None` if this pair is not judged."""
        if self.share is None and self.absolute is None:
            return None
        if self.over is not None and max(reference, candidate) <= self.over:
            return None
        base = max(abs(reference), self.over or 0.0)
        return max((self.share or 0.0) * base, self.absolute or 0.0)

    def allowed_each(self, references: Values, candidates: Values) -> Values:
        """`allowed` of each reference (a row) with each candidate (a column); NaN in the place of `None`."""
        import numpy as np

        if self.share is None and self.absolute is None:
            return np.full((len(references), len(candidates)), np.nan)
        base = np.maximum(np.abs(references), self.over or 0.0)
        most = np.maximum((self.share or 0.0) * base, self.absolute or 0.0)
        each = np.repeat(most[:, None], len(candidates), axis=1)
        if self.over is not None:
            each[np.maximum(references[:, None], candidates[None, :]) <= self.over] = np.nan
        return each
