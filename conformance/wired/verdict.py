"""Compares the figures of a run with the kernel's, one cell per figure, against tolerances.

Judged: goodput within 3 %; median and 90th percentile of the TCP RTT within 10 % or 0.5 ms, whichever is more; drops
and retransmissions within 25 % of at least 50, where either side has more than 50. The rest is shown, not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from conformance.wired.experiment import Experiment
from conformance.wired.measures import Measures
from tailback.analysis.tolerances import FIDELITY

Outcome = Literal["ok", "off", "shown"]


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


TOLERANCES: dict[str, Callable[[float, float], float | None]] = {
    "goodput_mbps": FIDELITY["goodput"].allowed,
    "rtt_p50": FIDELITY["rtt"].allowed,
    "rtt_p90": FIDELITY["rtt"].allowed,
    "retransmits": FIDELITY["retransmits"].allowed,
    "drops": FIDELITY["drops"].allowed,
}
SHOWN = ("ping_p50", "ping_p90", "jain", "cwnd_mean", "unacked_mean", "wmem_mean", "pacing_mbps")


def cells(experiment: Experiment, kernel: Measures, simulator: Measures) -> list[Cell]:
    """One cell for each figure judged or shown."""
    ours, theirs = asdict(simulator), asdict(kernel)
    return [cell(experiment, figure, theirs[figure], ours[figure]) for figure in (*TOLERANCES, *SHOWN)]


def cell(experiment: Experiment, figure: str, kernel: float, simulator: float) -> Cell:
    judge = TOLERANCES.get(figure)
    tolerance = judge(kernel, simulator) if judge else None
    if tolerance is None:
        return Cell(experiment, figure, kernel, simulator, "shown", 0.0)
    # A figure that is not a number (nothing was received) is never within a tolerance.
    excess = float("inf") if math.isnan(simulator) else abs(simulator - kernel) / tolerance
    return Cell(experiment, figure, kernel, simulator, "ok" if excess <= 1 else "off", excess)


def share_within(judged: Sequence[Cell]) -> tuple[int, int]:
    """Cells within tolerance, and cells judged."""
    counted = [cell for cell in judged if cell.outcome != "shown"]
    return sum(cell.outcome == "ok" for cell in counted), len(counted)
