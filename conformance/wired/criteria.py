"""The criteria of the wired runs.

Judged: goodput within 3 %; median and 90th percentile of the TCP RTT within 10 % or 0.5 ms, whichever is more; drops
and retransmissions within 25 % of at least 50, where either side has more than 50. The rest is shown, not judged.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from conformance.judge import Campaign, Run, each
from conformance.wired import golden, known
from conformance.wired.experiment import Experiment
from conformance.wired.repetitions import repetitions
from conformance.wired.simulate import left_out, simulate
from tailback.analysis.tolerances import FIDELITY, Tolerance

TOLERANCES: dict[str, Tolerance] = {
    "goodput_mbps": FIDELITY["goodput"],
    "rtt_p50": FIDELITY["rtt"],
    "rtt_p90": FIDELITY["rtt"],
    "retransmits": FIDELITY["retransmits"],
    "drops": FIDELITY["drops"],
}
SHOWN = ("ping_p50", "ping_p90", "jain", "cwnd_mean", "unacked_mean", "wmem_mean", "pacing_mbps")


def _reason(experiment: Experiment, figure: str) -> str | None:
    found = known.known(experiment.key, figure)
    return None if found is None else found.reason


def _measured(folder: Path) -> list[Run[Experiment]]:
    # Imported on demand, because it needs the folder of the campaign, which is not part of the repository.
    from conformance.wired.extract import golden_runs

    return golden_runs(folder)


CAMPAIGN = Campaign(
    title="the wired campaign",
    tolerances=TOLERANCES,
    shown=SHOWN,
    runs=golden.read_runs,
    simulate=functools.partial(each, simulate),
    repetitions=repetitions,
    left_out=left_out,
    reason=_reason,
    configuration=lambda run: replace(run, name="", seed=0),
    measured=_measured,
)
