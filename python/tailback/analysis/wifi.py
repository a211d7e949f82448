"""Transmissions in a Wi-Fi cell: the lengths of aggregates, and the airtime of each station.

Sources: A-MPDU and PPDU as the standard defines them [ieee80211-2016 §9.7].
"""

from collections.abc import Collection, Mapping

import numpy as np

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Samples
from tailback.analysis.table import Columns, Table, Words
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

Pair = tuple[str, str]
"""An access point and one of its stations."""


def ampdu_samples(wifi: Columns, pairs: Collection[Pair], window: Window) -> dict[str, Samples]:
    """Number of MPDUs in each PPDU that began in the window, by direction: `up` from a station to its access point,
    `down` from the access point. A PPDU with a single MPDU counts as 1; retransmissions and collisions count, too.
    """
    inside = window.samples(wifi)
    ways = {**dict.fromkeys(pairs, DOWN), **{(station, ap): UP for ap, station in pairs}}
    sizes = grouped(_labelled(inside, ways)).split(inside.numbers("mpdus"))
    return {way: sizes[way] for way in (UP, DOWN) if way in sizes}


def airtime_share(wifi: Columns, pairs: Collection[Pair], window: Window) -> dict[str, float]:
    """Share of each station in the airtime of all PPDUs that began in the window, from it and to it, no unit. The
    shares add up to 1.

    Retransmissions and collisions count. Responses (block ack, ACK, CTS), RTS and the idle time before channel access
    do not count.
    """
    inside = window.samples(wifi)
    owners = {**{(ap, station): station for ap, station in pairs}, **{(station, ap): station for ap, station in pairs}}
    used = grouped(_labelled(inside, owners)).sums(inside.numbers("duration_us"))
    total = sum(used.values())
    return {station: time / total for station, time in used.items()} if total else {}


def _labelled(ppdus: Table, labels: Mapping[Pair, str]) -> Words:
    """For each PPDU, the label of its sender and its receiver; "" if they have none."""
    senders, receivers = ppdus.words("from"), ppdus.words("to")
    known = sorted({"", *labels.values()})
    codes = np.full((len(senders.known), len(receivers.known)), known.index(""), dtype=np.intp)
    for (sender, receiver), label in labels.items():
        if sender in senders.known and receiver in receivers.known:
            codes[senders.known.index(sender), receivers.known.index(receiver)] = known.index(label)
    return Words(codes[senders.codes, receivers.codes], known)
