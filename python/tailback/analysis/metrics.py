"""The metrics, one function each: definition, unit, source.

Sources: goodput and fairness [rfc5166 §2.1, §2.3]; Jain's index [jain1984]; RTT and cwnd as reported by the sending
socket, `tcpi_rtt` (smoothed) and `tcpi_snd_cwnd` [linux-6.12 tcp.h struct tcp_info]; ping as printed by [iputils ping].
Percentiles interpolate linearly between order statistics (type 7 of Hyndman and Fan 1996).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis.groups import grouped, numbers
from tailback.analysis.rows import records
from tailback.analysis.window import NANOSECONDS, Window, nanoseconds, until

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)

BITS = 8
MEGA = 1e6
MICROSECONDS_PER_MS = 1e3

DECIMALS = 6
"""Decimal places of reported values (1 bit/s, 1 ns), few enough to hide rounding differences between machines."""

Samples = npt.NDArray[np.float64]


def goodput(flows: pd.DataFrame, window: Window, bin_ns: int) -> dict[str, float]:
    """Goodput of each flow that delivered data in the window: bytes that the receiving application read, divided by
    the length of the window, in Mbit/s. A bin that lies partly in the window counts in proportion.
    """
    received = flows["bytes"].to_numpy(dtype=np.float64) * window.share_of_bins(flows, bin_ns)
    totals = pd.Series(received).groupby(flows["flow"].to_numpy()).sum()
    return {str(flow): float(bytes_ * BITS / MEGA / window.seconds) for flow, bytes_ in totals.items()}


def throughput_bins(flows: pd.DataFrame, window: Window, width_ns: int) -> pd.DataFrame:
    """Goodput over time in Mbit/s: `t` (s, end of the bin), `flow`, `mbps`, in bins of `width_ns` from the start of the
    window.

    A bin without data of a flow is a row with 0. A bin that would extend beyond the window is left out.
    """
    edges = window.start_ns + width_ns * np.arange((window.end_ns - window.start_ns) // width_ns + 1)
    ends = nanoseconds(flows)
    names = flows["flow"].to_numpy()
    # A row that ends exactly at an edge belongs to the bin before the edge.
    place = np.searchsorted(edges, ends, side="left") - 1
    known = (place >= 0) & (place < len(edges) - 1)
    received = pd.Series(flows["bytes"].to_numpy(dtype=np.float64)[known])
    totals = received.groupby([names[known], place[known]]).sum()
    every = pd.MultiIndex.from_product([sorted(set(names)), range(len(edges) - 1)], names=["flow", "bin"])
    mbps = totals.reindex(every, fill_value=0.0) * BITS * NANOSECONDS / width_ns / MEGA
    table = mbps.rename("mbps").reset_index()
    table.insert(0, "t", edges[1:][table.pop("bin")] / NANOSECONDS)
    return table


def bin_width_ns(duration_ns: int, interval_ns: int) -> int:
    """The bins of a curve over a whole run: 1 s, or in short runs the whole sampling intervals in a twentieth of it."""
    return min(NANOSECONDS, max(1, duration_ns // 20 // interval_ns) * interval_ns)


def ping_samples(ping: pd.DataFrame, window: Window) -> Samples:
    """Round-trip times in ms of the echo requests that were sent in the window and answered."""
    return window.samples(ping)["rtt_ms"].dropna().to_numpy(dtype=np.float64)


def ping_samples_by_name(ping: pd.DataFrame, window: Window) -> dict[str, Samples]:
    """Round-trip times in ms of each ping by its name, if an experiment has several, as RRUL has."""
    answered = window.samples(ping).dropna(subset=["rtt_ms"])
    groups = answered.groupby("ping", sort=True, observed=True)["rtt_ms"]
    return {str(name): values.to_numpy(dtype=np.float64) for name, values in groups}


def tcp_rtt_samples(tcp_info: pd.DataFrame, window: Window) -> Samples:
    """Smoothed round-trip times in ms (`tcpi_rtt`) of the sending sockets, each time they were sampled in the window.

    A socket that has not measured an RTT yet has no value or 0, and does not count; the kernel's smallest value is 1
    µs.
    """
    rtt = window.samples(tcp_info)["rtt"].dropna().to_numpy(dtype=np.float64)
    return rtt[rtt > 0] / MICROSECONDS_PER_MS


def cwnd_samples(tcp_info: pd.DataFrame, window: Window) -> dict[str, Samples]:
    """Congestion windows in segments (`tcpi_snd_cwnd`) of each flow, each time it was sampled in the window."""
    inside = window.samples(tcp_info)
    windows = grouped(inside["flow"]).split(numbers(inside["snd_cwnd"]))
    return {flow: values[~np.isnan(values)] for flow, values in windows.items()}


def percentiles(samples: Samples) -> dict[str, float] | None:
    """n, mean, min, percentiles and max of `samples`, in their unit; `None` if there are none."""
    if len(samples) == 0:
        return None
    values = np.percentile(samples, PERCENTILES)
    return {
        "n": len(samples),
        "mean": rounded(float(np.mean(samples))),
        "min": rounded(np.min(samples)),
        **{f"p{share}": rounded(value) for share, value in zip(PERCENTILES, values, strict=True)},
        "max": rounded(np.max(samples)),
    }


def jain_index(shares: Sequence[float]) -> float | None:
    """Jain's fairness index (Σx)² / (n·Σx²) of the goodputs of all TCP flows, from 1/n (one flow has everything) to 1
    (all are equal), no unit. `None` if no flow delivered data. An upload and a download do not share a queue: with
    flows in both directions, a summary has the lower of the indexes of the two directions.
    """
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None


def retransmits(tcp_info: pd.DataFrame, window: Window) -> int:
    """Segments that all flows retransmitted in the window: the increase of `tcpi_total_retrans`, which starts at 0."""
    return _grown(tcp_info, window.end_ns) - _grown(tcp_info, window.start_ns)


UNKNOWN = "unknown"
LINK_LOSS = "link_loss"
"""The reason of drops of which only a counter is known."""

ACK_FILTERED = "ack_filtered"
"""The reason of ACKs that `cake ack-filter` removed because a later one says the same; the total leaves them out."""


def drops(events: pd.DataFrame, window: Window) -> dict[str, dict[str, int]]:
    """Packets dropped in the window, by device and reason. A backend without `events` (a kernel does not report single
    drops) has the counters of the root disciplines (`qdisc`), with the reason `unknown`, those of lossy links
    (`losses`), where `link_loss` is random loss, corruption and links that are down, and those of radios (`radios`):
    what mac80211 and the air dropped, with reasons.
    The total in tables leaves out `ack_filtered`, which the counters of a kernel include.
    """
    return by_reason(events, "drop", window)


def marks_by_reason(events: pd.DataFrame, window: Window) -> dict[str, dict[str, int]]:
    """Packets marked CE in the window, by device and reason."""
    return by_reason(events, "mark", window)


def by_reason(events: pd.DataFrame, what: str, window: Window) -> dict[str, dict[str, int]]:
    """Number of events `what` in the window, by device and reason."""
    inside = window.samples(events)
    happened = inside[(inside["what"] == what).to_numpy(dtype=bool)]
    reasons = happened["reason"].fillna(UNKNOWN)
    nested: dict[str, dict[str, int]] = {}
    for (device, reason), count in sorted(Counter(zip(happened["where"], reasons, strict=True)).items()):
        nested.setdefault(str(device), {})[str(reason)] = count
    return nested


def recoveries(events: pd.DataFrame, window: Window) -> dict[str, int]:
    """Number of events of loss recovery in the window, by kind: `rto` (the retransmission timer fired), `tlp`
    (a tail loss probe was sent), `undo` (a reduction of cwnd was undone).
    """
    kinds = window.samples(events)["what"].value_counts()
    return {kind: int(kinds[kind]) for kind in ("rto", "tlp", "undo") if kind in kinds}


def drops_by_counters(qdisc: pd.DataFrame, window: Window) -> dict[str, dict[str, int]]:
    """Drops in the window by device, from the counters of the disciplines, which do not give reasons."""
    return {device: {UNKNOWN: count} for device, count in counted(qdisc, "dropped", window).items()}


def losses_by_counters(losses: pd.DataFrame, window: Window) -> dict[str, dict[str, int]]:
    """Packets that links lost in the window, by the device that sent them."""
    grown = [
        losses[nanoseconds(losses) <= edge].groupby("device")["lost"].max() for edge in (window.start_ns, window.end_ns)
    ]
    lost = grown[1].sub(grown[0], fill_value=0)
    return {str(device): {LINK_LOSS: int(count)} for device, count in lost.items() if count}


def counted_at_radios(radios: pd.DataFrame, what: str, window: Window) -> dict[str, dict[str, int]]:
    """Drops or marks (`what`) at radios in the window, by device and reason."""
    these = radios[(radios["what"] == what).to_numpy(dtype=bool)]
    at = nanoseconds(these)
    grown = [
        these[at <= edge].groupby(["device", "reason"])["count"].max() for edge in (window.start_ns, window.end_ns)
    ]
    nested: dict[str, dict[str, int]] = {}
    for row in records(grown[1].sub(grown[0], fill_value=0).reset_index()):
        if row["count"]:
            nested.setdefault(str(row["device"]), {})[str(row["reason"])] = int(row["count"])
    return nested


def marks_by_counters(qdisc: pd.DataFrame, window: Window) -> int | None:
    """Marks in the window, from the counters of the disciplines; `None` if a discipline does not report them."""
    return None if qdisc["marked"].isna().any() else sum(counted(qdisc, "marked", window).values())


def counted(qdisc: pd.DataFrame, counter: str, window: Window) -> dict[str, int]:
    """Growth of `dropped` or `marked` in the window, by device. A root also counts drops of its children; a mark counts
    only in the discipline that made it.
    """
    counts = np.full(len(qdisc), counter == "marked") | (qdisc["depth"] == 0).to_numpy(dtype=bool)
    devices = grouped(qdisc["device"])
    at = devices.split(np.where(counts, nanoseconds(qdisc), np.nan))
    values = devices.split(numbers(qdisc[counter]))
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
    before = at <= until_ns
    return float(np.nansum(values[at == at[before].max()])) if before.any() else 0.0


def marks(events: pd.DataFrame, window: Window) -> int:
    """Packets marked CE in the window, on all devices; without `events`, by the counters of disciplines and radios."""
    return int((window.samples(events)["what"] == "mark").sum())


def rounded(value: float) -> float:
    """`value` rounded for reports."""
    return round(float(value), DECIMALS)


def rounded_each(values: Mapping[str, float]) -> dict[str, float]:
    """`values` rounded for reports."""
    return {name: rounded(value) for name, value in values.items()}


def _grown(tcp_info: pd.DataFrame, until_ns: int) -> int:
    """`total_retrans` of all flows at their last sample up to `until_ns`."""
    before = until(tcp_info, until_ns)
    # The maximum is the last value, because the counter never decreases.
    return int(np.nansum(grouped(before["flow"]).maxima(numbers(before["total_retrans"]))))
