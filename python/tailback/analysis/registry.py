"""The registry of metrics, one row each, in the order of `summary.json`.

All code that enumerates metrics uses these rows: the summary of a run, the table after it, bounds and questions,
comparisons and their tolerances, `repeat: until`, axes of figures, `tailback list metric` and `docs/metrics.md`.
"""

import statistics
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import TypeVar

import numpy as np

from tailback.analysis import (
    browsing,
    media,
    metrics,
    passive,
    queues,
    rates,
    responsiveness,
    sharing,
    sockets,
    steadiness,
    udp,
    values,
    warmup,
    watching,
    wifi,
)
from tailback.analysis.metric import Column, Heading, Metric, Number, Read, Summary, at, of_each, steps, tail
from tailback.on_demand import by_name

Row = TypeVar("Row")


class View(Mapping[str, Row]):
    """A part of the registry by name, evaluated at each access."""

    def __init__(self, rows: Callable[[], Mapping[str, Row]]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Row:
        return self._rows()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    def items(self) -> ItemsView[str, Row]:
        """Names and rows, evaluated once for all of them."""
        return self._rows().items()

    def values(self) -> ValuesView[Row]:
        """The rows, evaluated once for all of them."""
        return self._rows().values()


def _cwnd(summary: Summary) -> float | None:
    """Median over the flows of each flow's median window."""
    flows = summary.get("cwnd_segments")
    return float(statistics.median(flow["p50"] for flow in flows.values())) if flows else None


def _cwnd_mean(summary: Summary) -> float | None:
    """Mean over the flows of each flow's mean window."""
    flows = summary.get("cwnd_segments")
    return float(np.mean([flow["mean"] for flow in flows.values()])) if flows else None


def _drops(summary: Summary) -> float | None:
    """Packets dropped on all devices for any reason, without the ACKs that cake's filter removed on purpose."""
    devices = summary.get("drops")
    if devices is None:
        return None
    filtered = sum(reasons.get(metrics.ACK_FILTERED, 0) for reasons in devices.values())
    return float(sum(sum(reasons.values()) for reasons in devices.values()) - filtered)


def _worst(key: str, worst: Callable[[Iterable[float]], float]) -> Read:
    """Reads the worst of all devices, flows, or directions of calls and games."""

    def read(summary: Summary) -> float | None:
        directions = summary.get(key)
        return float(worst(directions.values())) if directions else None

    return read


def _of_videos(field: str) -> Read:
    """Reads the mean over all videos."""

    def read(summary: Summary) -> float | None:
        found = [each[field] for each in summary.get("video", {}).values() if field in each]
        return sum(found) / len(found) if found else None

    return read


HELD_BY: Mapping[str, str] = {
    "send_buffer": "send buffer",
    "receive_window": "receive window",
    "small_queue": "small queue",
    "no_data": "application",
    "handshake": "handshake",
}
"""Causes, besides cwnd and pacing, that may hold flows, and their words."""

MOSTLY = 50.0
"""A flow is held by what holds it for more than this share of its time, in %."""


def _held_by(cause: str, place: int) -> Number:
    """The share of its time for which a cause holds the flow that it holds longest; a column of tables if that is most
    of it in any run.
    """

    def read(summary: Summary) -> float | None:
        return max((each.get(cause, 0.0) for each in summary.get("held", {}).values()), default=None)

    title = f"held by {HELD_BY[cause]}"
    heading = Heading(place, decimals=0, needless=MOSTLY)
    return Number(title, f"held.{cause}", read, heading, bounds=(title,), label=title.capitalize())


# Tolerances: goodput 3 %, median and 90th percentile of TCP RTT 10 % or 0.5 ms, drops and retransmissions 25 %; counts
# below 50 vary too much by chance. The other metrics follow from these and are shown without a verdict.
# Counts come in bursts and are therefore compared by ranks (`differences`).
METRICS: dict[str, Metric] = by_name(
    (
        Metric(
            "goodput", "goodput_mbps", "Mbit/s", ("flows",), metrics.goodput, "[rfc5166 §2.1]", values.goodput,
            (
                Number(
                    "goodput", "goodput_mbps.total", heading=Heading(1), test="permutation",
                    bounds=("goodput", "goodput total", "throughput"),
                    label="Goodput",
                ),
                Number("goodput up", "goodput_mbps.up", bounds=("goodput up",), label="Goodput up"),
                Number("goodput down", "goodput_mbps.down", bounds=("goodput down",), label="Goodput down"),
            ),
            word="goodput", tolerance="3%", better="high",
            rank="network",
            form="mixed", apart=("flows", "groups", "shares"),
        ),
        Metric(
            "ping", "ping_ms", "ms", ("ping",), metrics.ping_samples, "[iputils ping]", values.ping,
            (
                Number("ping p50", "ping_ms.p50", heading=Heading(2), test="permutation", label="Median ping"),
                Number("ping p90", "ping_ms.p90", heading=Heading(3), test="permutation"),
                Number("ping p99", "ping_ms.p99", tail("ping_ms", "p99"), Heading(3.5), "permutation"),
            ),
            word="ping", sampled=("ping",), better="low",
            rank="network",
        ),
        Metric(
            "TCP RTT", "tcp_rtt_ms", "ms", ("tcp_info",), metrics.tcp_rtt_samples,
            "[linux-6.12 tcp.h struct tcp_info]", values.tcp_rtt,
            (
                Number("TCP RTT p50", "tcp_rtt_ms.p50", heading=Heading(4), test="permutation", label="Median TCP RTT"),
                Number("TCP RTT p90", "tcp_rtt_ms.p90", heading=Heading(5), test="permutation"),
                Number("TCP RTT p99", "tcp_rtt_ms.p99", tail("tcp_rtt_ms", "p99"), Heading(5.5), "permutation"),
            ),
            word="rtt", tolerance="10% or 0.5ms", sampled=("tcp rtt", "rtt"), better="low", sampling="instants",
            rank="tcp",
        ),
        Metric(
            "TCP RTT up", "tcp_rtt_up_ms", "ms", ("tcp_info",), values.tcp_rtt_up,
            "[linux-6.12 tcp.h struct tcp_info]", values.tcp_rtt_up,
            sampled=("tcp rtt up", "rtt up"), better="low", sampling="instants",
        ),
        Metric(
            "TCP RTT down", "tcp_rtt_down_ms", "ms", ("tcp_info",), values.tcp_rtt_down,
            "[linux-6.12 tcp.h struct tcp_info]", values.tcp_rtt_down,
            sampled=("tcp rtt down", "rtt down"), better="low", sampling="instants",
        ),
        Metric(
            "TCP RTT by ACK", "tcp_rtt_by_ack_ms", "ms", ("tcp_info",), values.tcp_rtt_by_ack,
            "[linux-6.12 tcp.h struct tcp_info]", values.tcp_rtt_by_ack,
            sampled=("tcp rtt by ack", "rtt by ack"), better="low",
        ),
        Metric(
            "congestion window", "cwnd_segments", "segments", ("tcp_info",), metrics.cwnd_samples,
            "[linux-6.12 tcp.h struct tcp_info]", values.cwnd,
            (
                Number("cwnd", "cwnd_segments.p50", _cwnd, heading=Heading(6, "cwnd p50")),
                Number("cwnd mean", "cwnd_segments.mean", _cwnd_mean, test="permutation"),
            ),
            word="cwnd", sampling="instants",
            form="of each", needed=("mean", "p50"),
        ),
        Metric(
            "congestion window by ACK", "cwnd_by_ack_segments", "segments", ("tcp_info",), values.cwnd_by_ack,
            "[linux-6.12 tcp.h struct tcp_info]", values.cwnd_by_ack,
            form="of each",
        ),
        Metric(
            "Jain's index", "jain", "", ("flows",), metrics.jain_index, "[jain1984] [rfc5166 §2.3]", values.jain,
            (
                Number(
                    "jain", "jain", heading=Heading(10, "Jain", decimals=3), test="permutation", bounds=("jain",),
                    label="Jain's index",
                ),
            ),
            word="jain", better="high", most=1.0,
            rank="tcp",
            form="number",
        ),
        Metric(
            "flows outside Jain's index", "jain_without", "", ("flows",), values.jain_without, "[rfc5166 §2.3]",
            values.jain_without,
            form="names",
        ),
        Metric(
            "retransmits", "retransmits", "segments", ("tcp_info", "exchanges"), metrics.retransmits,
            "[linux-6.12 tcp.h struct tcp_info]", values.retransmits,
            (
                Number(
                    "retransmits", "retransmits", heading=Heading(9, "retrans", unit="", decimals=0),
                    test="Mann–Whitney", bounds=("retransmits",),
                ),
            ),
            word="retransmits", tolerance="25% over 50", better="low",
            form="number",
        ),
        Metric(
            "retransmission rate", "retransmission_rate", "%", ("tcp_info", "exchanges"), sockets.retransmission_rates,
            "[rfc4898] [linux-6.12 tcp.h struct tcp_info]", values.retransmission_rate,
            (
                Number(
                    "retransmission rate", "retransmission_rate.total",
                    heading=Heading(9.5, "retrans rate", needless=0.0), test="permutation",
                    bounds=("retransmission rate", "retrans rate"), label="Retransmission rate",
                ),
            ),
            word="retransmission", better="low", most=100.0,
            form="mixed", apart=("flows",),
        ),
        Metric(
            "held", "held", "%", ("tcp_info",), sockets.held, "[linux-6.12 tcp.h struct tcp_info]", values.held,
            tuple(_held_by(cause, place) for place, cause in enumerate(HELD_BY, start=34)),
            most=100.0,
            of="the flow held longest",
            form="of each",
        ),
        Metric(
            "drops", "drops", "packets", ("events", "qdisc", "losses", "radios"), metrics.drops, "[rfc5166 §2.1]",
            values.drops,
            (
                Number(
                    "drops", "drops", _drops, heading=Heading(7, unit="", decimals=0), test="Mann–Whitney",
                    bounds=("drops",),
                ),
            ),
            word="drops", tolerance="25% over 50", better="low",
            form="of each",
        ),
        Metric(
            "marks", "marks", "packets", ("events", "qdisc", "radios"), metrics.marks, "[rfc3168 §5]", values.marks,
            (
                Number(
                    "marks", "marks", heading=Heading(8, unit="", decimals=0, needless=0.0), test="Mann–Whitney",
                    bounds=("marks",),
                ),
            ),
            word="marks",
            form="number",
        ),
        Metric(
            "MPDUs per PPDU", "ampdu_mpdus", "MPDUs", ("wifi",), wifi.ampdu_samples, "[ieee80211-2016 §9.7]",
            values.ampdu,
            form="of each",
        ),
        Metric(
            "airtime share", "airtime_share", "", ("wifi",), wifi.airtime_share, "[ieee80211-2016 §9.7]",
            values.airtime, most=1.0,
        ),
        Metric(
            "cost", "cost", "", (), values.cost, "this program", values.cost,
            (
                Number("wall time in s", "cost.wall_s", bounds=("cost", "wall time")),
                Number("events", "cost.events", bounds=("events",)),
            ),
            better="low", sampling="process",
        ),
        Metric(
            "ping loss", "ping_loss", "%", ("ping",), metrics.ping_loss, "[rfc6673 §4.1]", values.ping_loss,
            (
                Number(
                    "ping loss", "ping_loss", heading=Heading(3.7, needless=0.0), test="permutation",
                    bounds=("ping loss",), label="Ping loss",
                ),
            ),
            word="ping_loss", better="low", most=100.0,
            rank="network",
            form="number",
        ),
        Metric(
            "ping by name", "pings_ms", "ms", ("ping",), metrics.ping_samples_by_name, "[iputils ping]", values.pings,
            form="of each",
        ),
        Metric(
            "pacing rate", "pacing_rate_mbps", "Mbit/s", ("tcp_info",), rates.pacing_rate_samples,
            "[linux-6.12 tcp.h struct tcp_info]", values.pacing_rate,
            sampled=("pacing rate",), sampling="instants",
        ),
        Metric(
            "delivery rate", "delivery_rate_mbps", "Mbit/s", ("tcp_info",), rates.delivery_rate_samples,
            "[linux-6.12 tcp.h struct tcp_info]", values.delivery_rate,
            sampled=("delivery rate",), better="high", sampling="instants",
        ),
        Metric(
            "power", "power_mbps_per_ms", "Mbit/s per ms", ("flows", "tcp_info"), rates.power, "[kleinrock1979]",
            values.power, (Number("power", "power_mbps_per_ms", bounds=("power",)),), better="high",
            sampling="instants",
            form="number",
        ),
        Metric(
            "marks by discipline", "marks_by", "packets", ("events", "qdisc", "radios"), metrics.marks_by_discipline,
            "[rfc3168 §5]",
            values.marks_by,
            form="of each",
        ),
        Metric(
            "recoveries", "recoveries", "", ("events",), metrics.recoveries, "[rfc6298 §5] [rfc8985 §7]",
            values.recoveries,
        ),
        Metric(
            "flow completion time", "flow_completion_s", "s", ("events", "completions"), sharing.completion_times,
            "[rfc5166 §2.2]", values.flow_completion,
            (
                Number("completion p50", "flow_completion_s.p50", heading=Heading(15), test="permutation"),
                Number("completion p95", "flow_completion_s.p95", heading=Heading(16), test="permutation"),
                Number(
                    "completion p99", "flow_completion_s.p99", tail("flow_completion_s", "p99"), Heading(16.5),
                    "permutation",
                ),
            ),
            word="completion", tolerance="5% or 0.5ms",
            sampled=("flow completion time", "fct"), better="low",
            rank="outcome",
        ),
        Metric(
            "flow completion time by size", "flow_completion_by_size_s", "s", ("events", "completions"),
            sharing.completion_by_size, "[rfc5166 §2.2]", values.flow_completion_by_size, better="low",
            form="of each",
        ),
        Metric(
            "request latency", "request_ms", "ms", ("requests",), sharing.request_latencies, "[rfc5166 §2.2]",
            values.request_latency,
            (
                Number("request p50", "request_ms.p50", heading=Heading(13), test="permutation"),
                Number("request p95", "request_ms.p95", heading=Heading(14), test="permutation"),
                Number("request p99", "request_ms.p99", tail("request_ms", "p99"), Heading(14.5), "permutation"),
            ),
            word="request", tolerance="5% or 0.5ms", sampled=("request",), better="low",
            rank="outcome",
        ),
        Metric(
            "RPM", "rpm", "", ("requests", "tcp_info"), responsiveness.rpm, "[responsiveness]", values.rpm,
            (
                Number("RPM", "rpm.total", heading=Heading(17, decimals=0), test="permutation", bounds=("rpm",)),
                Number(
                    "RPM idle", "rpm.idle", heading=Heading(18, decimals=0, beside="rpm.total"), bounds=("rpm idle",)
                ),
            ),
            word="rpm", tolerance="10%", better="high", sampling="instants",
            rank="outcome",
        ),
        Metric(
            "page load time", "page_load_s", "s", ("objects",), browsing.load_times, "[bocchi2016]",
            values.page_load,
            (
                Number("page load p50", "page_load_s.p50", heading=Heading(19), test="permutation"),
                Number("page load p95", "page_load_s.p95", heading=Heading(20), test="permutation"),
                Number("page load p99", "page_load_s.p99", tail("page_load_s", "p99"), Heading(20.5), "permutation"),
            ),
            word="page", tolerance="5% or 0.5ms", sampled=("page load", "plt"), better="low",
            rank="outcome",
        ),
        Metric(
            "byte index", "byte_index_s", "s", ("objects",), browsing.byte_indices, "[bocchi2016]",
            values.byte_index,
            (Number("byte index p50", "byte_index_s.p50", heading=Heading(21)),),
            sampled=("byte index",), better="low",
            rank="outcome",
        ),
        Metric(
            "unloaded pages", "pages_unloaded", "", ("objects",), browsing.unloaded, "[bocchi2016]",
            values.pages_unloaded,
            (
                Number("unloaded", "pages_unloaded", heading=Heading(22, "unloaded", decimals=0, needless=0.0)),
            ),
            better="low",
            rank="outcome",
            form="number",
        ),
        Metric(
            "video", "video", "", ("video",), watching.watched, "[yin2015]", values.video,
            (
                Number(
                    "video bitrate", "video.bitrate_mbps", _of_videos("bitrate_mbps"), Heading(23, unit="Mbit/s"),
                    bounds=("video bitrate",),
                ),
                Number(
                    "stalled", "video.stalled_s", _of_videos("stalled_s"), Heading(24, unit="s"), bounds=("stalled",)
                ),
                Number(
                    "startup", "video.startup_s", _of_videos("startup_s"), Heading(25, unit="s"), bounds=("startup",)
                ),
                Number("switches", "video.switches", _of_videos("switches"), Heading(26)),
                Number("QoE", "video.qoe", _of_videos("qoe"), Heading(27), bounds=("qoe",)),
            ),
            least=None,
            rank="outcome",
            form="of each",
        ),
        Metric(
            "segment fetch time", "fetch_ms", "ms", ("video",), watching.fetch_times, "[yin2015]", values.segment_fetch,
            (
                Number("fetch p50", "fetch_ms.p50", test="permutation"),
                Number("fetch p95", "fetch_ms.p95", test="permutation"),
                Number("fetch p99", "fetch_ms.p99", tail("fetch_ms", "p99"), test="permutation"),
            ),
            word="fetch", tolerance="5% or 0.5ms", sampled=("fetch",), better="low",
        ),
        Metric(
            "slowdown", "slowdown", "", ("events", "completions"), sharing.slowdowns, "[alizadeh2013 §5]",
            values.slowdown,
            (
                Number("slowdown mean", "slowdown.mean", bounds=("slowdown mean",)),
                Number("slowdown p99", "slowdown.p99", bounds=("slowdown p99",)),
            ),
            better="low",
            form="mixed", apart=None,
        ),
        Metric(
            "unfinished flows", "flows_unfinished", "", ("events", "completions"), sharing.unfinished, "[rfc5166 §2.2]",
            values.flows_unfinished,
            (
                Number("unfinished", "flows_unfinished", heading=Heading(12, "unfinished", decimals=0, needless=0.0)),
            ),
            better="low",
            rank="outcome",
            form="number",
        ),
        Metric(
            "utilisation", "utilisation", "", ("qdisc",), queues.utilisation, "[iproute2]", values.utilisation,
            (Number("utilisation", "utilisation", _worst("utilisation", max), bounds=("utilisation",)),),
            # A ring or a token bucket takes at once what the wire carries later, so it has no bound; 95 means 95 %.
            better="high", most_meant=2.0, of="the busiest device",
        ),
        Metric(
            "sojourn time", "sojourn_ms", "ms", ("sojourns", "qdisc"), queues.sojourns, "[rfc8289 §4.2] [little1961]",
            values.sojourn, sampled=("sojourn time", "sojourn", "queue delay"), of_each=max, better="low",
            of="the slowest queue",
            form="of each",
        ),
        Metric(
            "UDP loss", "udp_loss", "", ("udp",), udp.udp_loss, "[rfc5166 §2.1, §2.2]", values.udp_loss,
            (Number("UDP loss", "udp_loss", _worst("udp_loss", max), heading=Heading(28), bounds=("udp loss",)),),
            better="low", most=1.0,
            rank="network",
            of="the worst flow",
        ),
        Metric(
            "UDP one-way delay", "udp_delay_ms", "ms", ("delays", "datagrams", "udp"), udp.udp_delays,
            "[rfc5166 §2.1, §2.2]", values.udp_delay,
            (
                Number("UDP delay p50", "udp_delay_ms.p50", of_each("udp_delay_ms", "p50", max), heading=Heading(29)),
                Number("UDP delay p95", "udp_delay_ms.p95", of_each("udp_delay_ms", "p95", max), heading=Heading(30)),
                Number("UDP delay p99", "udp_delay_ms.p99", tail("udp_delay_ms", "p99", max), heading=Heading(30.5)),
            ),
            sampled=("udp one-way delay", "udp delay"), of_each=max, better="low",
            rank="network",
            of="the worst flow",
            form="of each",
        ),
        Metric(
            "media loss", "media_loss", "", ("datagrams",), media.losses, "[rfc5166 §2.1]", values.media_loss,
            (Number("media loss", "media_loss", _worst("media_loss", max), bounds=("media loss",)),),
            better="low", most=1.0,
            of="the worst direction",
        ),
        Metric(
            "media delay", "media_delay_ms", "ms", ("datagrams",), media.delays, "[rfc5166 §2.2]", values.media_delay,
            sampled=("media delay",), of_each=max, better="low",
            of="the worst direction",
            form="of each",
        ),
        Metric(
            "media jitter", "media_jitter_ms", "ms", ("datagrams",), media.jitters, "[rfc3550 §6.4.1]",
            values.media_jitter,
            (Number("media jitter", "media_jitter_ms", _worst("media_jitter_ms", max), bounds=("media jitter",)),),
            better="low",
            of="the worst direction",
        ),
        Metric(
            "frames not played", "not_played", "", ("datagrams",), media.unheard, "[ramjee1994 §3]", values.unheard,
            (Number("frames not played", "not_played", _worst("not_played", max), bounds=("not played",)),),
            better="low", most=1.0,
            of="the worst direction",
        ),
        Metric(
            "mouth-to-ear delay", "mouth_to_ear_ms", "ms", ("datagrams",), media.mouth_to_ear, "[itu-g107 §3]",
            values.mouth_to_ear,
            (
                Number(
                    "mouth to ear", "mouth_to_ear_ms", _worst("mouth_to_ear_ms", max), bounds=("mouth to ear",)
                ),
            ),
            better="low",
            of="the worst direction",
        ),
        Metric(
            "rating", "rating", "", ("datagrams",), media.ratings, "[itu-g107]", values.rating,
            (Number("rating", "rating", _worst("rating", min), bounds=("rating",)),),
            better="high",
            of="the worst direction",
        ),
        Metric(
            "MOS", "mos", "", ("datagrams",), media.opinions, "[itu-g107 Annex B]", values.opinion,
            (
                Number(
                    "MOS", "mos", _worst("mos", min), heading=Heading(11, decimals=2), test="permutation",
                    bounds=("mos",), label="MOS of the worse direction",
                ),
            ),
            word="mos", tolerance="3%", better="high", least=1.0, most=4.5,
            rank="outcome",
            of="the worst direction",
        ),
        Metric(
            "convergence time", "convergence_s", "s", ("flows",), sharing.convergence_times,
            "[jain1984] [rfc5166 §2.2, §2.3]", values.convergence,
            (
                Number("convergence time", "convergence_s", _worst("convergence_s", max), bounds=("convergence time",)),
            ),
            better="low", sampling="intervals",
            of="the slowest flow",
        ),
        Metric(
            "steady from", "steady_from_s", "s", ("flows", "tcp_info"), warmup.steady_from,
            "[white1997] [hoad2010 §3]", values.steady_from, sampling="intervals",
        ),
        Metric(
            "warm-up bias", "warm_up_bias", "", ("flows", "tcp_info"), warmup.bias, "[white1997] [hoad2010 §3]",
            values.warm_up_bias, least=None, sampling="intervals",
        ),
        Metric(
            "steadiness", "steadiness", "", ("flows", "tcp_info"), steadiness.states,
            "[vonneumann1941] [young1941] [fishman1997]", values.steadiness_of, sampling="intervals",
            form="words",
        ),
        Metric(
            "means of thirds of the window", "window_thirds", "", ("flows", "tcp_info"), steadiness.thirds,
            "[hoad2010 §3]", values.window_thirds, sampling="intervals",
            form="of each",
        ),
        Metric(
            "drift bias", "drift_bias", "", ("flows", "tcp_info"), steadiness.biases, "[fishman1997]",
            values.drift_bias, least=None, sampling="intervals",
        ),
        Metric(
            "steady not before", "steady_not_before_s", "s", ("flows", "tcp_info"), steadiness.steady_not_before,
            "[aitken1926] [hoad2010 §3]", values.steady_not_before, sampling="intervals",
        ),
        Metric(
            "flows without data", "flows_without_data", "", ("flows",), metrics.without_data, "[rfc5166 §2.1]",
            values.flows_without_data,
            form="names",
        ),
        Metric(
            "passive RTT", "passive_rtt_ms", "ms", ("passive_rtt",), passive.passive_rtt, "[zander2013]",
            values.passive_rtt, sampled=("passive rtt",), better="low",
        ),
        Metric(
            "one-way delay", "one_way_delay_ms", "ms", ("one_way_delay",), passive.one_way_delay, "[zander2013]",
            values.one_way_delay, sampled=("one-way delay", "one way delay"), better="low", least=None,
        ),
        Metric("goodput over time", None, "Mbit/s", ("flows",), metrics.throughput_bins, "[rfc5166 §2.1]"),
        Metric("sliding throughput", None, "Mbit/s", ("flows",), rates.sliding_throughput, "[teacup2014]"),
        Metric(
            "Jain's index over time", None, "", ("flows",), sharing.jain_over_time, "[jain1984] [rfc5166 §2.3]"
        ),
        Metric("goodput of captures", None, "B", ("flows",), passive.goodput, "[rfc5166 §2.1]"),
        Metric("retransmissions of captures", None, "segments", ("flows",), passive.retransmissions, "[zander2013]"),
    )
)  # fmt: skip


def numbers() -> Iterator[tuple[Metric, Number]]:
    """All statistics of all metrics, each with its metric."""
    return ((metric, number) for metric in METRICS.values() for number in metric.numbers)


def headline() -> tuple[Column, ...]:
    """The columns of the table after a run, from the left."""
    shown = [(number.heading.place, metric.column(number)) for metric, number in numbers() if number.heading]
    return tuple(column for _, column in sorted(shown, key=lambda each: each[0]))


def headline_of(summaries: Iterable[Summary]) -> tuple[Column, ...]:
    """The headline of these runs, without the columns that are needless for all of them. If they have flows in both
    directions, it has the goodput of each direction, because a sum over both says nothing about either link.
    """
    runs = list(summaries)
    columns = tuple(column for column in headline() if not _is_needless(column, runs))
    if not any({"up", "down"} <= set(summary.get("goodput_mbps", {})) for summary in runs):
        return columns
    goodput = METRICS["goodput"]
    ways = tuple(goodput.quantity(number) for number in goodput.numbers if number.title != "goodput")
    return (*ways, *(column for column in columns if column.title != "goodput"))


def _is_needless(column: Column, runs: Iterable[Summary]) -> bool:
    known, needless = list(runs), column.needless
    if column.beside and all(at(*steps(column.beside))(run) is None for run in known):
        return True
    return needless is not None and all((column.read(run) or 0.0) <= needless for run in known)


def of_key(path: str) -> Metric | None:
    """The metric of the number at this path of a summary; None if there is none."""
    key = path.split(".", maxsplit=1)[0]
    return next((metric for metric in METRICS.values() if metric.key == key), None)


def unit_of(path: str) -> str:
    """The unit of the number at this path of a summary."""
    metric = of_key(path)
    return "" if metric is None else metric.unit


def by_word() -> dict[str, Metric]:
    """The metrics that have a name in tolerances and in `until`."""
    return {metric.word: metric for metric in METRICS.values() if metric.word is not None}
