"""The criteria of the matrix: those of `tailback validate` (`tailback.analysis.tolerances.FIDELITY`)."""

from __future__ import annotations

from conformance.grid import Place
from conformance.matrix import known
from conformance.matrix.grid import MATRIX
from conformance.simulated_grid import campaign
from tailback.analysis.differences import METRICS
from tailback.analysis.tolerances import FIDELITY

_BY_FIGURE = {figure: FIDELITY[METRICS[figure].tolerance] for figure in MATRIX.figures}
TOLERANCES = {figure: by for figure, by in _BY_FIGURE.items() if by.words != "off"}


def _reason(place: Place, figure: str) -> str | None:
    return known.reason(place.labels, figure)


CAMPAIGN = campaign("the conformance matrix", MATRIX, TOLERANCES, _reason)
