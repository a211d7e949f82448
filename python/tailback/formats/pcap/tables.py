"""The tables of results from what a capture has: `flows`, `tcp_info`, `ping`."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis import passive
from tailback.analysis.conversations import Ints
from tailback.formats.errors import NotReadable
from tailback.formats.pcap.choosing import Found, host_of
from tailback.formats.pcap.tap import Tap, pings_seen_whole

BIN_NS = 100_000_000
MAX_BINS = 10_000_000
SMOOTHING = 1 / 8
"""The weight of a new sample in Linux's smoothed RTT. [rfc6298 §2]"""

NOT_SEEN = ("snd_cwnd", "pacing_rate", "delivery_rate")
"""Columns of the table that a capture does not have: null, as for other imported results."""

MOST_ROWS = 5_000_000
"""Rows of `tcp_info`; a capture with more has one only per bin with an ACK."""

Floats = npt.NDArray[np.float64]
Frames = dict[str, pd.DataFrame]


def flows(found: Found, start_ns: int) -> pd.DataFrame:
    """Bytes of each taken flow per bin, with the end of the bin."""
    data = found.data.of(found.taken)
    places = (found.packets.t_ns[data.rows] - start_ns) // BIN_NS
    if len(places) and places.max() > MAX_BINS:
        raise NotReadable(f"the capture spans {places.max() * BIN_NS / 1e9:.0f} s\n  hint: its times are wrong")
    names = sorted_places(found)
    keys = places * (len(names) + 1) + names[data.directions]
    distinct, groups = np.unique(keys, return_inverse=True)
    sums = np.bincount(groups, weights=data.values, minlength=len(distinct)).astype(np.int64)
    by_name = np.array(sorted(found.packets.names), dtype=object)
    ends = np.round((distinct // (len(names) + 1) + 1) * BIN_NS / 1e9, 9)
    return pd.DataFrame({"t": ends, "flow": by_name[distinct % (len(names) + 1)], "bytes": sums})


def sorted_places(found: Found) -> Ints:
    """The place of each direction in the alphabetical order of names."""
    order = np.array(sorted(range(len(found.packets.names)), key=found.packets.names.__getitem__), dtype=np.int64)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def tcp_info(found: Found, start_ns: int) -> pd.DataFrame:
    """RTT of the flows whose sender made the capture, smoothed as Linux does, at the end of each bin.
    `rtt` and `min_rtt` in µs; `total_retrans`, segments so far. Without a clock of its own, the capture has the times
    of the card, below the sender's queue.
    """
    wanted = np.intersect1d(found.taken, found.positions.where(Tap.SENDER))
    trips = found.trips.of(wanted)
    if not len(trips.rows):
        return pd.DataFrame()
    order = np.lexsort((found.packets.t_ns[trips.rows], trips.directions))
    code, t_ns = trips.directions[order], found.packets.t_ns[trips.rows][order]
    samples = pd.Series(trips.values[order] / 1e3)
    smoothed = np.asarray(samples.groupby(code).ewm(alpha=SMOOTHING, adjust=False).mean(), dtype=np.float64)
    least = np.asarray(samples.groupby(code).cummin(), dtype=np.float64)
    bins = (t_ns - start_ns) // BIN_NS
    last = np.ones(len(code), dtype=bool)
    last[:-1] = (code[1:] != code[:-1]) | (bins[1:] != bins[:-1])
    names = np.array(found.packets.names, dtype=object)
    code, bins, smoothed, least = _held(code[last], bins[last], (smoothed[last], least[last]))
    again = _so_far(found, code, (bins + 1) * BIN_NS + start_ns)
    table = pd.DataFrame({
        "t": np.round((bins + 1) * BIN_NS / 1e9, 9), "flow": names[code], "rtt": np.round(smoothed, 3),
        "min_rtt": np.round(least, 3), "total_retrans": again,
        **dict.fromkeys(NOT_SEEN, np.nan),
    })  # fmt: skip
    return table.sort_values(["t", "flow"], kind="stable").reset_index(drop=True)


def _held(code: Ints, bins: Ints, values: tuple[Floats, Floats]) -> tuple[Ints, Ints, Floats, Floats]:
    """The values of each bin until the next one with an ACK, as a socket that is sampled has them."""
    steps = np.ones(len(code), dtype=np.int64)
    same = code[1:] == code[:-1]
    steps[:-1][same] = np.diff(bins)[same]
    if int(steps.sum()) > MOST_ROWS:
        return code, bins, *values
    rows = np.repeat(np.arange(len(code)), steps)
    beyond = np.arange(len(rows)) - np.repeat(np.cumsum(steps) - steps, steps)
    return code[rows], bins[rows] + beyond, values[0][rows], values[1][rows]


def _so_far(found: Found, directions: Ints, until_ns: Ints) -> Ints:
    """Segments that each direction has sent again up to a time."""
    again = found.again
    order = np.lexsort((found.packets.t_ns[again.rows], again.directions))
    code, t_ns = again.directions[order], found.packets.t_ns[again.rows][order]
    first = int(found.packets.t_ns[0])
    span = int(found.packets.t_ns[-1]) - first + 2 * BIN_NS
    if span > np.iinfo(np.int64).max // (len(found.packets) + 1):
        raise NotReadable("the capture spans too long a time\n  hint: its times are wrong")
    keys = code * span + (t_ns - first)
    summed = np.concatenate([[0], np.cumsum(again.values[order])])
    begins = np.searchsorted(keys, directions * span, side="left")
    ends = np.searchsorted(keys, directions * span + np.minimum(until_ns - first, span - 1), side="right")
    return np.asarray(summed[ends] - summed[begins], dtype=np.int64)


def pings(table: pd.DataFrame, found: Found, start_ns: int) -> tuple[pd.DataFrame, list[str]]:
    """The pings that the asking host captured, and what is said of the others."""
    echoes = passive.pings(table, start_ns)
    if not len(echoes):
        return echoes, []
    where = pings_seen_whole(table)
    hosts = tap_hosts(found)
    ends = echoes["ping"].str.removeprefix("ping ").str.rsplit(" ", n=1).str[0]
    told, kept = [], []
    for name in ends.unique():
        source, _, target = str(name).partition(" > ")
        tap = where.get(name, Tap.UNKNOWN)
        # What flows with data tell of the place counts more than the TTL, which is whole on the host's whole network.
        if hosts and tap in (Tap.UNKNOWN, Tap.SENDER):
            tap = Tap.SENDER if source in hosts else Tap.RECEIVER if target in hosts else Tap.MIDDLE
        if found.forwards:
            tap = Tap.MIDDLE
        if tap in (Tap.SENDER, Tap.UNKNOWN):
            kept.append(name)
        else:
            place = "at the host that answers" if tap is Tap.RECEIVER else tap
            told.append(
                f"the ping {name} is left out: the capture was made {place}, and does not see the queues before it; "
                f"capture at {source}"
            )
    return echoes[ends.isin(kept)].reset_index(drop=True), told


def tap_hosts(found: Found) -> set[str]:
    """The hosts at which the capture was made, as far as flows with data tell."""
    hosts = set()
    for each in np.flatnonzero(found.totals > 0).tolist():
        tap = found.positions.taps[each]
        source, _, target = found.packets.names[each].partition(" > ")
        if tap is Tap.SENDER:
            hosts.add(host_of(source))
        elif tap is Tap.RECEIVER:
            hosts.add(host_of(target.partition(" ")[0]))
    return hosts
