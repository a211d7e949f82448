"""The known reasons why cells of a grid are out of tolerance; tests fail for cells without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A reason, and its cells by values of axes and by figures; missing axes match any value."""

    axes: Mapping[str, tuple[str, ...]]
    figures: tuple[str, ...]
    words: str

    def covers(self, cell: Mapping[str, str], figure: str) -> bool:
        """Whether the reason explains `figure` of `cell`."""
        return figure in self.figures and all(cell[axis] in values for axis, values in self.axes.items())


def reason_of(reasons: Iterable[Reason], cell: Mapping[str, str], figure: str) -> str | None:
    """The reason for a cell out of tolerance."""
    return next((known.words for known in reasons if known.covers(cell, figure)), None)
