"""The criteria: goodput within 5 %; MPDUs per A-MPDU within 10 % or 0.5; medians of ping and of TCP's RTT within 10 %
or 0.5 ms, whichever is more. Flows one way leave ACKs the other way: their A-MPDUs are judged, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.grid import Place
from conformance.mac80211 import known
from conformance.mac80211.grid import GRID
from conformance.simulated_grid import campaign
from tailback.analysis.tolerances import Tolerance

TOLERANCES: Mapping[str, Tolerance] = {
    "goodput_mbps.up": Tolerance(share=0.05),
    "goodput_mbps.down": Tolerance(share=0.05),
    "ampdu_mpdus.up.mean": Tolerance(share=0.1, absolute=0.5),
    "ampdu_mpdus.down.mean": Tolerance(share=0.1, absolute=0.5),
    "ping_ms.p50": Tolerance(share=0.1, absolute=0.5),
    "tcp_rtt_ms.p50": Tolerance(share=0.1, absolute=0.5),
}


def _reason(place: Place, figure: str) -> str | None:
    return known.reason(place.labels, figure)


CAMPAIGN = campaign("the conformance matrix of Wi-Fi", GRID, TOLERANCES, _reason)
