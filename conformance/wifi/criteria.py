"""The criteria of the Wi-Fi runs.

Judged: goodput within 5 %; mean MPDUs per A-MPDU within 10 % or 0.5; medians of ping and of TCP's RTT within 10 % or
0.5 ms, whichever is more. Flows one way leave acknowledgements the other way: their A-MPDUs are judged, goodput of a
direction without a flow is not. The rest is shown, not judged.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from conformance.judge import Campaign, Run, each
from conformance.wifi import golden, known
from conformance.wifi.experiment import Experiment
from conformance.wifi.simulate import left_out, repetitions, simulate
from tailback.analysis.tolerances import Tolerance

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


def _words(settings: Mapping[str, str], but: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in settings.items() if key != but))


def _measured(folder: Path) -> list[Run[Experiment]]:
    # Imported on demand, because it needs the folder of the campaign, which is not part of the repository.
    from conformance.wifi.extract import campaign_runs

    return list(campaign_runs(folder))


CAMPAIGN = Campaign(
    title="the Wi-Fi campaign",
    tolerances=TOLERANCES,
    shown=SHOWN,
    runs=golden.read_runs,
    simulate=functools.partial(each, simulate),
    repetitions=repetitions,
    left_out=left_out,
    reason=known.reason,
    configuration=lambda run: (run.family, _words(run.environment, "SEED"), _words(run.cell, "seed")),
    measured=_measured,
)
