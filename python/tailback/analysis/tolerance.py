"""A tolerance: how far a number may be from another one before they count as different."""

from msgspec import Struct


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
