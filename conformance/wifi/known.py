"""Figures that are out of tolerance today for another reason than chance, with what is known of it.

Chance is not listed here: `spread` tells it from a mechanism by other seeds, and `report` prints it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from conformance.wifi.verdict import Cell


@dataclass(frozen=True)
class KnownDifference:
    """Runs by a regular expression for `family/name`, figures by name, and the reason."""

    runs: str
    figures: tuple[str, ...]
    reason: str

    def covers(self, cell: Cell) -> bool:
        return cell.figure in self.figures and re.search(self.runs, cell.experiment.key) is not None


KNOWN_DIFFERENCES: tuple[KnownDifference, ...] = ()


def reason(cell: Cell) -> str | None:
    """What is known of a cell that is off."""
    return next((known.reason for known in KNOWN_DIFFERENCES if known.covers(cell)), None)
