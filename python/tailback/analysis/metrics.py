"""The metrics, one function each: definition, unit, source.

Sources: goodput and fairness [rfc5166 §2.1, §2.3]; Jain's index [jain1984]; RTT and cwnd as reported by the sending
socket, `tcpi_rtt` (smoothed) and `tcpi_snd_cwnd` [linux-6.12 tcp.h struct tcp_info]; ping as printed by [iputils ping].
Percentiles interpolate linearly between order statistics (type 7 of Hyndman and Fan 1996).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from tailback.analysis.groups import grouped
from tailback.analysis.table import Columns, Table, frame
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds, until

if TYPE_CHECKING:
    import pandas as pd

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)

_OF_SAMPLES = ("mean", "min", *(f"p{percent}" for percent in PERCENTILES), "max")
"""The keys of `percentiles` besides `n`; one word for all flows, of which there may be 100,000."""

BITS = 8
MEGA = 1e6
MICROSECONDS_PER_MS = 1e3

DECIMALS = 6
"""Decimal places of reported values (1 bit/s, 1 ns), few enough to hide rounding differences between machines."""

Samples = npt.NDArray[np.float64]

PATIENCE_MS = 1000.0
"""An echo request without an answer for this long, and for the longest round-trip time, is lost."""


def goodput(flows: Columns, window: Window, bin_ns: int, lives: Mapping[str, Window] | None = None) -> dict[str, float]:
    """Goodput of each flow that delivered data in the window: bytes that the receiving application read, divided by
    the length of the window, in Mbit/s. A bin that lies partly in the window counts in proportion; of a flow with a
    size, its time in the bin does. In `flows`, the bytes of a flow with a size are divided by the time for which it was
    active in the window, from `connect()` to the acknowledgement of its last byte; in `total`, `up` and `down`, by the
    length of the window, as those of all others. These sums are what the links carried, and are therefore less than the
    sum of `flows` if a flow ended.
    """
    table = Table.of(flows)
    shares = window.share_of_bins(table, bin_ns)
    if lives and ((shares > 0) & (shares < 1)).any():
        shares = _shares_of_lives(table, window, bin_ns, lives)
    received = table.numbers("bytes") * shares
    totals = grouped(table.words("flow")).sums(received)
    return {flow: bytes_ * BITS / MEGA / window.seconds for flow, bytes_ in totals.items()}


def _shares_of_lives(table: Table, window: Window, bin_ns: int, lives: Mapping[str, Window]) -> Samples:
    """The fraction of each row's bin that lies in the window; of a flow in `lives`, of the part of the bin in which it
    lived.
    """
    words = table.words("flow")
    # The last place is that of rows without a name.
    of = [*(lives.get(name) for name in words.known), None]
    first = np.array([0 if life is None else life.start_ns for life in of])[words.codes]
    last = np.array([np.iinfo(np.int64).max if life is None else life.end_ns for life in of])[words.codes]
    ends = table.t_ns
    begun, ended = np.maximum(ends - bin_ns, first), np.minimum(ends, last)
    inside = np.minimum(ended, window.end_ns) - np.maximum(begun, window.start_ns)
    lived = ended - begun
    plain = window.share_of_bins(table, bin_ns)
    return np.where(lived > 0, np.clip(inside, 0, None) / np.maximum(lived, 1), plain)


def throughput_bins(flows: Columns, window: Window, width_ns: int) -> "pd.DataFrame":
    """Goodput over time in Mbit/s: `t` (s, end of the bin), `flow`, `mbps`, in bins of `width_ns` from the start of the
    window.

    A bin without data of a flow is a row with 0. A bin that would extend beyond the window is left out.
    """
    names, ends, mbps = _in_bins(flows, window, width_ns)
    flow = np.repeat(np.array(names, dtype=object), len(ends))
    return frame({"t": np.tile(ends, len(names)), "flow": flow, "mbps": mbps.ravel()})


def total_bins(flows: Columns, window: Window, width_ns: int) -> tuple[Samples, Samples]:
    """The ends (s) of the bins of `throughput_bins`, and the goodput of all flows together in each; empty without
    flows. For many runs: it needs no frame.
    """
    names, ends, mbps = _in_bins(flows, window, width_ns)
    return (ends, mbps.sum(axis=0)) if names else (ends[:0], ends[:0])


def _in_bins(flows: Columns, window: Window, width_ns: int) -> tuple[list[str], Samples, Samples]:
    """The names of the flows, the ends (s) of the bins, and the goodput (Mbit/s) by flow and bin."""
    table = Table.of(flows)
    edges = window.start_ns + width_ns * np.arange((window.end_ns - window.start_ns) // width_ns + 1)
    bins = len(edges) - 1
    # A row that ends exactly at an edge belongs to the bin before the edge.
    places = np.searchsorted(edges, table.t_ns, side="left") - 1
    inside = (places >= 0) & (places < bins)
    flow = table.words("flow")
    names, order = flow.present(), flow.ranks()
    inside &= order >= 0
    totals = np.bincount(order[inside] * bins + places[inside], table.numbers("bytes")[inside], len(names) * bins)
    mbps = totals * BITS * NANOSECONDS / width_ns / MEGA
    return names, edges[1:] / NANOSECONDS, mbps.reshape(len(names), bins)


def bin_width_ns(duration_ns: int, interval_ns: int) -> int:
    """The bins of a curve over a whole run: 1 s, or in short runs the whole sampling intervals in a twentieth of it."""
    return min(NANOSECONDS, max(1, duration_ns // 20 // interval_ns) * interval_ns)


def ping_samples(ping: Columns, window: Window) -> Samples:
    """Round-trip times in ms of the echo requests that were sent in the window and answered."""
    return known(window.samples(ping).numbers("rtt_ms"))


def ping_loss(ping: Columns, window: Window) -> float | None:
    """The share in % of the echo requests of the window that were not answered. Those of its last second are left out,
    or of as long as the longest round trip if that is more: they may be under way. `None` if no other was sent.
    """
    inside = window.samples(ping)
    rtts = inside.numbers("rtt_ms")
    wait_ms = max(PATIENCE_MS, known(rtts).max(initial=0.0))
    sent = rtts[nanoseconds(inside) < window.end_ns - wait_ms * 1e6]
    return float(100.0 * np.isnan(sent).mean()) if len(sent) else None


def ping_samples_by_name(ping: Columns, window: Window) -> dict[str, Samples]:
    """Round-trip times in ms of each ping by its name, if an experiment has several, as RRUL has."""
    answered = window.samples(ping).known("rtt_ms")
    return grouped(answered.words("ping")).split(answered.numbers("rtt_ms"))


def tcp_rtt_samples(tcp_info: Columns, window: Window) -> Samples:
    """Smoothed round-trip times in ms (`tcpi_rtt`) of the sending sockets of `tcp` entries, each time they were sampled
    in the window.

    A socket that has not measured an RTT yet has no value or 0, and does not count; the kernel's smallest value is 1
    µs.
    """
    rtt = window.samples(tcp_info).numbers("rtt")
    return rtt[rtt > 0] / MICROSECONDS_PER_MS


def cwnd_samples(tcp_info: Columns, window: Window) -> dict[str, Samples]:
    """Congestion windows in segments (`tcpi_snd_cwnd`) of each flow of a `tcp` entry, each time it was sampled in the
    window. The column `cwnd p50` of tables is the median over the flows of the median of each.
    """
    inside = window.samples(tcp_info)
    windows = grouped(inside.words("flow")).split(inside.numbers("snd_cwnd"))
    return {flow: known(values) for flow, values in windows.items()}


def known(values: Samples) -> Samples:
    """The values that are known, that is, not NaN."""
    return values[~np.isnan(values)]


def quantiles(samples: Samples, shares: Sequence[float]) -> Samples:
    """As `np.percentile`, to the bit, in a quarter of the time: a summary has ten of them, each of few samples."""
    return np.array(_of_ordered(np.sort(samples), shares))


def _of_ordered(ordered: Samples, shares: Sequence[float]) -> list[float]:
    """The quantiles of samples in ascending order."""
    last = len(ordered) - 1
    if math.isnan(ordered[last]):
        return [math.nan] * len(shares)
    found = []
    for share in shares:
        place = share / 100 * last
        below = int(place)
        part = place - below
        low, high = ordered.item(below), ordered.item(min(below + 1, last))
        # From the nearer of the two samples, as numpy does, so that rounding is the same.
        found.append(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))
    return found


def percentiles(samples: Samples) -> dict[str, float] | None:
    """n, mean, min, percentiles and max of `samples`, in their unit; `None` if there are none."""
    if len(samples) == 0:
        return None
    if len(samples) == 1:
        return {"n": 1, **dict.fromkeys(_OF_SAMPLES, rounded(samples.item(0)))}
    ordered = np.sort(samples)
    # The mean is of the samples as they are: in another order, the sum may differ in its last bit.
    mean = samples.sum() / len(samples)
    found = (mean, samples.min(), *_of_ordered(ordered, PERCENTILES), ordered[-1])
    return {"n": len(samples), **dict(zip(_OF_SAMPLES, map(rounded, found), strict=True))}


INTERVALS = "intervals"
"""The number of means of which percentiles are, where single packets are not known."""


class Alike(Struct, frozen=True):
    """Samples of which those that are alike were counted together: for each such group how many it has, their mean, and
    the smallest and the largest of them.
    """

    counts: Samples
    means: Samples
    least: Samples
    most: Samples

    @staticmethod
    def each(samples: Samples) -> "Alike":
        """Samples that are known one by one."""
        return Alike(np.ones(len(samples)), samples, samples, samples)

    @property
    def mean(self) -> float:
        """The mean of all samples."""
        return float((self.counts * self.means).sum() / self.counts.sum())

    def percentiles(self) -> dict[str, float] | None:
        """As `percentiles`; each sample of a group counts as the mean of the group."""
        if not len(self.counts):
            return None
        order = np.argsort(self.means, kind="stable")
        last_of, values = np.cumsum(self.counts[order]) - 1, self.means[order]
        places = np.array(PERCENTILES) / 100 * last_of[-1]
        below = np.floor(places)
        # Groups that lie partly in the window have fractions: the place above the last one is the last.
        ends = (np.minimum(np.searchsorted(last_of, at), len(values) - 1) for at in (below, np.ceil(places)))
        low, high = (values[place] for place in ends)
        found = (self.mean, self.least.min(), *(low + (high - low) * (places - below)), self.most.max())
        return {"n": round(float(self.counts.sum())), **dict(zip(_OF_SAMPLES, map(rounded, found), strict=True))}


def jain_index(shares: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² / (n·Σx²) of the goodputs of the TCP flows that compete, from 1/n (one flow has
    everything) to 1 (all are equal), no unit. Flows compete if their data shares what may be their bottleneck: a
    direction of a link to which they can bring more than its rate, or the channel of a Wi-Fi cell; directly, or by way
    of other flows. An upload and a download over a full-duplex link do not. With several groups of competing flows, a
    summary has the lowest of their indexes. Flows with a size, or whose application has no data at times, count only if
    all flows of a group are alike; `jain_without` has the entries of the others, and the table after a run names
    them. `None` if no two flows remain that compete, or none of them delivered data.
    """
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


def retransmits(tcp_info: Columns, window: Window, exchanges: Columns | None = None) -> int:
    """Segments that all flows retransmitted in the window: the increase of `tcpi_total_retrans`, which starts at 0. The
    flows are the senders of bulk data and both ends of requests, pages and videos. A connection is counted to its end,
    however short it is.
    """
    of_bulk = sum(grown(tcp_info, "flow", "total_retrans", window).values())
    return of_bulk + sum(again for again, _ in exchanged(exchanges, window).values())


def exchanged(exchanges: Columns | None, window: Window) -> dict[str, tuple[int, int]]:
    """Segments that both ends of each of the requests, pages and videos retransmitted in the window, and all that they
    sent.
    """
    if exchanges is None:
        return {}
    table, found = Table.of(exchanges), dict[str, tuple[int, int]]()
    for end in ("client", "server"):
        theirs = table.where(table.words("end").among([end]))
        again, sent = (grown(theirs, "flow", counter, window) for counter in ("total_retrans", "data_segs_out"))
        for flow, count in sent.items():
            before = found.get(flow, (0, 0))
            found[flow] = (before[0] + again.get(flow, 0), before[1] + count)
    return found


UNKNOWN = "unknown"
AQM = "aqm"
"""The reason of what the law of a queue dropped or marked."""
LINK_LOSS = "link_loss"
"""The reason of drops of which only a counter is known."""

ACK_FILTERED = "ack_filtered"
"""The reason of ACKs that `cake ack-filter` removed because a later one says the same; the total leaves them out."""


def drops(events: Columns, window: Window) -> dict[str, dict[str, int]]:
    """Packets dropped in the window, by device and reason. A backend without `events` (a kernel does not report single
    drops) has the counters of the root disciplines (`qdisc`), with the reason `unknown`, those of lossy links
    (`losses`), where `link_loss` is random loss, corruption and links that are down, and `policed` what exceeded the
    rate of a policer, and those of radios (`radios`): what mac80211 and the air dropped, with reasons.
    The total in tables leaves out `ack_filtered`, which the counters of a kernel include.
    """
    return by_reason(events, "drop", window)


def marks_by_discipline(qdisc: Columns, window: Window) -> dict[str, dict[str, int]]:
    """Packets marked CE in the window, by device and the discipline that marked them. The queues of a radio, which
    belong to no discipline, have the reason `aqm`. A discipline of a kernel that does not report marks is absent.
    """
    table = Table.of(qdisc)
    kinds = table.words("kind")
    found: dict[str, dict[str, int]] = {}
    for kind in kinds.present():
        for device, marked in counted(table.where(kinds.are(kind)), "marked", window).items():
            found.setdefault(device, {})[kind] = marked
    return found


def by_reason(events: Columns, what: str, window: Window) -> dict[str, dict[str, int]]:
    """Number of events `what` in the window, by device and reason."""
    inside = window.samples(events)
    happened = inside.where(inside.words("what").are(what))
    if not len(happened):
        return {}
    counts = Counter(zip(happened.words("where").plain(), happened.words("reason").plain(), strict=True))
    nested: dict[str, dict[str, int]] = {}
    for device, reason, count in sorted((str(place), why or UNKNOWN, count) for (place, why), count in counts.items()):
        nested.setdefault(device, {})[reason] = count
    return nested


def recoveries(events: Columns, window: Window) -> dict[str, int]:
    """Number of events of loss recovery in the window, by kind: `rto` (the retransmission timer fired), `tlp`
    (a tail loss probe was sent), `undo` (a reduction of cwnd was undone).
    """
    what = window.samples(events).words("what")
    counts = {kind: int(what.are(kind).sum()) for kind in ("rto", "tlp", "undo")}
    return {kind: count for kind, count in counts.items() if count}


def drops_by_counters(qdisc: Columns, window: Window) -> dict[str, dict[str, int]]:
    """Drops in the window by device, from the counters of the disciplines, which do not give reasons."""
    return {device: {UNKNOWN: count} for device, count in counted(qdisc, "dropped", window).items()}


def losses_by_counters(losses: Columns, window: Window) -> dict[str, dict[str, int]]:
    """Packets that links lost in the window, by the device that sent them and why."""
    table = Table.of(losses)
    if "reason" not in table:
        return {device: {LINK_LOSS: lost} for device, lost in grown(table, "device", "lost", window).items() if lost}
    reasons, found = table.words("reason"), dict[str, dict[str, int]]()
    for why in reasons.present():
        for device, lost in grown(table.where(reasons.are(why)), "device", "lost", window).items():
            if lost:
                found.setdefault(device, {})[why] = lost
    return found


def counted_at_radios(radios: Columns, what: str, window: Window) -> dict[str, dict[str, int]]:
    """Drops or marks (`what`) at radios in the window, by device and reason."""
    table = Table.of(radios)
    these = table.where(table.words("what").are(what))
    reasons = these.words("reason")
    increases = {why: grown(these.where(reasons.are(why)), "device", "count", window) for why in reasons.present()}
    devices = {why: {device: count for device, count in each.items() if count} for why, each in increases.items()}
    return {
        device: {why: each[device] for why, each in devices.items() if device in each}
        for device in sorted({device for each in devices.values() for device in each})
    }


def marks_by_counters(qdisc: Columns, window: Window) -> int | None:
    """Marks in the window, from the counters of the disciplines; `None` if a discipline does not report them."""
    unknown = np.isnan(Table.of(qdisc).numbers("marked")).any()
    return None if unknown else sum(counted(qdisc, "marked", window).values())


def counted(qdisc: Columns, counter: str, window: Window) -> dict[str, int]:
    """Growth of `dropped` or `marked` in the window, by device. A root also counts drops of its children; a mark counts
    only in the discipline that made it.
    """
    table = Table.of(qdisc)
    counts = table if counter == "marked" else table.where(table.numbers("depth") == 0)
    devices = grouped(counts.words("device"))
    at, values = devices.split(counts.t_ns.astype(np.float64)), devices.split(counts.numbers(counter))
    found = {}
    for device in devices.names:
        begun, ended = (_last(at[device], values[device], edge) for edge in (window.start_ns, window.end_ns))
        if ended != begun:
            found[device] = int(ended - begun)
    return found


def _last(at: Samples, values: Samples, until_ns: int) -> float:
    """A counter at its last sample up to `until_ns`, 0 if there is none: the sum over the disciplines that were sampled
    then, of which several may have the same depth.
    """
    before = at[at <= until_ns]
    return float(known(values[at == before.max()]).sum()) if len(before) else 0.0


def marks(events: Columns, window: Window) -> int:
    """Packets marked CE in the window, on all devices; without `events`, by the counters of disciplines and radios."""
    return int(window.samples(events).words("what").are("mark").sum())


def rounded(value: float) -> float:
    """`value` rounded for reports."""
    return round(float(value), DECIMALS)


def rounded_each(values: Mapping[str, float]) -> dict[str, float]:
    """`values` rounded for reports."""
    return {name: rounded(value) for name, value in values.items()}


def grown(table: Columns, by: str, counter: str, window: Window) -> dict[str, int]:
    """The growth of `counter` in the window, for each name in the column `by`."""
    begun, ended = (_reached(table, by, counter, edge) for edge in (window.start_ns, window.end_ns))
    return {name: int(count - begun.get(name, 0)) for name, count in ended.items()}


def _reached(table: Columns, by: str, counter: str, until_ns: int) -> dict[str, float]:
    before = until(table, until_ns).known(counter)
    # The maximum is the last value, because a counter never decreases.
    return grouped(before.words(by)).maxima(before.numbers(counter))


def without_data(goodputs: Mapping[str, float], lasting: Collection[str]) -> list[str]:
    """The names of the flows without a size that send during half of the window or more, and of which the receiver read
    nothing in it.
    """
    return [flow for flow in lasting if goodputs.get(flow) == 0]
