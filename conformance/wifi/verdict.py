"""Compares the figures of a run with the kernel's, one cell per figure, against tolerances.

Judged: goodput within 5 %; mean MPDUs per A-MPDU within 10 % or 0.5; medians of ping and of TCP's RTT within 10 % or
0.5 ms, whichever is more. Flows one way leave acknowledgements the other way: their A-MPDUs are judged, goodput of a
direction without a flow is not. The rest is shown, not judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from conformance.wifi.experiment import Experiment
from conformance.wifi.measures import Measures
from tailback.analysis.tolerances import Tolerance

Outcome = Literal["ok", "off", "shown"]

TOLERANCES: Mapping[str, Tolerance] = {
    "goodput_up": Tolerance(share=0.05),
    "goodput_down": Tolerance(share=0.05),
    "ampdu_up": Tolerance(share=0.1, absolute=0.5),
    "ampdu_down": Tolerance(share=0.1, absolute=0.5),
    "ping_p50": Tolerance(share=0.1, absolute=0.5),
    "rtt_up_p50": Tolerance(share=0.1, absolute=0.5),
    "rtt_down_p50": Tolerance(share=0.1, absolute=0.5),
}
SHOWN = ("ping_p90", "collided_up", "cwnd_mean", "wmem_mean", "retransmits", "jain")


@dataclass(frozen=True)
class Cell:
    """One figure of one run on both sides. `excess` is the difference in units of the tolerance; 0 if only shown."""

    experiment: Experiment
    figure: str
    kernel: float
    simulator: float
    outcome: Outcome
    excess: float

    @property
    def relative(self) -> float:
        """Difference as a share of the kernel's figure."""
        difference = self.simulator - self.kernel
        return difference / self.kernel if self.kernel else float("inf") * difference if difference else 0.0


def cells(experiment: Experiment, kernel: Measures, simulator: Measures) -> list[Cell]:
    """One cell for each figure that the kernel has."""
    ours, theirs = asdict(simulator), asdict(kernel)
    known = [figure for figure in (*TOLERANCES, *SHOWN) if not math.isnan(theirs[figure])]
    return [cell(experiment, figure, theirs[figure], ours[figure]) for figure in known]


def cell(experiment: Experiment, figure: str, kernel: float, simulator: float) -> Cell:
    tolerance = TOLERANCES.get(figure)
    allowed = tolerance.allowed(kernel, simulator) if tolerance else None
    if allowed is None:
        return Cell(experiment, figure, kernel, simulator, "shown", 0.0)
    # A figure that the simulator does not have is never within a tolerance.
    excess = float("inf") if math.isnan(simulator) else abs(simulator - kernel) / allowed if allowed else 0.0
    return Cell(experiment, figure, kernel, simulator, "ok" if excess <= 1 else "off", excess)


def share_within(judged: Sequence[Cell]) -> tuple[int, int]:
    """Cells within tolerance, and cells judged."""
    counted = [cell for cell in judged if cell.outcome != "shown"]
    return sum(cell.outcome == "ok" for cell in counted), len(counted)
