"""Why cells of the matrix are out of tolerance: each has one of these reasons, or a test fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Cells by the values of their axes and by their figures; an axis that is not named may have any value."""

    axes: Mapping[str, tuple[str, ...]]
    figures: tuple[str, ...]
    words: str

    def covers(self, cell: Mapping[str, str], figure: str) -> bool:
        """Whether it explains `figure` of `cell`."""
        return figure in self.figures and all(cell[axis] in values for axis, values in self.axes.items())


RTT = ("tcp_rtt_ms.p50", "tcp_rtt_ms.p90")
LOSSES = ("retransmits", "drops")

REASONS: tuple[Reason, ...] = ()


def reason(cell: Mapping[str, str], figure: str) -> str | None:
    """What is known of a cell out of tolerance."""
    return next((known.words for known in REASONS if known.covers(cell, figure)), None)
