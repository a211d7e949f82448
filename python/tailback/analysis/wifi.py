"""What was on the air of a Wi-Fi cell: how long aggregates were, and who used the time.

Sources: A-MPDU and PPDU as the standard has them [ieee80211-2016 §9.7].
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tailback.analysis.metrics import Samples
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

Pair = tuple[str, str]
"""An access point and one of its stations."""


def ampdu_samples(wifi: pd.DataFrame, pairs: Collection[Pair], window: Window) -> dict[str, Samples]:
    """MPDUs of each PPDU that began in the window, by direction: `up` from a station to its access point, `down` from
    it. A lone MPDU counts as 1; retransmissions and collisions count like any other PPDU.
    """
    inside = window.samples(wifi)
    senders = list(zip(inside["from"], inside["to"], strict=True))
    known = {**dict.fromkeys(pairs, DOWN), **{(station, ap): UP for ap, station in pairs}}
    ways = np.array([known.get(sender, "") for sender in senders], dtype=object)
    sizes = inside["mpdus"].to_numpy(dtype=np.float64)
    return {way: sizes[ways == way] for way in (UP, DOWN) if (ways == way).any()}


def airtime_share(wifi: pd.DataFrame, pairs: Collection[Pair], window: Window) -> dict[str, float]:
    """Share of each station in the time that PPDUs were on the air, from it and to it, no unit: the shares add up to 1.

    A PPDU counts in the window in which it began, retransmissions and collisions included; responses (block ack, ACK,
    CTS), RTS and the idle time before access do not count.
    """
    inside = window.samples(wifi)
    known = {**{(ap, station): station for ap, station in pairs}, **{(station, ap): station for ap, station in pairs}}
    owners = [known.get(sender, "") for sender in zip(inside["from"], inside["to"], strict=True)]
    used = inside["duration_us"].astype(np.float64).groupby(np.array(owners, dtype=object)).sum()
    total = float(used.sum())
    return {str(station): float(time) / total for station, time in used.items()} if total else {}
