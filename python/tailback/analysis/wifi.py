"""Transmissions in a Wi-Fi cell: the lengths of aggregates, and the airtime of each station.

Sources: A-MPDU and PPDU as the standard defines them [ieee80211-2016 §9.7].
"""

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import Samples
from tailback.analysis.table import Columns, Table, Words
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

NS_PER_US = 1000
PERCENT = 100.0

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


COLLISIONS = "collisions"


def air_in_bins(wifi: Columns, width_ns: int, duration_ns: int) -> dict[str, npt.NDArray[np.float64]]:
    """The share of each sender in the time of each bin from 0 to `duration_ns`, in %: how long its PPDUs were on air.
    Those that collided count as `collisions`, with their time shared by all that were in them. The rest of a bin are
    responses, the time before access, and silence.
    """
    ppdus = Table.of(wifi)
    bins = -(-duration_ns // width_ns)
    begin, lasts = ppdus.t_ns, ppdus.numbers("duration_us") * NS_PER_US
    together = ppdus.numbers("colliders")
    lasts = lasts / np.maximum(together, 1)
    senders = ppdus.words("from")
    hit = together > 0
    owners = {name: senders.are(name) & ~hit for name in senders.present()}
    found = {name: _time_in_bins(begin[of], lasts[of], (width_ns, bins)) for name, of in owners.items()}
    if hit.any():
        found[COLLISIONS] = _time_in_bins(begin[hit], lasts[hit], (width_ns, bins))
    return {name: PERCENT * time / width_ns for name, time in found.items() if time.any()}


def _time_in_bins(
    begin: npt.NDArray[np.int64], lasts: npt.NDArray[np.float64], grid: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """How much of these times lies in each bin; a time that is longer than a bin reaches into several."""
    width, bins = grid
    time = np.zeros(bins)
    while len(begin):
        places = begin // width
        here = np.minimum(lasts, (places + 1) * width - begin)
        np.add.at(time, np.minimum(places, bins - 1), here)
        left = lasts - here > 0
        begin, lasts = ((places + 1) * width)[left], (lasts - here)[left]
    return time


def _labelled(ppdus: Table, labels: Mapping[Pair, str]) -> Words:
    """For each PPDU, the label of its sender and its receiver; "" if they have none."""
    senders, receivers = ppdus.words("from"), ppdus.words("to")
    known = sorted({"", *labels.values()})
    codes = np.full((len(senders.known), len(receivers.known)), known.index(""), dtype=np.intp)
    for (sender, receiver), label in labels.items():
        if sender in senders.known and receiver in receivers.known:
            codes[senders.known.index(sender), receivers.known.index(receiver)] = known.index(label)
    return Words(codes[senders.codes, receivers.codes], known)
