"""Transmissions in a Wi-Fi cell: the lengths of aggregates, and the airtime of each station.

Sources: A-MPDU and PPDU as the standard defines them [ieee80211-2016 §9.7].
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
    """Number of MPDUs in each PPDU that began in the window, by direction: `up` from a station to its access point,
    `down` from the access point. A PPDU with a single MPDU counts as 1; retransmissions and collisions count, too.
    """
    inside = window.samples(wifi)
    senders = list(zip(inside["from"], inside["to"], strict=True))
    known = {**dict.fromkeys(pairs, DOWN), **{(station, ap): UP for ap, station in pairs}}
    ways = np.array([known.get(sender, "") for sender in senders], dtype=object)
    sizes = inside["mpdus"].to_numpy(dtype=np.float64)
    return {way: sizes[ways == way] for way in (UP, DOWN) if (ways == way).any()}


def airtime_share(wifi: pd.DataFrame, pairs: Collection[Pair], window: Window) -> dict[str, float]:
    """Share of each station in the airtime of all PPDUs that began in the window, from it and to it, no unit. The
    shares add up to 1.

    Retransmissions and collisions count. Responses (block ack, ACK, CTS), RTS and the idle time before channel access
    do not count.
    """
    inside = window.samples(wifi)
    known = {**{(ap, station): station for ap, station in pairs}, **{(station, ap): station for ap, station in pairs}}
    owners = [known.get(sender, "") for sender in zip(inside["from"], inside["to"], strict=True)]
    used = inside["duration_us"].astype(np.float64).groupby(np.array(owners, dtype=object)).sum()
    total = float(used.sum())
    return {str(station): float(time) / total for station, time in used.items()} if total else {}
