"""The values of metrics in a summary, one function each: `None` if the run does not have the value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tailback.analysis import (
    browsing,
    media,
    metrics,
    queues,
    rates,
    responsiveness,
    sharing,
    sockets,
    steadiness,
    udp,
    warmup,
    watching,
    wifi,
)
from tailback.analysis.measured import Measured
from tailback.analysis.table import Table
from tailback.analysis.window import Window

UP = "up"
DOWN = "down"

COST = ("wall_s", "sim_s", "events", "packets")
"""The parts of the cost in the summary; the manifest has all of them."""

Percentiles = dict[str, float]


def goodput(run: Measured) -> dict[str, Any] | None:
    """Goodput in total, by direction, and of each flow."""
    flows = run.goodput
    if not flows:
        return None
    sums: dict[str, float] = {"total": sum(flows.values())}
    for direction in (UP, DOWN):
        towards = run.measure.towards(direction)
        theirs = [mbps for flow, mbps in flows.items() if flow in towards]
        if theirs:
            sums[direction] = sum(theirs)
    return {**metrics.rounded_each(sums), "flows": metrics.rounded_each(run.own_goodput)}


def ping(run: Measured) -> Percentiles | None:
    """Ping times of all pings together."""
    return metrics.percentiles(metrics.ping_samples(run.tables["ping"], run.window)) if "ping" in run.tables else None


def ping_loss(run: Measured) -> float | None:
    """The share of requests of all pings together that were not answered, in percent."""
    share = metrics.ping_loss(run.tables["ping"], run.window) if "ping" in run.tables else None
    return None if share is None else round(share, 6)


def pings(run: Measured) -> dict[str, Any] | None:
    """Ping times of each ping, if there are several."""
    if "ping" not in run.tables or len(run.tables["ping"].words("ping").present()) < 2:
        return None
    samples = metrics.ping_samples_by_name(run.tables["ping"], run.window)
    return {name: metrics.percentiles(values) for name, values in samples.items()} or None


def tcp_rtt(run: Measured) -> Percentiles | None:
    """TCP RTT of all flows together."""
    return None if run.sockets is None else _tcp_rtt(run.sockets, run.window)


def tcp_rtt_by_ack(run: Measured) -> Percentiles | None:
    """Smoothed round-trip times in ms (`tcpi_rtt`) of the sending sockets after each ACK in the window, if
    `measure.tcp_info` is `ack`. Most ACKs arrive while flows are fast, so that these weigh more than in TCP RTT, which
    is over time.
    """
    return None if run.acks is None else _tcp_rtt(run.acks, run.window)


def tcp_rtt_up(run: Measured) -> Percentiles | None:
    """Smoothed round-trip times in ms (`tcpi_rtt`), as TCP RTT, of the flows in direction `up` only."""
    return _tcp_rtt_towards(run, UP)


def tcp_rtt_down(run: Measured) -> Percentiles | None:
    """Smoothed round-trip times in ms (`tcpi_rtt`), as TCP RTT, of the flows in direction `down` only."""
    return _tcp_rtt_towards(run, DOWN)


def _tcp_rtt_towards(run: Measured, direction: str) -> Percentiles | None:
    if run.sockets is None:
        return None
    return _tcp_rtt(_only(run.sockets, run.measure.towards(direction)), run.window)


def _tcp_rtt(tcp_info: Table, window: Window) -> Percentiles | None:
    return metrics.percentiles(metrics.tcp_rtt_samples(tcp_info, window))


def _only(table: Table, flows: frozenset[str]) -> Table:
    theirs = table.words("flow").among(flows)
    return table if theirs.all() else table.where(theirs)


def cwnd(run: Measured) -> dict[str, Any] | None:
    """Congestion window of each flow."""
    return None if run.sockets is None else _cwnd(run.sockets, run.window)


def cwnd_by_ack(run: Measured) -> dict[str, Any] | None:
    """Congestion windows in segments (`tcpi_snd_cwnd`) of each flow after each ACK in the window, if `measure.tcp_info`
    is `ack`; those of times with many ACKs weigh more than in congestion window, which is over time.
    """
    return None if run.acks is None else _cwnd(run.acks, run.window)


def _cwnd(tcp_info: Table, window: Window) -> dict[str, Any] | None:
    samples = metrics.cwnd_samples(tcp_info, window)
    found = {flow: metrics.percentiles(values) for flow, values in samples.items()}
    return {flow: values for flow, values in found.items() if values} or None


def jain(run: Measured) -> float | None:
    """Jain's index of the TCP flows that compete; with several groups of these, the lowest of their indexes."""
    return jain_among(run.measure.competing, run)


def jain_among(competing: Sequence[Sequence[str]], run: Measured) -> float | None:
    """The lowest index of these groups of flows; `None` if none of them has one."""
    shares = ([run.own_goodput[flow] for flow in _comparable(group, run)] for group in competing)
    known = [index for each in shares if (index := metrics.jain_index(each)) is not None]
    return metrics.rounded(min(known)) if known else None


def jain_without(run: Measured) -> list[str] | None:
    """The entries of `traffic` whose flows compete with those of Jain's index, and are left out of it because they have
    a size, or an application without data at times: what they get depends on that, however the others share.
    """
    groups = [(group, _comparable(group, run)) for group in run.measure.competing]
    left = (flow for group, kept in groups if kept for flow in group if flow in run.goodput and flow not in kept)
    return list(dict.fromkeys(flow.partition(".")[0] for flow in left)) or None


def _comparable(group: Sequence[str], run: Measured) -> list[str]:
    """The flows of a group of which an index says how they share: those that always have data. If all have one
    size and applications alike, all that received data in the window. At least two, or none.
    """
    sizes, writes = run.measure.sizes_bytes, run.measure.writes
    measured = [flow for flow in group if flow in run.goodput]
    found = [flow for flow in measured if flow not in sizes and flow not in writes]
    if not found and len({(sizes.get(flow), writes.get(flow)) for flow in measured}) == 1:
        found = [flow for flow in measured if run.goodput[flow] > 0]
    return found if len(found) > 1 else []


def retransmits(run: Measured) -> int | None:
    """Retransmitted segments, if the backend reports them."""
    table, exchanges = run.sockets, run.tables.get("exchanges")
    if table is None or not (run.measure.tcp_flows or exchanges is not None) or "total_retrans" not in table:
        return None
    return metrics.retransmits(table, run.window, exchanges)


def retransmission_rate(run: Measured) -> dict[str, Any] | None:
    """Retransmission rate of all flows and of each, if the backend reports it."""
    table, exchanges = run.sockets, run.tables.get("exchanges")
    if table is None or not (run.measure.tcp_flows or exchanges is not None) or "bytes_sent" not in table:
        return None
    each = sockets.retransmission_rates(table, run.window, exchanges)
    if not each:
        return None
    rates = {flow: sent.rate for flow, sent in each.items()}
    return {"total": metrics.rounded(sockets.together(each.values()).rate), "flows": metrics.rounded_each(rates)}


def held(run: Measured) -> dict[str, dict[str, float]] | None:
    """What held the data of each flow back."""
    if run.sockets is None:
        return None
    lives = sharing.lives(run.tables, run.measure.tcp_flows)
    found = sockets.held(run.sockets, lives, run.window)
    return {flow: metrics.rounded_each(shares) for flow, shares in found.items()} or None


def drops(run: Measured) -> dict[str, dict[str, int]] | None:
    """Drops by device and reason; empty if there were none."""
    if "events" in run.tables:
        return metrics.drops(run.tables["events"], run.window)
    qdisc = _counters(run)
    if qdisc is None:
        return None
    found = metrics.drops_by_counters(qdisc, run.window)
    if "losses" in run.tables:
        for device, lost in metrics.losses_by_counters(run.tables["losses"], run.window).items():
            found[device] = found.get(device, {}) | lost
    return found | _at_radios(run, "drop")


def marks(run: Measured) -> int | None:
    """Marks on all devices."""
    if "events" in run.tables:
        return metrics.marks(run.tables["events"], run.window)
    qdisc = _counters(run)
    marked = None if qdisc is None else metrics.marks_by_counters(qdisc, run.window)
    return None if marked is None else marked + sum(sum(each.values()) for each in _at_radios(run, "mark").values())


def _at_radios(run: Measured, what: str) -> dict[str, dict[str, int]]:
    radios = run.tables.get("radios")
    return {} if radios is None else metrics.counted_at_radios(radios, what, run.window)


def _counters(run: Measured) -> Table | None:
    """The counters of the disciplines; `None` if there are none, as in imported results."""
    qdisc = run.tables.get("qdisc")
    return qdisc if qdisc is not None and all(name in qdisc for name in ("depth", "dropped", "marked")) else None


def ampdu(run: Measured) -> dict[str, Any] | None:
    """MPDUs per PPDU by direction."""
    if "wifi" not in run.tables:
        return None
    sizes = wifi.ampdu_samples(run.tables["wifi"], run.measure.radios, run.window)
    return {way: metrics.percentiles(samples) for way, samples in sizes.items()} or None


def airtime(run: Measured) -> dict[str, float] | None:
    """Airtime share by station."""
    if "wifi" not in run.tables:
        return None
    return metrics.rounded_each(wifi.airtime_share(run.tables["wifi"], run.measure.radios, run.window)) or None


def cost(run: Measured) -> dict[str, float] | None:
    """Cost of the run: `wall_s` (s of real time), `sim_s` (s of simulated time), `events` that the simulator processed,
    and `packets` (each time a packet was handed to a device). Absent if the backend reports none of them.
    """
    return {name: run.cost[name] for name in COST if name in run.cost} or None


def pacing_rate(run: Measured) -> Percentiles | None:
    """Pacing rates, if the backend reports them."""
    return _rates(rates.pacing_rate_samples, "pacing_rate", run)


def delivery_rate(run: Measured) -> Percentiles | None:
    """Delivery rates, if the backend reports them."""
    return _rates(rates.delivery_rate_samples, "delivery_rate", run)


def _rates(read: Callable[[Table, Window], metrics.Samples], column: str, run: Measured) -> Percentiles | None:
    table = run.sockets
    return None if table is None or column not in table else metrics.percentiles(read(table, run.window))


def power(run: Measured) -> float | None:
    """Power of all flows together."""
    goodputs, rtts = run.found.get("goodput_mbps"), run.found.get("tcp_rtt_ms")
    if goodputs is None or rtts is None:
        return None
    ratio = rates.power(goodputs["total"], rtts["mean"])
    return None if ratio is None else metrics.rounded(ratio)


def marks_by(run: Measured) -> dict[str, dict[str, int]] | None:
    """Marks by device and discipline."""
    qdisc = _counters(run)
    made = {} if qdisc is None else metrics.marks_by_discipline(qdisc, run.window)
    if "events" not in run.tables:
        return made | _at_radios(run, "mark") or None
    # The events have no reason: which discipline marked is known from the counters.
    found = metrics.by_reason(run.tables["events"], "mark", run.window)
    return {device: _marked_by(made.get(device, {}), sum(each.values())) for device, each in found.items()} or None


def _marked_by(made: dict[str, int], marked: int) -> dict[str, int]:
    """The marks of a device by discipline, given what each discipline counted."""
    return made if len(made) > 1 else {next(iter(made), metrics.AQM): marked}


def recoveries(run: Measured) -> dict[str, int] | None:
    """Recovery events by kind."""
    return metrics.recoveries(run.tables["events"], run.window) or None if "events" in run.tables else None


def flow_completion(run: Measured) -> Percentiles | None:
    """Completion times of all flows with `bytes`."""
    events = sharing.flow_events(run.tables)
    if events is None or not run.measure.sized_flows:
        return None
    times = sharing.completion_times(events, run.measure.sized_flows, run.window)
    return metrics.percentiles(np.array(list(times.values())))


def flow_completion_by_size(run: Measured) -> dict[str, Percentiles] | None:
    """Completion times by class of size, where there are several flows with `bytes`."""
    events = sharing.flow_events(run.tables)
    if events is None or len(run.measure.sizes_bytes) < 2:
        return None
    times = sharing.completion_times(events, run.measure.sized_flows, run.window)
    classes = sharing.completion_by_size(times, run.measure.sizes_bytes)
    found = {name: metrics.percentiles(np.array(each)) for name, each in classes.items()}
    return {name: each for name, each in found.items() if each is not None} or None


def request_latency(run: Measured) -> Percentiles | None:
    """Latencies of all requests."""
    if "requests" not in run.tables:
        return None
    return metrics.percentiles(sharing.request_latencies(run.tables["requests"], run.window))


def rpm(run: Measured) -> dict[str, float] | None:
    """RPM, if there are probes."""
    if "requests" not in run.tables or run.measure.probes is None:
        return None
    found = responsiveness.rpm(run.tables["requests"], run.sockets, run.measure.probes, run.window)
    return {name: metrics.rounded(value) for name, value in found.items() if value is not None} or None


def page_load(run: Measured) -> Percentiles | None:
    """Load times of all pages."""
    if "objects" not in run.tables:
        return None
    return metrics.percentiles(browsing.load_times(run.tables["objects"], run.window))


def byte_index(run: Measured) -> Percentiles | None:
    """Byte indices of all pages."""
    if "objects" not in run.tables:
        return None
    return metrics.percentiles(browsing.byte_indices(run.tables["objects"], run.window))


def pages_unloaded(run: Measured) -> int | None:
    """Pages that did not load to the end."""
    return browsing.unloaded(run.tables["objects"], run.window) if "objects" in run.tables else None


def video(run: Measured) -> dict[str, dict[str, float]] | None:
    """What the viewer of each video sees."""
    if "video" not in run.tables:
        return None
    found = watching.watched(run.tables["video"], run.measure.videos, run.window)
    return {name: metrics.rounded_each(each) for name, each in found.items()} or None


def segment_fetch(run: Measured) -> Percentiles | None:
    """Times to fetch the segments of all videos."""
    if "video" not in run.tables:
        return None
    return metrics.percentiles(watching.fetch_times(run.tables["video"], run.window))


def flows_unfinished(run: Measured) -> int | None:
    """Flows with `bytes` that did not complete."""
    events = sharing.flow_events(run.tables)
    if events is None or not run.measure.sized_flows:
        return None
    return sharing.unfinished(events, run.measure.sized_flows, run.window)


def slowdown(run: Measured) -> dict[str, Any] | None:
    """Slowdown of all flows with `bytes`, and by class of size where there are several."""
    events = sharing.flow_events(run.tables)
    if events is None or not run.measure.least_s:
        return None
    times = sharing.completion_times(events, run.measure.sized_flows, run.window)
    slowed = sharing.slowdowns(times, run.measure.least_s)
    found = metrics.percentiles(np.array(list(slowed.values())))
    if found is None:
        return None
    classes = sharing.completion_by_size(slowed, run.measure.sizes_bytes) if len(slowed) > 1 else {}
    return {**found, **{name: metrics.percentiles(np.array(each)) for name, each in classes.items()}}


def utilisation(run: Measured) -> dict[str, float] | None:
    """Utilisation by device."""
    if "qdisc" not in run.tables:
        return None
    return metrics.rounded_each(queues.utilisation(run.tables["qdisc"], run.measure.rates_bps, run.window)) or None


def sojourn(run: Measured) -> dict[str, Any] | None:
    """Sojourn times by device."""
    known = queues.sojourns(run.tables, run.window)
    found: dict[str, Any] = {device: each.percentiles() for device, each in known.items()}
    if "qdisc" in run.tables:
        told = queues.told(run.tables)
        for device, means in queues.sojourn_samples(run.tables["qdisc"], run.window).items():
            if device not in told:
                found[device] = {**(metrics.percentiles(means) or {}), metrics.INTERVALS: len(means)}
    return dict(sorted(found.items())) or None


def udp_loss(run: Measured) -> dict[str, float] | None:
    """UDP loss by flow."""
    if "udp" not in run.tables:
        return None
    found = udp.udp_loss(run.tables["udp"], run.window, run.measure.bin_ns)
    # The datagrams of calls and games are known one by one.
    found |= {flow: share for flow, share in media.losses(run.heard).items() if flow in found}
    return metrics.rounded_each(found) or None


def udp_delay(run: Measured) -> dict[str, Any] | None:
    """UDP one-way delays by flow."""
    known: Mapping[str, metrics.Alike] = udp.udp_delays(run.tables, run.window)
    found: dict[str, Any] = {flow: delays.percentiles() for flow, delays in known.items()}
    if "udp" in run.tables and "delays" not in run.tables:
        coarse = udp.of_intervals(run.tables["udp"], run.window, run.measure.bin_ns)
        for flow in coarse.keys() - known.keys():
            found[flow] = {**(coarse[flow].percentiles() or {}), metrics.INTERVALS: len(coarse[flow].counts)}
    return {flow: found[flow] for flow in sorted(found) if found[flow]} or None


def media_loss(run: Measured) -> dict[str, float] | None:
    """Loss of calls and games by direction."""
    return metrics.rounded_each(media.losses(run.heard)) or None


def media_delay(run: Measured) -> dict[str, Any] | None:
    """One-way delays of calls and games by direction."""
    return {name: metrics.percentiles(each) for name, each in media.delays(run.heard).items()} or None


def media_jitter(run: Measured) -> dict[str, float] | None:
    """Jitter of calls and games by direction."""
    return metrics.rounded_each(media.jitters(run.heard)) or None


def unheard(run: Measured) -> dict[str, float] | None:
    """Frames of calls that were not played, by direction."""
    return metrics.rounded_each(media.unheard(run.heard)) or None


def mouth_to_ear(run: Measured) -> dict[str, float] | None:
    """Delay from mouth to ear of calls by direction."""
    return metrics.rounded_each(media.mouth_to_ear(run.heard)) or None


def rating(run: Measured) -> dict[str, float] | None:
    """R of calls by direction."""
    return metrics.rounded_each(media.ratings(run.heard)) or None


def opinion(run: Measured) -> dict[str, float] | None:
    """MOS of calls by direction."""
    return metrics.rounded_each(media.opinions(media.ratings(run.heard))) or None


def convergence(run: Measured) -> dict[str, float] | None:
    """Convergence times of flows that start while others that compete with them are active."""
    if "flows" not in run.tables or not len(run.tables["flows"]):
        return None
    sized = frozenset(run.measure.sized_flows)
    times: dict[str, float] = {}
    for group in run.measure.competing:
        endless = frozenset(group) - sized
        if len(endless) > 1:
            tcp = _only(run.tables["flows"], endless)
            times |= sharing.convergence_times(tcp, run.window.end_ns, run.measure.bin_ns)
    return metrics.rounded_each(times) or None


def steady_from(run: Measured) -> dict[str, float] | None:
    """The start of the steady state, by series."""
    return warmup.steady_times(run.settling) or None


def warm_up_bias(run: Measured) -> dict[str, float] | None:
    """The bias by warm-up, by series."""
    return warmup.biases(run.settling) or None


def steadiness_of(run: Measured) -> dict[str, str] | None:
    """Whether each series is steady."""
    return steadiness.states(run.courses) or None


def window_thirds(run: Measured) -> dict[str, dict[str, float]] | None:
    """The means of thirds of the window, by series."""
    return steadiness.thirds(run.courses) or None


def drift_bias(run: Measured) -> dict[str, float] | None:
    """The least bias of unsteady series."""
    return steadiness.biases(run.courses) or None


def steady_not_before(run: Measured) -> dict[str, float] | None:
    """When unsteady series can be steady."""
    return steadiness.steady_not_before(run.courses) or None


def flows_without_data(run: Measured) -> list[str] | None:
    """The lasting flows of which nothing arrived."""
    return metrics.without_data(run.goodput, run.measure.lasting) or None


def passive_rtt(run: Measured) -> Percentiles | None:
    """Passive RTT, if there are captures."""
    return _of_captures(run, "passive_rtt", "rtt_ms")


def one_way_delay(run: Measured) -> Percentiles | None:
    """One-way delay, if there are captures."""
    return _of_captures(run, "one_way_delay", "owd_ms")


def _of_captures(run: Measured, table: str, column: str) -> Percentiles | None:
    if table not in run.tables:
        return None
    return metrics.percentiles(run.window.samples(run.tables[table]).numbers(column))
