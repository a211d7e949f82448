"""The known reasons why cells are out of tolerance; a test fails for cells without one."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.reasons import Reason, reason_of

REASONS: tuple[Reason, ...] = ()


def reason(cell: Mapping[str, str], figure: str) -> str | None:
    """The known reason for a cell out of tolerance."""
    return reason_of(REASONS, cell, figure)
