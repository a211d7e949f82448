"""The criteria of the matrix: those of `tailback validate` (`tailback.analysis.tolerances.FIDELITY`).

A run of this campaign is a configuration, with means over its repetitions.
"""

from __future__ import annotations

from conformance.judge import Campaign
from conformance.matrix import golden, known
from conformance.matrix.grid import Place
from conformance.matrix.simulate import repetitions, simulate
from tailback.analysis.differences import METRICS
from tailback.analysis.tolerances import FIDELITY

_BY_FIGURE = {figure: FIDELITY[METRICS[figure].tolerance] for figure in golden.FIGURES}
TOLERANCES = {figure: by for figure, by in _BY_FIGURE.items() if by.words != "off"}


def _reason(place: Place, figure: str) -> str | None:
    return known.reason(place.labels, figure)


CAMPAIGN = Campaign(
    title="the conformance matrix",
    tolerances=TOLERANCES,
    shown=[figure for figure in golden.FIGURES if figure not in TOLERANCES],
    runs=golden.runs,
    simulate=simulate,
    repetitions=repetitions,
    left_out=lambda _place: None,
    reason=_reason,
)
