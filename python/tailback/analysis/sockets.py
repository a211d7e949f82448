"""Samples of sockets: at instants of time, and at ACKs; what held their data; how much of it they sent again.

With `measure.tcp_info: ack` the table `tcp_info` has a row for each ACK besides those of each interval. A value that is
to hold over time counts those of the intervals only: many ACKs arrive while the queue is short, few while a flow waits.

Sources: `tcp_info` as in [linux-6.12 tcp.h struct tcp_info]; segments and retransmissions as `tcpEStatsPerfDataSegsOut`
and `tcpEStatsPerfSegsRetrans` [rfc4898].
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis.groups import grouped
from tailback.analysis.metrics import exchanged, grown
from tailback.analysis.sharing import lives
from tailback.analysis.table import Columns, Table
from tailback.analysis.window import Window

PERCENT = 100.0

HELD: Mapping[str, str] = {
    "cwnd": "held_cwnd",
    "pacing": "held_pacing",
    "receive_window": "held_rwnd",
    "send_buffer": "held_sndbuf",
    "small_queue": "held_small_queue",
    "no_data": "held_no_data",
}
"""The columns of the times for which data was held, by cause; they leave out Nagle, deferral and local drops."""

BY_KERNEL = ("busy_time", "rwnd_limited", "sndbuf_limited")
"""The columns of a kernel for it."""

NS_PER_US = 1000

LEAST = 0.01
"""Shares below it, in %, are left out: most flows are held by two or three causes."""

OTHER = "other"
NETWORK = "network"
HANDSHAKE = "handshake"
"""The cause of a connection that the peer has not answered, so that it has no round-trip time."""


class Sent(Struct, frozen=True):
    """Segments that a flow sent, or bytes."""

    again: int
    all: int

    @property
    def rate(self) -> float:
        """The share of those that were sent again, in %."""
        return PERCENT * self.again / self.all


def together(each: Iterable[Sent]) -> Sent:
    """Of several flows."""
    found = list(each)
    return Sent(sum(one.again for one in found), sum(one.all for one in found))


def at_intervals(tables: Mapping[str, Columns], bulk: Collection[str], interval_ns: int) -> Table:
    """The rows of `tcp_info` that were sampled at the end of an interval, and the one at the end of each flow of
    `bulk`, if it also has rows of ACKs: the table that it would be with `measure.tcp_info: interval`.
    """
    table = Table.of(tables["tcp_info"])
    return table.where(_is_periodic(table, lives(tables, bulk), interval_ns))


def at_acks(tables: Mapping[str, Columns], bulk: Collection[str], interval_ns: int) -> Table:
    """The rows of ACKs of such a table."""
    table = Table.of(tables["tcp_info"])
    return table.where(~_is_periodic(table, lives(tables, bulk), interval_ns))


def _is_periodic(table: Table, bulk: Mapping[str, Window], interval_ns: int) -> npt.NDArray[np.bool_]:
    words = table.words("flow")
    at, flows = table.t_ns, words.codes
    found = np.zeros(len(at), dtype=np.bool_)
    # The sample of an instant was due before the ACKs that arrive at it.
    on_time = np.flatnonzero(at % interval_ns == 0)
    _, firsts = np.unique(np.stack([flows[on_time], at[on_time]]), axis=1, return_index=True)
    found[on_time[firsts]] = True
    # The last place is that of the code −1.
    ends = np.array([*(bulk[flow].end_ns if flow in bulk else -1 for flow in words.known), -1])
    # One that has ended was sampled when everything was acknowledged; ACKs of its end may follow.
    in_life = np.flatnonzero(at <= ends[flows])
    _, lasts = np.unique(flows[in_life][::-1], return_index=True)
    found[in_life[len(in_life) - 1 - lasts]] = True
    return found


def retransmission_rates(tcp_info: Columns, window: Window, exchanges: Columns | None = None) -> "dict[str, Sent]":
    """Retransmission rate in %: segments retransmitted in the window (`tcpi_total_retrans`), divided by the segments
    with data that were sent in it, retransmissions included (`tcpi_data_segs_out`), by the senders of bulk data and by
    both ends of requests, pages and videos. `total` is that of all flows together, `flows` has each of them; a flow
    that sent nothing is absent. A connection is counted to its end, however short it is. Of results without
    `data_segs_out` it is that of the bytes of bulk data (`tcpi_bytes_retrans`, `tcpi_bytes_sent`).
    """
    table = Table.of(tcp_info)
    again, sent = ("total_retrans", "data_segs_out") if "data_segs_out" in table else ("bytes_retrans", "bytes_sent")
    repeated, counts = (grown(table, "flow", counter, window) for counter in (again, sent))
    found = {flow: Sent(repeated.get(flow, 0), count) for flow, count in counts.items()}
    found |= {flow: Sent(*each) for flow, each in exchanged(exchanges, window).items()}
    return {flow: each for flow, each in found.items() if each.all > 0}


def held(tcp_info: Columns, open_for: Mapping[str, Window], window: Window) -> dict[str, dict[str, float]]:
    """What held the data of each TCP flow back: the shares in % of the time for which it was open in the window.
    `cwnd`, `pacing`, `receive_window`, `send_buffer` (all that fits into it was sent and is not acknowledged),
    `small_queue`, `no_data` (the application wrote nothing more), `handshake` (the peer never answered), and `other`
    (Nagle, deferral of trains, a local drop). A cause counts from when the send gate refused for it until it first
    refused for another one; they add up to 100.

    A kernel tells less: `send_buffer`, `receive_window`, `no_data` (nothing to send and nothing unacknowledged), and
    for the rest `network`: cwnd, pacing, and an application that writes too slowly to keep the path busy. Tables have a
    column for what holds a flow for more than half of its time and is neither cwnd nor pacing.
    """
    table = Table.of(tcp_info)
    theirs = table.where(table.words("flow").among(open_for))
    if all(column in table for column in HELD.values()):
        return _held(theirs, tuple(HELD.values()), open_for, window)
    if all(column in table for column in BY_KERNEL):
        return _held(theirs, BY_KERNEL, open_for, window)
    return {}


def _held(
    table: Table, columns: Sequence[str], open_for: Mapping[str, Window], window: Window
) -> dict[str, dict[str, float]]:
    before = table.between(-1, window.end_ns + 1)
    names = grouped(before.words("flow"))
    at = names.split(before.t_ns)
    counted = [names.split(before.numbers(column)) for column in columns]
    answered = names.split(_answered(before))
    found = {}
    for flow in names.names:
        ends = at[flow]
        edges = (window.start_ns, min(window.end_ns, open_for[flow].end_ns))
        first, last = (int(place) - 1 for place in np.searchsorted(ends, edges, side="right"))
        # Without a sample before the window it began later, and was held by nothing until then.
        from_ns = int(ends[first]) if first >= 0 else open_for[flow].start_ns
        lasted_us = float(ends[last] - from_ns) / NS_PER_US if last >= 0 else 0.0
        if lasted_us > 0:
            spent = [float(each[flow][last] - (each[flow][first] if first >= 0 else 0)) for each in counted]
            split = _by_clock(spent, lasted_us) if columns == BY_KERNEL else _by_cause(spent, lasted_us)
            if not answered[flow][last]:
                split = {HANDSHAKE: split.pop("no_data"), **split}
            shares = {cause: PERCENT * time / lasted_us for cause, time in split.items()}
            found[flow] = {cause: share for cause, share in shares.items() if share >= LEAST}
    return found


def _answered(table: Table) -> npt.NDArray[np.bool_]:
    """Of each sample, whether the peer had answered: its answer to the handshake gives a round-trip time."""
    return ~np.isnan(table.numbers("rtt")) if "rtt" in table else np.ones(len(table), dtype=np.bool_)


class HeldInBins(Struct, frozen=True):
    """What held a flow back over time."""

    ends_ns: npt.NDArray[np.int64]
    """The ends of the bins."""
    shares: Mapping[str, npt.NDArray[np.float64]]
    """The share of each cause in each bin, in %."""


def held_in_bins(tcp_info: Columns, width_ns: int) -> dict[str, HeldInBins]:
    """What held each TCP flow back over time: the shares by cause in each bin, as `held` has them over the window.
    Left out are bins in which a flow has no sample, and its first.
    """
    table = Table.of(tcp_info)
    columns = next((each for each in (tuple(HELD.values()), BY_KERNEL) if all(name in table for name in each)), None)
    if columns is None:
        return {}
    names = grouped(table.words("flow"))
    at = names.split(table.t_ns)
    counted, answered = [names.split(table.numbers(column)) for column in columns], names.split(_answered(table))
    return {
        flow: _in_bins(at[flow], [each[flow] for each in counted], answered[flow], width_ns) for flow in names.names
    }


def _in_bins(
    at: npt.NDArray[np.int64],
    counters: Sequence[npt.NDArray[np.float64]],
    answered: npt.NDArray[np.bool_],
    width_ns: int,
) -> HeldInBins:
    bins = -(-at // width_ns)
    lasts = np.flatnonzero(np.append(np.diff(bins) > 0, True))
    lasted = np.diff(at[lasts]) / NS_PER_US
    spent = [np.diff(each[lasts]) for each in counters]
    if len(counters) == len(BY_KERNEL):
        busy, by_window, by_buffer = spent
        rest = {NETWORK: np.maximum(0.0, busy - by_window - by_buffer), "no_data": np.maximum(0.0, lasted - busy)}
        split = {"receive_window": by_window, "send_buffer": by_buffer, **rest}
    else:
        other = lasted - np.sum(spent, axis=0)
        split = {**dict(zip(HELD, spent, strict=True)), OTHER: np.maximum(0.0, other)}
        split["no_data"] = split["no_data"] + np.minimum(0.0, other)
    if not (known := answered[lasts][1:]).all():
        idle = split["no_data"]
        split |= {HANDSHAKE: np.where(known, 0.0, idle), "no_data": np.where(known, idle, 0.0)}
    return HeldInBins(bins[lasts][1:] * width_ns, {cause: PERCENT * each / lasted for cause, each in split.items()})


def _by_cause(spent: Sequence[float], lasted: float) -> dict[str, float]:
    times = dict(zip(HELD, spent, strict=True))
    # Before it began, it had no data either.
    rest = lasted - sum(spent)
    times["no_data"] += min(0.0, rest)
    return {**times, OTHER: max(0.0, rest)}


def _by_clock(spent: Sequence[float], lasted: float) -> dict[str, float]:
    busy, by_window, by_buffer = spent
    rest = {NETWORK: max(0.0, busy - by_window - by_buffer), "no_data": max(0.0, lasted - busy)}
    return {"receive_window": by_window, "send_buffer": by_buffer, **rest}
